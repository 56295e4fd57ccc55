"""The rewind: what a failed run said leaves the model's memory; the record keeps every line.

It waits for every undo: to forget what still needs undoing is the one mistake that it must not make (S0). While
anything remains, or where an undo was given up, it is refused (`rewind_with_pending_compensation`), until an
operator's later undo of the run has finished.
"""

from runs.agentfile import AgentSpec
from runs.errors import RewindWithPendingCompensation
from runs.loading import undoable
from runs.models import Message, Thread
from runs.replies import still_in_effect
from runs.states import STEP_ENDS
from runs.transitions import Held, change, record

REFUSED = "rewind_with_pending_compensation"


def memory(thread: Thread) -> list[Message]:
    """What the model of the next turn is given, oldest first: all that was said, but for what was rewound."""
    return list(Message.objects.filter(thread=thread, rewound_at=None).order_by("pk"))


def rewind(held: Held, spec: AgentSpec) -> None:
    """Take all that the run said, after the turn that started it, out of memory; its one reply becomes the summary.

    Raises RewindWithPendingCompensation; the core never asks for it then.
    """
    if left := _pending(held, spec):
        raise RewindWithPendingCompensation(f"{held.run.name} still has to undo {', '.join(left)}.")
    said = Message.objects.filter(run=held.run, rewound_at=None).exclude(role="user")
    count = said.update(rewound_at=held.now)
    change(held, held.run, rewound_at=held.now)
    record(held, "run.rewound", data={"messages": count})


def refuse(held: Held, spec: AgentSpec) -> None:
    """An undo was given up: memory keeps all of it, and the record says why."""
    record(held, "run.rewind_refused", data={"reason": REFUSED, "left": _pending(held, spec)})


def _pending(held: Held, spec: AgentSpec) -> list[str]:
    """The tools of the writes that are left to undo, and of the undos that are under way."""
    left = [step.tool for step in still_in_effect(held.steps, spec) if undoable(step, spec, held.now)]
    return left or [step.tool for step in held.steps if step.undoes_id and step.state not in STEP_ENDS]
