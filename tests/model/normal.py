"""States that cannot be told apart are made equal, so that the model stays small. Sound because:

* Of a step that has ended the core reads its number, state, whether it writes, undo and what it undoes, no
  more. `explorer` asserts for each that the core's next action is the same before and after.
* Calls and budget are only ever compared with each other: what counts is how many calls are left.
* Time is relative (`world.NOW` stands still): what has passed has passed.
* A key that left nothing in the world and on the wire, of a step that will not be sent, is a fresh key.
"""

from dataclasses import replace

from runs.states import StepState
from runs.view import StepView
from tests.model.loop import ABSENT, BUDGET, UNDO_BUDGET, State
from tests.model.world import Key

FRESH = Key()


def normal(state: State) -> State:
    """The same state, without what can no longer matter."""
    run, keys = state.run, state.keys
    steps = tuple(_step(step, bool(key.wire)) for step, key in zip(run.steps, keys, strict=True))
    if any(new is not old for new, old in zip(steps, run.steps, strict=True)):
        run = replace(run, steps=steps)
    return state._replace(run=run, keys=tuple(_key(step, key) for step, key in zip(steps, keys, strict=True)))


def _step(step: StepView, wire: bool) -> StepView:
    if step.ended:
        return _ended(step, wire)
    full = UNDO_BUDGET if step.undoes else BUDGET
    left = step.budget - step.calls
    if left > full or step.budget == full or left < 0:
        return step
    return replace(step, budget=full, calls=full - left)


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


def _key(step: StepView, key: Key) -> Key:
    if not step.ended:
        return key
    if step.state in ABSENT and not key.landed and not key.wire:
        return FRESH
    return key._replace(approved=False, memory=key.memory if key.wire else -1)
