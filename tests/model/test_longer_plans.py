"""Runs of five to eight steps, at random: the promise holds in each state, and each run can be brought to an end."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runs.states import RUN_ENDS
from tests.model.explorer import walk
from tests.model.loop import Plan
from tests.model.plans import EVERY
from tests.model.world import undo_tools

pytestmark = pytest.mark.timeout(600)  # a machine that does other things as well may be slow
PATIENCE = 400  # moves within which a run ends once nothing goes wrong any more

plans = st.builds(
    Plan,
    tools=st.lists(st.sampled_from(EVERY).map(lambda tool: (tool,)), min_size=5, max_size=8).map(tuple),
    modes=st.sampled_from([("atomic",), ("keep",)]),
    rollbacks=st.sampled_from([("ordered",), ("best_effort",)]),
    keys=st.sampled_from(["step", "step", "action"]),
    opened=st.booleans(),
    late=st.booleans(),
    faults=st.sampled_from([-1, 1, 2, 4, 8]),
    truthful=st.sampled_from([True, True, False]),
    undos=st.sampled_from([(tool,) for tool in undo_tools(more=True)] + [tuple(undo_tools())]),
)
# Mostly the best that can happen (-1), so that runs go far before something goes wrong.
pick = st.integers(0, 400).map(lambda number: number if number <= 40 else -1)
picks = st.lists(pick, min_size=20, max_size=150)


@settings(max_examples=2000, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(plan=plans, picks=picks)
def test_a_run_of_many_steps_keeps_the_promise_and_comes_to_an_end(plan: Plan, picks: list[int]) -> None:
    assert walk(plan, picks, PATIENCE).run.state in RUN_ENDS
