"""How a state is shown: a word, a tint and a shape, so that no state is told by its colour alone."""

from dataclasses import dataclass

from runs.models import Run, Step
from runs.roster import State
from runs.states import PARKED, RUN_ENDS, RunState, StepState


@dataclass(frozen=True)
class Look:
    """`tint` is a class of the style sheet, `shape` a symbol of static/icons.svg."""

    word: str
    tint: str
    shape: str


WAITING, RUNNING, DONE = ("waiting", "clock"), ("running", "half"), ("done", "tick")
FAILED, UNKNOWN, STUCK = ("failed", "cross"), ("unknown", "unknown"), ("stuck", "octagon")
UNDONE, QUIET = ("undone", "return"), ("quiet", "planned")

RUN_LOOKS = {
    RunState.OPEN: Look("open", *RUNNING),
    RunState.READY: Look("queued", *RUNNING),
    RunState.RUNNING: Look("running", *RUNNING),
    RunState.WAITING: Look("waiting for an answer", *WAITING),
    RunState.ROLLING_BACK: Look("being undone", *RUNNING),
    RunState.STUCK: Look("stuck", *STUCK),
    RunState.SUCCEEDED: Look("done", *DONE),
    RunState.ROLLED_BACK: Look("rolled back", *UNDONE),
    RunState.ABANDONED: Look("abandoned", *STUCK),
    RunState.FAILED: Look("failed", *FAILED),
    RunState.HANDED_OVER: Look("handed over", *FAILED),
}
STEP_LOOKS = {
    StepState.DECIDING: Look("being decided", *QUIET),
    StepState.PROPOSED: Look("planned", *QUIET),
    StepState.NEEDS_APPROVAL: Look("waits for an answer", *WAITING),
    StepState.APPROVED: Look("about to be sent", *RUNNING),
    StepState.SENT: Look("being sent", *RUNNING),
    StepState.PERFORMED: Look("performed", *DONE),
    StepState.FAILED: Look("failed", *FAILED),
    StepState.NOT_PERFORMED: Look("did not happen", *FAILED),
    StepState.UNKNOWN: Look("unknown", *UNKNOWN),
    StepState.DECLINED: Look("skipped", "undone", "skip"),
    StepState.REFUSED: Look("refused", *FAILED),
    StepState.UNDONE: Look("undone", *UNDONE),
    StepState.UNDO_STUCK: Look("stuck", *STUCK),
    StepState.CANCELLED: Look("never sent", "quiet", "skip"),
}
QUESTION_LOOKS = {
    "confirm": Look("confirm", *WAITING),
    "outcome": Look("unknown outcome", *UNKNOWN),
    "undo": Look("stuck undo", *STUCK),
}
WORKER_LOOKS: dict[State, Look] = {
    "alive": Look("alive", *DONE),
    "working": Look("working", *RUNNING),
    "idle": Look("idle", *DONE),
    "pausing": Look("pausing", *WAITING),
    "paused": Look("paused", "waiting", "pause"),
    "resuming": Look("resuming", *RUNNING),
    "draining": Look("draining", *WAITING),
    "silent": Look("silent", *UNKNOWN),
    "dead": Look("dead", *FAILED),
    "drained": Look("drained", "quiet", "skip"),
    "stopped": Look("stopped", "quiet", "skip"),
}
ANSWERED = Look("answered", *RUNNING)


def look_of_run(run: Run) -> Look:
    """A run's state; one that has a cancel coming, or that cannot be carried on now, says so."""
    look = RUN_LOOKS[RunState(run.state)]
    if run.trouble and run.state not in RUN_ENDS:
        return Look("held up", *STUCK)
    return Look(f"{look.word}, cancel requested", look.tint, look.shape) if _is_stopping(run) else look


def _is_stopping(run: Run) -> bool:
    return run.cancel_requested_at is not None and run.state in (RunState.RUNNING, RunState.WAITING)


def look_of_step(step: Step) -> Look:
    """A step's state. A step that waits to be sent again, and one whose outcome is being looked up, say so."""
    state = StepState(step.state)
    if state is StepState.SENT and step.doubt:
        return Look("being looked up", *UNKNOWN)
    if state in PARKED and step.answer:
        return ANSWERED
    if state is StepState.CANCELLED and not step.tool:
        return Look("none", "quiet", "skip")
    if state is StepState.APPROVED and step.calls:
        return Look("will be sent again", *RUNNING)
    return STEP_LOOKS[state]


def look_of_escalation(step: Step) -> Look | None:
    """Whom a question was raised to, since nobody answered in time; None where it was not."""
    return Look(f"escalated to {step.escalated_to}", "stuck", "raised") if step.escalated_to else None
