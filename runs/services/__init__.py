"""The verbs that callers use: start a run, answer a question or have it looked up, cancel; pause and drain workers.

Each writes its own rows in one transaction, together with the nudge; only the engine moves a run.
"""

from runs.services.answering import ANSWERS, look_up, resolve, settled_by_lookup
from runs.services.operating import cancel, resume, undo
from runs.services.ordering import ORDERS, order
from runs.services.starting import (
    FAULTS,
    Proposal,
    RunRequest,
    Turn,
    add_faults,
    close,
    propose,
    read_turn,
    start,
    start_thread,
    subject_of,
    take_turn,
    valid_steps,
    valid_text,
)

__all__ = [
    "ANSWERS",
    "FAULTS",
    "ORDERS",
    "Proposal",
    "RunRequest",
    "Turn",
    "add_faults",
    "cancel",
    "close",
    "look_up",
    "order",
    "propose",
    "read_turn",
    "resolve",
    "resume",
    "settled_by_lookup",
    "start",
    "start_thread",
    "subject_of",
    "take_turn",
    "undo",
    "valid_steps",
    "valid_text",
]
