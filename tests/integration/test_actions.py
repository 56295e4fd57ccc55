"""`keys: action`: the same action of the same ticket is the same change in every run."""

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from pytest_django import Settings

from runs import calls, services
from runs.engine import advance
from runs.errors import BadInput
from runs.models import LedgerEntry, Run, Step
from runs.tools.dispatch import Outcome, dispatch
from tests.factories import (
    PERSON,
    answer,
    approve_all,
    expire,
    make_agent,
    question,
    reply,
    start,
    states,
    until,
)
from tests.world import WORLD

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def agent(tmp_path: Path) -> str:
    """An agent that names its changes by ticket."""
    return make_agent(tmp_path, keys="action")


def test_the_same_approved_proposal_run_twice_changes_nothing_more(agent: str) -> None:
    approve_all(start(agent, "charge 1 40.00", ticket="T-1"))
    again = start(agent, "charge 1 40.00", user="u-2", ticket="T-1")
    assert (again.state, WORLD.calls) == ("succeeded", ["charge"])
    assert again.steps.get().replayed


def test_what_was_replayed_is_not_undone_by_the_run_that_replayed_it(agent: str) -> None:
    approve_all(start(agent, "charge 1 40.00", ticket="T-1"))
    WORLD.script = {"mail": ["raises"]}
    again = approve_all(start(agent, "charge 1 40.00, then mail 1", user="u-2", ticket="T-1"))
    assert (again.state, WORLD.calls) == ("failed", ["charge", "mail"])


def test_another_ticket_is_another_change(agent: str) -> None:
    approve_all(start(agent, "charge 1 40.00", ticket="T-1"))
    approve_all(start(agent, "charge 1 40.00", user="u-2", ticket="T-2"))
    assert len(WORLD.effects) == 2


def test_an_action_in_flight_elsewhere_is_waited_for(agent: str) -> None:
    WORLD.script = {"charge": ["times out after"]}
    first = approve_all(start(agent, "charge 1 40.00", ticket="T-1"))
    second = start(agent, "charge 1 40.00", user="u-2", ticket="T-1")
    assert (states(first), second.state) == ({"charge": "unknown"}, "ready")
    answer(first, "happened", result={"charge": "ch_1"})
    second = until(second, "succeeded")
    assert second.steps.get().replayed
    assert WORLD.calls == ["charge"]


def test_an_action_that_was_undone_since_is_refused(agent: str) -> None:
    WORLD.script = {"mail": ["raises"]}
    approve_all(start(agent, "charge 1 40.00, then mail 1", ticket="T-1"))
    again = start(agent, "charge 1 40.00", user="u-2", ticket="T-1")
    assert reply(again) == "This run stopped: charge was refused (undone_since). Nothing had been done."


def test_a_refused_write_goes_to_a_person_with_no_change(agent: str) -> None:
    WORLD.script = {"charge": ["refuses"]}
    run = approve_all(start(agent, "charge 1 40.00", ticket="T-1"))
    assert (run.state, run.handover_reason, WORLD.effects) == ("handed_over", "refused", {})


def test_a_failed_action_is_sent_again_under_the_same_key(agent: str) -> None:
    WORLD.script = {"charge": ["raises"]}
    approve_all(start(agent, "charge 1 40.00", ticket="T-1"))
    again = approve_all(start(agent, "charge 1 40.00", user="u-2", ticket="T-1"))
    assert (again.state, len(WORLD.effects)) == ("succeeded", 1)


def test_an_action_that_never_left_and_was_cancelled_holds_up_no_other_run(agent: str) -> None:
    WORLD.script = {"charge": ["unavailable"]}
    first = approve_all(start(agent, "charge 1 40.00", ticket="T-1"))
    services.cancel(PERSON, first, "not today")
    first = until(first, "failed")
    assert first.steps.filter(state="cancelled", entry__state="failed").exists()
    again = until(approve_all(start(agent, "charge 1 40.00", user="u-2", ticket="T-1")), "succeeded")
    assert (states(again), len(WORLD.effects)) == ({"charge": "performed"}, 1)


def test_without_a_ticket_it_is_an_error_and_nothing_is_stored(agent: str) -> None:
    with pytest.raises(BadInput, match="a ticket is needed"):
        start(agent, "charge 1 40.00")


def test_two_were_asked_and_the_second_approval_sends_nothing(agent: str) -> None:
    first = start(agent, "charge 1 40.00", ticket="T-1")
    second = start(agent, "charge 1 40.00", user="u-2", ticket="T-1")
    assert question(first).digest != question(second).digest
    answer(first, "approve")
    second = answer(second, "approve")
    assert (second.state, WORLD.calls) == ("succeeded", ["charge"])


def test_an_action_that_was_cancelled_before_it_got_through_is_free_for_another_run(agent: str) -> None:
    WORLD.script = {"charge": ["unavailable"]}
    first = answer(start(agent, "charge 1 40.00", ticket="T-1"), "approve")
    services.cancel(PERSON, first)
    until(first, "failed")
    assert LedgerEntry.objects.get().state == "failed"
    second = approve_all(start(agent, "charge 1 40.00", user="u-2", ticket="T-1"))
    assert second.state == "succeeded"


def test_an_action_that_is_being_undone_is_not_taken_for_done(
    agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = approve_all(start(agent, "charge 1 40.00", ticket="T-1"))
    others: list[Run] = []

    def meanwhile(*args: Any) -> Outcome:
        monkeypatch.undo()
        others.append(start(agent, "charge 1 40.00", user="u-2", ticket="T-1"))
        return dispatch(*args)

    services.undo(PERSON, first)
    monkeypatch.setattr(calls, "dispatch", meanwhile)
    advance(first.pk)
    [second] = others
    assert second.state == "ready"
    assert reply(until(second, "failed")).startswith("This run stopped: charge was refused (undone_since).")


def test_what_another_run_did_meanwhile_is_not_undone_by_a_look_at_the_end(
    agent: str, settings: Settings
) -> None:
    """It did not happen, a person says; before the world is asked once more, another run of the ticket does it."""
    settings.RETRY_SECONDS = 1
    WORLD.script = {"tag": ["times out before"], "find": ["cannot say", "raises"]}
    first = approve_all(start(agent, "tag 1", ticket="T-1"))
    time.sleep(0.65)
    first = answer(first, "did_not_happen")
    assert first.state == "rolling_back"
    second = approve_all(start(agent, "tag 1", user="u-2", ticket="T-1"))
    first = until(first, "failed")
    assert (second.state, first.handover_reason, WORLD.calls) == ("succeeded", "", ["tag", "tag"])


def test_a_late_success_during_the_call_of_another_run_is_that_runs_to_undo(
    agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one's worker loses it, and a person says that nothing happened; then it comes back, and says it did."""
    first, second = (start(agent, "charge 1 40.00", user=user, ticket="T-1") for user in ("u-1", "u-2"))
    left, comes_back = threading.Event(), threading.Event()

    def slow(*args: Any) -> Outcome:
        left.set()
        assert comes_back.wait(60)
        return dispatch(*args)

    def meanwhile(*args: Any) -> Outcome:
        monkeypatch.undo()
        comes_back.set()
        worker.join()
        advance(first.pk)
        return dispatch(*args)

    worker = threading.Thread(target=_carry_out, args=[first])
    services.resolve(PERSON, question(first).pk, "approve", question(first).digest)
    monkeypatch.setattr(calls, "dispatch", slow)
    worker.start()
    assert left.wait(60)
    assert advance(expire(first).pk, "another worker")
    Step.objects.filter(run=first).update(settles_at=first.created_at)
    answer(first, "did_not_happen")
    monkeypatch.setattr(calls, "dispatch", meanwhile)
    second = answer(second, "approve")
    first.refresh_from_db()
    assert (second.state, states(second)) == ("succeeded", {"charge": "performed"})
    assert (first.state, first.handover_reason, WORLD.calls) == (
        "failed",
        "late_outcome",
        ["charge", "charge"],
    )


def _carry_out(run: Run) -> None:
    advance(run.pk)
    connection.close()
