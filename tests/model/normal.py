"""States that cannot be told apart are made equal, so that the model stays small. Sound because:

* Of a step that has ended the core reads its number, state, whether it writes, its undo and what it undoes, and
  whether it is to be looked up once more; but an abandoned undo may be tried anew. `explorer` asserts for every
  state that the core's next action is the same before and after.
* How often a question has been looked up makes the pause before the next time, and the model's are all alike;
  nobody can ask for a lookup later than now.
* Of calls and budget it counts how many calls are left, and whether there was none, one or more.
* Time is relative (`world.NOW` stands still): what has passed has passed.
* A crash and an answer that does not come are the same doubt; what a step holds of its last sending (when it
  settles, what was said of it) is read only while it is in flight.
* Once a run no longer goes forward, neither a cancel nor whether its agent was done, or may be asked, is read; and
  without late outcomes neither is `runs: atomic` or keep, until it is handed over.
* Of calls on the wire to a service that honours their key only the first to land does anything: with the effect
  there none of them matters, without it only the one that can land last.
* Once a person has said 'send again', it no longer matters how often the effect is there; where it was not
  there and cannot come any more, the word is forgotten.
* A key that left nothing in the world and on the wire, of a step that will not be sent, is a fresh key.
"""

from dataclasses import replace
from functools import cache
from typing import Any

from runs.states import IN_FLIGHT, RunState, StepState
from runs.view import StepView
from tests.model.loop import ABSENT, State, with_steps
from tests.model.world import NOW, Key

FRESH = Key()
MAY_BE_UNDONE = frozenset({StepState.PERFORMED, StepState.NOT_PERFORMED, StepState.FAILED})


def honours_keys(step: StepView) -> bool:
    """Whether the service behind this step gives one effect for any number of calls with one key."""
    return "keys" in step.tool or step.retry_safe


def normal(state: State, before: State | None = None, *, late: bool = False) -> State:
    """The same state, without what can no longer matter; what has not changed since `before` is normal already."""
    run = state.run
    steps, keys = list(run.steps), list(state.keys)
    for index, (step, key) in enumerate(zip(run.steps, state.keys, strict=True)):
        if (
            before
            and index < len(before.keys)
            and step is before.run.steps[index]
            and key is before.keys[index]
        ):
            continue
        keys[index] = _key(step, key)
        steps[index] = _step(step, bool(keys[index].wire or keys[index].theirs), run.keys == "action")
    if any(new is not old for new, old in zip(steps, run.steps, strict=True)):
        run = with_steps(run, tuple(steps))
    if run.state is not RunState.RUNNING and (run.cancelled or run.opened):
        run = replace(run, cancelled=False, opened=False, decides=False, exhausted=False)
    if run.exhausted and not run.decides:
        run = replace(run, exhausted=False)
    matters = late or run.state in (RunState.RUNNING, RunState.HANDED_OVER)
    if not matters and (run.mode != "atomic" or state.mode_open):
        run = replace(run, mode="atomic")
        return State(run, tuple(keys), state.faults)
    return State(run, tuple(keys), state.faults, state.mode_open)


@cache
def _step(step: StepView, wire: bool, reason: bool) -> StepView:
    if step.ended and not _abandoned(step):
        return _ended(step, wire, reason)
    calls = min(step.calls, 2)
    changes: dict[str, Any] = {}
    if step.calls != calls:
        changes |= {"calls": calls, "budget": calls + step.budget - step.calls}
    if step.due_at and step.due_at <= NOW:
        changes["due_at"] = None
    passed = ("settles_at", "resend_until", "closes_at")
    changes |= {name: NOW for name in passed if (getattr(step, name) or NOW) < NOW}
    if step.doubt == "interrupted" or (step.doubt and _abandoned(step)):
        changes["doubt"] = "" if _abandoned(step) else "no_answer"
    if not reason and step.reason:
        changes["reason"] = ""
    if step.state not in IN_FLIGHT and (step.settles_at or step.said or step.lookups):
        changes |= {"settles_at": None, "said": "", "lookups": 0}
    if step.look_asked_at:
        changes["look_asked_at"] = NOW if step.state is StepState.UNKNOWN else None
    if step.state is StepState.UNKNOWN and step.lookups:
        changes["lookups"] = 0
    return replace(step, **changes) if changes else step


def _abandoned(step: StepView) -> bool:
    return step.undoes is not None and step.state is StepState.CANCELLED


def _ended(step: StepView, wire: bool, reason: bool) -> StepView:
    looked_at = step.state is StepState.NOT_PERFORMED and step.lookup and bool(step.doubt)
    left = step.state in MAY_BE_UNDONE and bool(step.undo)
    plain = StepView(
        step.number,
        step.state,
        step.tool if wire or looked_at else "",
        writes=step.writes,
        undo=step.undo if step.state in MAY_BE_UNDONE else "",
        undoes=step.undoes,
        irreversible=step.irreversible,
        lookup=looked_at or (bool(step.undoes) and step.lookup),
        doubt="no_answer" if looked_at else "",
        said="cannot_say" if looked_at and step.said else "",
        lookups=step.lookups if looked_at and not step.said else 0,
        due_at=step.due_at if looked_at and not step.said and step.due_at and step.due_at > NOW else None,
        replayed=step.replayed,
        reason=step.reason if reason else "",
        closes_at=step.closes_at and max(step.closes_at, NOW) if left else None,
        window=step.window if left else "",
    )
    return step if step == plain else plain


@cache
def _key(step: StepView, key: Key) -> Key:
    if key.wire and key.memory < 0 and honours_keys(step):
        key = key._replace(wire=() if key.landed else key.wire[-1:])
    if key.again and not key.theirs and (key.landed or not key.wire):
        key = key._replace(wire=(), landed=min(key.landed, 1), again=key.landed > 0)
    if not step.ended or _abandoned(step):
        return key
    if step.state in ABSENT and not (key.landed or key.wire or key.theirs or key.reports):
        return FRESH
    alive = bool(key.wire or key.theirs)
    return key._replace(approved=False, again=key.again and alive, memory=key.memory if alive else -1)
