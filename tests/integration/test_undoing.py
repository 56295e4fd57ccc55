"""A failed run is undone, last write first; one reply says what failed, what was undone, what could not be."""

from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from runs.models import Event, LedgerEntry
from tests.factories import answer, approve_all, make_agent, question, reply, start, states, until
from tests.world import WORLD

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_failed_run_is_undone_last_write_first(agent: str) -> None:
    WORLD.script = {"mail": ["raises"]}
    run = approve_all(start(agent, "charge 1 40.00, then tag 1, then mail 1"))
    assert WORLD.calls == ["charge", "tag", "mail", "untag", "refund"]
    assert run.state == "rolled_back"
    assert reply(run) == (
        "This run stopped: mail failed (RuntimeError). Undone, latest first: tag (by untag), charge (by refund)."
    )


def test_an_irreversible_write_is_skipped_and_listed(agent: str) -> None:
    WORLD.script = {"tag": ["raises"]}
    run = approve_all(start(agent, "charge 1 40.00, then mail 1, then tag 1"))
    assert reply(run) == (
        "This run stopped: tag failed (RuntimeError). Undone, latest first: charge (by refund). "
        "Not undoable, and left as they are: mail."
    )


@pytest.mark.parametrize("result", [{}, {"charge": None}, {"charge": 7}, {"charge": {"id": "ch_1"}}])
def test_an_undo_whose_result_field_is_missing_or_of_another_type_is_listed_never_guessed(
    agent: str, result: dict[str, Any]
) -> None:
    WORLD.script = {"charge": ["times out after"], "mail": ["raises"]}
    run = approve_all(start(agent, "charge 1 40.00, then mail 1"))
    run = approve_all(answer(run, "happened", result=result))
    assert reply(run).endswith("Not undoable, and left as they are: charge.")
    assert (run.state, "refund" in WORLD.calls) == ("rolled_back", False)
    assert "charge" in run.events.get(kind="step.undo_not_possible").data["why"]


def test_an_undo_that_cannot_be_bound_is_listed_never_guessed(agent: str) -> None:
    WORLD.script = {"mail": ["raises"]}
    run = approve_all(start(agent, "odd 1, then mail 1"))
    assert (
        reply(run) == "This run stopped: mail failed (RuntimeError). Not undoable, and left as they are: odd."
    )
    assert run.steps.get(tool="odd").note == "refund: charge <- $result.missing"
    assert "refund" not in WORLD.calls


def test_nothing_written_is_nothing_done(agent: str) -> None:
    WORLD.script = {"charge": ["raises"]}
    run = approve_all(start(agent, "charge 1 40.00, then mail 1"))
    assert (run.state, reply(run)) == (
        "failed",
        "This run stopped: charge failed (RuntimeError). Nothing had been done.",
    )
    assert states(run) == {"charge": "failed", "mail": "cancelled"}


def test_a_service_that_refuses_is_not_asked_again(agent: str) -> None:
    WORLD.script = {"charge": ["refuses"]}
    run = approve_all(start(agent, "charge 1 40.00"))
    assert WORLD.calls == ["charge"]
    assert reply(run) == "This run stopped: charge failed (Refused). Nothing had been done."


def test_skip_does_not_run_the_call_and_the_run_goes_on(agent: str) -> None:
    run = answer(start(agent, "charge 1 40.00, then mail 1"), "skip")
    run = answer(run, "approve")
    assert WORLD.calls == ["mail"]
    assert (run.state, reply(run)) == ("succeeded", "Done: mail. Skipped: charge.")


def test_an_irreversible_step_shows_both_warnings_where_an_earlier_write_would_be_undone(agent: str) -> None:
    run = answer(start(agent, "charge 1 40.00, then mail 1"), "approve")
    assert question(run).warnings == [
        "Nothing can undo this step once it runs.",
        "Nothing undoes this step, and the steps after it cannot undo it.",
    ]


def test_an_irreversible_step_alone_shows_one_warning(agent: str) -> None:
    assert question(start(agent, "mail 1")).warnings == ["Nothing can undo this step once it runs."]


def test_an_undo_is_not_confirmed_again_and_its_check_is_on_record_before_it_is_sent(agent: str) -> None:
    WORLD.script = {"mail": ["raises"]}
    run = approve_all(start(agent, "charge 1 40.00, then mail 1"))
    undo = run.steps.get(tool="refund")
    kinds = list(undo.events.values_list("kind", flat=True))
    assert kinds == ["step.proposed", "step.sent", "step.performed"]
    assert undo.events.get(kind="step.sent").data["rules"]
    assert undo.args == {"charge": "ch_1", "amount": "40.00"}


def test_an_undo_that_fails_is_tried_three_more_times_and_then_a_person_is_asked(agent: str) -> None:
    WORLD.script = {"mail": ["raises"], "refund": ["raises"] * 4}
    run = approve_all(start(agent, "charge 1 40.00, then charge 2 40.00, then mail 1"))
    run = until(run, "stuck", "waiting")
    assert WORLD.calls.count("refund") == 4
    assert run.state == "stuck"
    assert question(run).question == (
        "Undoing charge failed after 4 tries (RuntimeError). 2 step(s) still need undoing."
    )
    run = answer(run, "retry")
    assert run.state == "rolled_back"
    assert len({entry.key for entry in LedgerEntry.objects.filter(tool="refund")}) == 2


def test_done_by_hand_goes_on_with_the_next_write(agent: str) -> None:
    WORLD.script = {"mail": ["raises"], "refund": ["raises"] * 4}
    run = until(
        approve_all(start(agent, "charge 1 40.00, then charge 2 40.00, then mail 1")), "stuck", "waiting"
    )
    run = answer(run, "done_by_hand", reference="bank transfer 17")
    assert run.state == "rolled_back"
    assert WORLD.calls[-1] == "refund" and WORLD.calls.count("refund") == 5


def test_abandon_stops_the_rollback_and_lists_what_is_left_latest_first(agent: str) -> None:
    WORLD.script = {"mail": ["raises"], "untag": ["refuses"] * 4}
    run = until(approve_all(start(agent, "charge 1 40.00, then tag 1, then mail 1")), "stuck", "waiting")
    run = answer(run, "abandon", reason="the customer keeps both")
    assert run.state == "abandoned"
    assert reply(run).endswith("Still to undo: tag, charge.")
    assert (WORLD.calls.count("untag"), WORLD.calls.count("refund")) == (4, 0)


def test_best_effort_goes_on_past_a_failed_undo(tmp_path: Path) -> None:
    agent = make_agent(tmp_path, rollback="best_effort")
    WORLD.script = {"mail": ["raises"], "untag": ["raises"] * 4}
    run = until(approve_all(start(agent, "charge 1 40.00, then tag 1, then mail 1")), "stuck", "waiting")
    assert "refund" in WORLD.calls
    assert states(run)["charge"] == "undone"
    assert question(run).tool == "untag"


def test_a_run_that_keeps_what_it_did_is_handed_over(tmp_path: Path) -> None:
    agent = make_agent(tmp_path, runs="keep")
    WORLD.script = {"mail": ["raises"]}
    run = approve_all(start(agent, "charge 1 40.00, then mail 1"))
    assert run.state == "handed_over"
    assert "refund" not in WORLD.calls
    assert reply(run) == "This run stopped: mail failed (RuntimeError). Left as they are: charge."


def test_the_record_of_a_run_cannot_be_changed(agent: str) -> None:
    run = start(agent, "read 1")
    with pytest.raises(Exception, match="append_only|Cannot update"):
        Event.objects.filter(run=run).update(actor="somebody else")
    with pytest.raises(Exception, match="Cannot update or delete"), connection.cursor() as cursor:
        cursor.execute("DELETE FROM runs_event WHERE run_id = %s", [run.pk])
