"""The tables of allowed moves, and their drawing."""

from docs.draw_states import TARGET, drawing
from runs.states import ENTRY_MOVES, RUN_ENDS, RUN_MOVES, STEP_MOVES, EntryState, RunState, StepState


def test_every_state_has_a_row_in_its_table() -> None:
    assert set(RUN_MOVES) == set(RunState)
    assert set(STEP_MOVES) == set(StepState)
    assert set(ENTRY_MOVES) == set(EntryState)


def test_a_run_that_ended_moves_only_to_be_undone() -> None:
    assert all(RUN_MOVES[state] == {RunState.ROLLING_BACK} for state in RUN_ENDS)


def test_the_drawing_in_the_docs_is_the_table_in_the_code() -> None:
    assert TARGET.read_text() == drawing(), "run: python -m docs.draw_states"
