"""The core keeps its promise in every state that small plans can reach (tests/model/plans.py)."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from runs.states import IN_FLIGHT, RunState
from tests.model import plans
from tests.model.explorer import REAL, Explorer, Found, explore
from tests.model.loop import Core, Plan, proposed
from tests.model.variants import Edit, core_with

TWO_TRIES = core_with([Edit("outcomes", "LOOKUP_TRIES = 4", f"LOOKUP_TRIES = {plans.FEWER_LOOKUPS}")])
pytestmark = pytest.mark.timeout(600)  # a machine that does other things as well may be slow
SEEN: dict[str, Found] = {}


@pytest.fixture(scope="module", autouse=True)
def _sum(figures: list[str]) -> Iterator[None]:
    """Say in pytest's summary how much was visited."""
    yield
    states, moves = sum(f.states for f in SEEN.values()), sum(f.moves for f in SEEN.values())
    seconds = sum(f.seconds for f in SEEN.values())
    figures.append(f"The core was model-checked: {states:,} states, {moves:,} moves, {seconds:.0f} s")


def holds(name: str, plan: Plan, core: Core) -> Found:
    """Explore, and say what was seen."""
    found = SEEN[name] = explore(plan, core)
    print(f"\n{name}: {found}")
    assert not found.broken, f"{name}: {found}"
    return found


@pytest.mark.parametrize("name", plans.ONE_STEP)
def test_the_promise_holds_in_every_state_of_one_step(name: str) -> None:
    found = holds(f"one step, {name}", plans.ONE_STEP[name], REAL)
    assert {RunState.SUCCEEDED, RunState.ROLLED_BACK, RunState.HANDED_OVER} <= set(found.ends)


@pytest.mark.parametrize("name", plans.TWO_STEPS)
def test_the_promise_holds_in_every_state_of_two_steps(name: str) -> None:
    holds(f"two steps, {name}", plans.TWO_STEPS[name], TWO_TRIES)


@pytest.mark.parametrize("name", plans.MORE_STEPS)
def test_the_promise_holds_in_every_state_of_a_longer_plan(name: str) -> None:
    holds(f"longer, {name}", plans.MORE_STEPS[name], TWO_TRIES)


def test_the_core_does_not_look_ahead() -> None:
    """What the model decides late, the core does not read early: the tool of a later step, and the rollback.

    But for a run that stops with a call in doubt: there `loop.undone_apart` decides the rollback.
    """
    explorer = Explorer(Plan((plans.MIXED, plans.MIXED), rollbacks=("ordered",), faults=1), TWO_TRIES)
    explorer.explore()
    for state in explorer.states:
        run = state.run
        if run.state is not RunState.RUNNING or not run.current or run.current.number != 1:
            continue
        others = [replace(run, steps=(run.steps[0], proposed(2, tool))) for tool in plans.MIXED]
        apart = (run.cancelled or run.gave_up) and run.current.state in IN_FLIGHT
        for other in others if apart else [replace(run, rollback="best_effort"), *others]:
            assert REAL.next_action(other) == REAL.next_action(run)
