"""THE CORE: what a run does next, as one pure function of what is known about it.

`next_action(run) -> Action`, first match wins. No ORM, no clock, no I/O: `RunView` is a frozen snapshot, and
`now` is what the database said. The loop around it (runs/engine.py) is the only thing that acts. The rules
are those of docs/engine.md; tests/model/ explores every reachable state of small plans and
asserts the promise in each: take a rule out, and a named test fails.
"""

from collections.abc import Iterator

from runs.actions import (
    Action,
    Ask,
    Check,
    Decide,
    Finish,
    HandOver,
    LookUp,
    Rewind,
    RollBack,
    Send,
    Settle,
    Undo,
    Wait,
)
from runs.states import IN_FLIGHT, RUN_BACKWARD, RUN_ENDS, STEP_STOPS, RunState, StepState
from runs.view import RunView, StepView


def next_action(run: RunView) -> Action:
    """What this run does next; first match wins."""
    if run.state in RUN_ENDS:
        return _after_the_end(run)
    return _backward(run) if run.state in RUN_BACKWARD else _forward(run)


def _after_the_end(run: RunView) -> Action:
    """An operator undoes a finished run; and what a late outcome shows to be there is undone where the rest was."""
    if run.undo_requested:
        return RollBack("undo")
    ended_undone = run.state in (RunState.ROLLED_BACK, RunState.FAILED) or run.gave_up
    undone = run.mode == "atomic" and ended_undone
    left = any(_left_to_undo(run, step) for step in run.steps)
    if undone and left and not run.halted:
        return RollBack("late")
    answered = (step for step in run.steps if step.state is StepState.UNKNOWN and step.answer)
    return next((_answered(step) for step in answered), Wait("nothing"))


def gives_up(run: RunView, recovery: str, *, overdue: bool) -> bool:
    """Whether a run whose worker died is undone and handed over rather than resumed.

    `recovery` is its task's: resume, resume_until_act (resume while nothing is written) or compensate. Past its
    deadline (`overdue`) a run is never resumed unattended. A write in flight counts as written.
    """
    acted = run.has_written or any(step.writes and step.state in IN_FLIGHT for step in run.forward)
    return overdue or recovery == "compensate" or (recovery == "resume_until_act" and acted)


def may_be_completed(run: RunView) -> bool:
    """Whether somebody's word that a run is finished finishes it: nothing stops it, and nothing is in flight."""
    step, last = run.current, run.last_ended
    in_flight = step is not None and step.state in IN_FLIGHT
    return not (run.cancelled or run.gave_up or in_flight or (last is not None and _stops(run, last)))


def _forward(run: RunView) -> Action:
    step = run.current
    if step and step.state in IN_FLIGHT and not _undone_apart(run):
        return _in_flight(run, step)  # whatever else is wanted, a write in flight is settled first
    if run.halted:
        return _closing_look(run) or Finish(RunState.FAILED)
    if run.cancelled:
        return _stop(run, "cancelled", step)
    if run.gave_up:
        return _stop(run, "died", step)
    if step and step.answer == "cancel_all":
        return _stop(run, "cancel_all", step)
    last = run.last_ended
    refused = last and last.state is StepState.FAILED and last.reason == "refused"
    if last and refused and run.keys == "action":
        return HandOver("refused", last.number)  # the world said no to this very action: a person takes over
    if last and _stops(run, last):
        return _stop(run, last.state.value, last)
    if run.unread:
        return HandOver("not_read")
    if step:
        return _deciding(run, step) if step.state is StepState.DECIDING else _before_sending(run, step)
    if run.decides:
        return _deciding(run, None)
    return Wait("agent") if run.opened else Finish(RunState.SUCCEEDED)


def _deciding(run: RunView, step: StepView | None) -> Action:
    """Its model says what is called next. A request changes nothing outside: one that was cut short is made again."""
    if step and step.calls >= step.budget:
        return Settle(step.number, StepState.FAILED)
    if run.exhausted:
        return _stop(run, "model_limit", step)
    if step and step.due_at and run.now < step.due_at:
        return Wait("time", step.due_at)
    return Decide(step.number if step else None)


def _undone_apart(run: RunView) -> bool:
    """Best effort: a doubt holds up its own write alone, and what was done before it is undone meanwhile."""
    stops = (run.cancelled or run.gave_up) and not run.halted
    return stops and run.mode == "atomic" and run.rollback == "best_effort"


def _stops(run: RunView, last: StepView) -> bool:
    if last.state is StepState.REFUSED and run.opened:
        return run.has_written  # its agent sees the refusal and may propose another call
    return last.state in STEP_STOPS


def _stop(run: RunView, kind: str, step: StepView | None) -> Action:
    number = step.number if step else None
    if run.mode == "keep" and (run.has_written or run.gave_up):
        return _closing_look(run) or HandOver(kind, number)
    return RollBack(kind, number)


def _closing_look(run: RunView) -> Action | None:
    """What was settled as not performed after a doubt is looked up once more at the end of its run."""
    for step in run.forward:
        doubted = step.state is StepState.NOT_PERFORMED and step.doubt and step.lookup
        if doubted and not step.said:
            waits = step.due_at is not None and run.now < step.due_at
            return Wait("time", step.due_at) if waits else LookUp(step.number)
    return None


def _before_sending(run: RunView, step: StepView) -> Action:
    if step.state is StepState.NEEDS_APPROVAL:
        settled = {"approve": StepState.APPROVED, "skip": StepState.DECLINED}.get(step.answer)
        return Settle(step.number, settled) if settled else Wait("person")
    if step.calls >= step.budget:
        return Ask(step.number, "undo") if step.undoes else Settle(step.number, StepState.FAILED)
    if step.due_at and run.now < step.due_at:
        return Wait("time", step.due_at)
    if step.undoes and (late := _too_late(run, step, step.undoes)):
        return late
    if step.check == "refused":
        return Ask(step.number, "undo") if step.undoes else Settle(step.number, StepState.REFUSED)
    if step.check == "replayed":
        return Settle(step.number, StepState.PERFORMED)
    if step.check == "busy":
        return Wait("time")
    if step.check == "ask":
        return _ask_until_when(run) or Ask(step.number, "confirm")
    return Send(step.number) if step.check == "allowed" else Check(step.number)


def _ask_until_when(run: RunView) -> Action | None:
    """A question says what would be undone and what would stay, so the windows of what was done are looked at."""
    shown = (step for step in run.forward if step.to_undo and step.window == "ask")
    return next((LookUp(step.number) for step in shown), None)


def _too_late(run: RunView, undo: StepView, of: int) -> Action | None:
    """An undo is due: past the window of its write it is not sent, and the write stays."""
    write = next(step for step in run.steps if step.number == of)
    if write.window == "ask":
        return LookUp(write.number)
    return Settle(undo.number, StepState.CANCELLED) if write.closed(run.now) else None


def _in_flight(run: RunView, step: StepView) -> Action:
    """A call whose outcome is not known: never repeated and never assumed. Time alone never resolves it."""
    if step.state is StepState.UNKNOWN:
        return _unknown(run, step)
    if not step.doubt:
        return Wait("call")  # it is being sent
    if step.due_at and run.now < step.due_at:
        return Wait("time", step.due_at)
    if step.lookup and not step.said:
        return LookUp(step.number)
    if step.said == "not_yet" and not _may_resend(run, step):
        waits = step.settles_at is not None and run.now < step.settles_at
        return Wait("time", step.settles_at) if waits else LookUp(step.number)
    if again := _again(run, step):
        return again
    if step.said == "did_not_happen":
        return _did_not_happen(run, step)
    return Ask(step.number, "outcome")


def _unknown(run: RunView, step: StepView) -> Action:
    """A person is asked. Meanwhile so is its lookup, from time to time: what it settles needs no answer any more."""
    if step.answer:
        return _answered(step)
    if not step.lookup or (step.said == "waiting" and not step.look_asked_at):
        return Wait("person")
    if step.look_asked_at:
        return LookUp(step.number)
    if step.said in ("did_not_happen", "not_yet") and (again := _again(run, step)):
        return again
    if step.said == "did_not_happen":
        return _did_not_happen(run, step)
    waits = step.due_at is not None and run.now < step.due_at
    return Wait("person", step.due_at) if waits else LookUp(step.number)


def _stopping(run: RunView) -> bool:
    """Nothing more is sent forward."""
    return run.cancelled or run.gave_up or run.halted or run.state in RUN_BACKWARD


def _may_resend(run: RunView, step: StepView) -> bool:
    """Under the same key: where the service honours it, where it said that nothing happened, or a person said so."""
    stopping = step.undoes is None and _stopping(run)
    forgotten = step.resend_until is not None and run.now >= step.resend_until
    if stopping or forgotten or step.calls >= step.budget:
        return False
    return step.retry_safe or step.said in ("did_not_happen", "send_again")


def _again(run: RunView, step: StepView) -> Action | None:
    """Once more under its key, where that may be and the check does not object."""
    if not _may_resend(run, step) or step.check not in ("", "allowed"):
        return None
    return Send(step.number) if step.check else Check(step.number)


def _did_not_happen(run: RunView, step: StepView) -> Action:
    """Settled by a lookup, and not to be sent again."""
    if step.undoes:
        return Ask(step.number, "undo")
    if _stopping(run):
        return Settle(step.number, StepState.NOT_PERFORMED)
    return Wait("person") if step.state is StepState.UNKNOWN else Ask(step.number, "outcome")


def _answered(step: StepView) -> Action:
    """A person's word; for an undo, 'did not happen' goes back to retrying it."""
    missed = StepState.APPROVED if step.undoes else StepState.NOT_PERFORMED
    settled = {"happened": StepState.PERFORMED, "did_not_happen": missed, "send_again": StepState.SENT}
    return Settle(step.number, settled[step.answer])


def _backward(run: RunView) -> Action:
    """Undo the writes, last one first; nothing while another write is in flight or unknown."""
    waits: list[Wait] = []
    for step in _unsettled(run):
        action = _in_flight(run, step) if step.state in IN_FLIGHT else _undo(run, step)
        if run.rollback == "ordered" or not isinstance(action, Wait):
            return action
        waits.append(action)
    last = next((step for step in reversed(run.steps) if _left_to_undo(run, step)), None)
    if last:
        return LookUp(last.number) if last.window == "ask" else Undo(last.number)
    closing = _closing_look(run)
    if closing and not waits:
        return closing
    if waits:
        return min(waits, key=lambda wait: (wait.until is None, wait.until or run.now))
    if any(_abandoned(run, step) for step in run.undos):
        return Finish(RunState.ABANDONED)
    if not run.rewound:
        return Rewind()
    if run.gave_up:
        return Finish(RunState.HANDED_OVER)
    return Finish(RunState.ROLLED_BACK if run.ever_wrote else RunState.FAILED)


def _unsettled(run: RunView) -> Iterator[StepView]:
    """Writes in flight first, then the undos under way."""
    yield from (step for step in run.forward if step.state in IN_FLIGHT)
    yield from (step for step in run.undos if not step.ended)


def _left_to_undo(run: RunView, step: StepView) -> bool:
    return step.to_undo and not step.closed(run.now) and not _has_undo(run, step)


def _abandoned(run: RunView, undo: StepView) -> bool:
    """A person gave it up. One that came too late leaves what nothing undoes."""
    write = next(step for step in run.steps if step.number == undo.undoes)
    return undo.state is StepState.CANCELLED and not write.closed(run.now)


def _has_undo(run: RunView, write: StepView) -> bool:
    return any(step.undoes == write.number for step in run.undos)


def _undo(run: RunView, step: StepView) -> Action:
    if step.state is not StepState.UNDO_STUCK:
        return _before_sending(run, step)
    if step.answer == "abandon" and run.rollback == "ordered":
        return Finish(RunState.ABANDONED)
    settled = {
        "retry": StepState.APPROVED,
        "done_by_hand": StepState.PERFORMED,
        "abandon": StepState.CANCELLED,  # best effort: it speaks of this one alone
    }.get(step.answer)
    return Settle(step.number, settled) if settled else Wait("person")
