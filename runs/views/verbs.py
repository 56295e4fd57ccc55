"""What an operator does to a run on its page: cancel it, undo it, have it resumed.

An undo acts on the world, so it is asked for in two steps: the page first names every write that would be undone
and what stays. The form carries what was named; where that is no longer so, nothing is done (409).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from runs import services
from runs.access import Actor, may_operate
from runs.agentfile import AgentSpec
from runs.errors import BadInput, Conflict
from runs.models import Run, Step
from runs.replies import still_in_effect
from runs.services.refusals import require
from runs.states import RUN_ENDS, RunState
from runs.views.calls import sentence_of, undo_words

MOVING = (RunState.READY, RunState.RUNNING, RunState.ROLLING_BACK)  # a worker's turn, not a person's
MAX_REASON = 2000


@dataclass(frozen=True)
class Undoing:
    """A write that an undo would take back, and by which call: `refund_card(charge ch_1, amount 40.00)`."""

    write: str
    by: str


@dataclass(frozen=True)
class Verbs:
    """What this person may do to the run now. `seen` binds the form to the writes that were named."""

    cancel: bool = False
    resume: bool = False
    undone: tuple[Undoing, ...] = ()  # latest first
    stays: tuple[str, ...] = ()
    seen: str = ""


def verbs_of(actor: Actor, run: Run, steps: Sequence[Step], spec: AgentSpec) -> Verbs:
    """What this person may do to the run. `steps` are all of its steps, with their entries."""
    if not may_operate(actor):
        return Verbs()
    if run.state not in RUN_ENDS:
        return Verbs(cancel=run.cancel_requested_at is None, resume=run.state in MOVING)
    return Verbs() if run.undo_requested_at else _undo(steps, spec)


def _undo(steps: Sequence[Step], spec: AgentSpec) -> Verbs:
    undone, stays = [], []
    for step in sorted(still_in_effect(steps, spec), key=lambda step: -step.number):
        words = undo_words(step, spec)
        if words.tool:
            args = ", ".join(f"{item.name} {item.text}" for item in words.arguments)
            undone.append((step.pk, Undoing(sentence_of(step, spec), f"{words.tool}({args})")))
        else:
            stays.append(f"{sentence_of(step, spec)}: {words.why_not}")
    seen = ",".join(str(pk) for pk, _ in undone)
    return Verbs(undone=tuple(item for _, item in undone), stays=tuple(stays), seen=seen)


def act(actor: Actor, run: Run, sent: dict[str, str], now: Verbs) -> None:
    """Do what the form asks for. `now` is what the person may do. Raises BadInput, Conflict, NotAllowed …"""
    require(may_operate(actor), "Only an operator cancels, undoes or resumes a run; ask one.")
    match sent.get("do", "cancel"):
        case "cancel":
            services.cancel(actor, run, _reason(sent.get("reason", "")))
        case "resume":
            services.resume(actor, run)
        case "undo":
            _refuse_unseen(sent.get("seen", ""), now)
            services.undo(actor, run)
        case _:
            raise BadInput("A run can be cancelled, undone or resumed.")


def _refuse_unseen(seen: str, now: Verbs) -> None:
    """What is undone is what was shown, and nothing else."""
    if seen != now.seen or not seen:
        raise Conflict("What would be undone is not what the page showed. Nothing was done: look again.")


def _reason(text: str) -> str:
    reason = text.strip()
    if not reason or len(reason) > MAX_REASON or "\x00" in reason:
        raise BadInput("To cancel a run, say why, in at most 2,000 characters.")
    return reason
