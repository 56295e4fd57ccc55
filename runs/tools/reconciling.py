"""What the author of an agent's `reconcile` function is given, and what it may answer (docs/recovery.md).

from runs.tools.reconciling import FoundRun, Reconciliation

def reconcile(run: FoundRun) -> Reconciliation:
    step = run.interrupted
    if step and step.tool == "book_courier" and (booking := courier.find(step.key)):
        return Reconciliation("completed", result={"booking": booking})
    return Reconciliation("continue")

It is called when a run is taken over whose worker died, before anything else is decided, outside any transaction.
It may read what it likes and must change nothing: a crash while or just after it ran has it called again.
"""

import logging
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from runs.tools.dispatch import storable
from runs.tools.registry import as_json

log = logging.getLogger(__name__)
OUTCOMES = ("continue", "completed", "waiting", "conflict")
FAILED = "failed"  # the function itself


@dataclass(frozen=True)
class FoundStep:
    """One call of the run, as its rows say. Every field is JSON; times are RFC 3339 in UTC, '' where there is none.

    `state` is one of docs/states.md. `key` is the idempotency key, '' where nothing was ever sent; `calls` how often
    it was. `doubt` says why its outcome is not known: no_answer, interrupted, '' where it is. `result` is what it
    returned. `undoes` is the number of the step that it undoes. `answered_by` is who answered its last question.
    """

    number: int
    tool: str
    args: dict[str, Any]
    state: str
    writes: bool
    key: str
    calls: int
    doubt: str
    result: Any
    error_class: str
    error: str
    undoes: int | None
    answered_by: str
    sent_at: str
    ended_at: str


@dataclass(frozen=True)
class FoundRun:
    """A run whose worker died, as its rows say; `dataclasses.asdict` of it is JSON.

    `interrupted` is the call that was under way: its outcome is not known, or it is a read that will run again;
    None where the run died between two calls. `cause` is deploy, killed or lost_lease (its worker may still live).
    `cancelled`: somebody asked to stop it. `open`: its agent may propose more calls.
    """

    run: str
    agent: str
    user: str
    thread: str
    task: str
    ticket: str
    subject: str
    cause: str
    cancelled: bool
    open: bool
    started_at: str
    deadline_at: str
    steps: tuple[FoundStep, ...]
    interrupted: FoundStep | None


@dataclass(frozen=True)
class Reconciliation:
    """What the function found. `detail` is for people.

    | outcome | what follows |
    | --- | --- |
    | continue | the run goes on as if there were no such function: a call in doubt stays in doubt |
    | completed | the interrupted call had taken effect and returned `result` (JSON); the run is finished |
    | waiting | a person is asked about the interrupted call, and shown `detail` |
    | conflict | the world contradicts the record: nothing more is done, a person takes over |
    """

    outcome: str
    result: Any = None
    detail: str = ""


Reconcile = Callable[[FoundRun], Reconciliation]


def consult(function: Reconcile, run: FoundRun) -> Reconciliation:
    """What the function answers. Never raises: what is no answer has the outcome `failed`, and `detail` says why."""
    try:
        answer = function(run)
    except Exception as error:  # noqa: BLE001 (a function that fails is an answer)
        places = "".join(traceback.format_tb(error.__traceback__))
        log.error("The reconcile function failed for %s: %s\n%s", run.run, type(error).__name__, places)
        return _failed(f"reconcile failed with {type(error).__name__}: {error}")
    if not isinstance(answer, Reconciliation):
        return _failed(f"reconcile returned {type(answer).__name__}, not a Reconciliation")
    if answer.outcome not in OUTCOMES or not isinstance(answer.detail, str):
        return _failed(
            "reconcile must answer continue, completed, waiting or conflict, with a detail that is text"
        )
    try:
        return Reconciliation(answer.outcome, as_json(answer.result), storable(answer.detail))
    except ValueError as error:
        return _failed(f"the result of reconcile is not JSON: {error}")


def _failed(detail: str) -> Reconciliation:
    return Reconciliation(FAILED, detail=storable(detail))
