"""States that cannot be told apart are made equal, so that the model stays small. Sound because:

* Of a step that has ended (but an abandoned undo, which may be tried anew) the core reads its number, state, whether it writes, undo and what it undoes, no
  more. `explorer` asserts for each that the core's next action is the same before and after.
* Calls and budget are only ever compared with each other: what counts is how many calls are left.
* Time is relative (`world.NOW` stands still): what has passed has passed.
* A crash and an answer that does not come are the same doubt; what a step holds of its last sending (when it
  settles, what was said of it) is read only while it is in flight.
* Once a run no longer goes forward, neither a cancel, nor `runs: atomic` or keep, nor whether its agent was done is read.
* Of calls on the wire to a service that honours their key only the first to land does anything: with the effect
  there none of them matters, without it only the one that can land last.
* Once a person has said 'send again', it no longer matters how often the effect is there.
* A key that left nothing in the world and on the wire, of a step that will not be sent, is a fresh key.
"""

from dataclasses import replace
from functools import cache
from typing import Any

from runs.states import IN_FLIGHT, RunState, StepState
from runs.view import StepView
from tests.model.loop import ABSENT, BUDGET, UNDO_BUDGET, State
from tests.model.world import Key

FRESH = Key()


def honours_keys(step: StepView) -> bool:
    """Whether the service behind this step gives one effect for any number of calls with one key."""
    return "keys" in step.tool or step.retry_safe


def normal(state: State) -> State:
    """The same state, without what can no longer matter."""
    run = state.run
    keys = tuple(_key(step, key) for step, key in zip(run.steps, state.keys, strict=True))
    steps = tuple(_step(step, bool(key.wire)) for step, key in zip(run.steps, keys, strict=True))
    same = all(new is old for new, old in zip(steps, run.steps, strict=True))
    if run.state is not RunState.RUNNING and (
        run.cancelled or run.opened or run.mode != "atomic" or state.mode_open
    ):
        run = replace(run, steps=steps, cancelled=False, opened=False, mode="atomic")
        return state._replace(run=run, keys=keys, mode_open=False)
    return state._replace(run=run if same else replace(run, steps=steps), keys=keys)


@cache
def _step(step: StepView, wire: bool) -> StepView:
    if step.ended and not _abandoned(step):
        return _ended(step, wire)
    full = UNDO_BUDGET if step.undoes else BUDGET
    left = step.budget - step.calls
    changes: dict[str, Any] = {}
    if step.budget != full and 0 <= left <= full:
        changes |= {"budget": full, "calls": full - left}
    if step.doubt == "interrupted" or (step.doubt and _abandoned(step)):
        changes["doubt"] = "" if _abandoned(step) else "no_answer"
    if step.state not in IN_FLIGHT and (step.settles_at or step.said or step.lookups):
        changes |= {"settles_at": None, "said": "", "lookups": 0}
    return replace(step, **changes) if changes else step


def _abandoned(step: StepView) -> bool:
    return step.undoes is not None and step.state is StepState.CANCELLED


def _ended(step: StepView, wire: bool) -> StepView:
    plain = StepView(
        step.number,
        step.state,
        step.tool if wire else "",
        writes=step.writes,
        undo=step.undo if step.state is StepState.PERFORMED else "",
        undoes=step.undoes,
        irreversible=step.irreversible,
    )
    return step if step == plain else plain


@cache
def _key(step: StepView, key: Key) -> Key:
    if key.wire and key.memory < 0 and honours_keys(step):
        key = key._replace(wire=() if key.landed else key.wire[-1:])
    if key.again and key.landed:
        key = key._replace(wire=(), landed=1)
    if not step.ended or _abandoned(step):
        return key
    if step.state in ABSENT and not key.landed and not key.wire:
        return FRESH
    return key._replace(approved=False, again=key.again and bool(key.wire), memory=key.memory if key.wire else -1)
