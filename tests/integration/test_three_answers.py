"""A confirmation takes three answers (S0): approve, skip, cancel all. The rest of it is in test_undoing.py."""

import pytest

from runs.models import LedgerEntry
from tests.factories import answer, question, reply, start, states
from tests.world import WORLD

pytestmark = pytest.mark.django_db(transaction=True)


def test_approve_runs_the_call_with_exactly_the_arguments_that_were_shown(agent: str) -> None:
    shown = question(run := start(agent, "charge 1 40.00"))
    assert (shown.tool, shown.args) == ("charge", {"order": 1, "amount": "40.00"})
    answer(run, "approve")
    sent = LedgerEntry.objects.get()
    assert (sent.tool, sent.args) == ("charge", shown.args)


def test_skip_is_on_record_as_declined_and_says_by_whom(agent: str) -> None:
    run = answer(start(agent, "charge 1 40.00, then read 1"), "skip")
    assert states(run) == {"charge": "declined", "read": "performed"}
    assert run.events.get(kind="step.declined").actor == "Ana Ferreira"
    assert not LedgerEntry.objects.filter(tool="charge").exists()


def test_skip_undoes_nothing_that_was_done_before(agent: str) -> None:
    run = answer(answer(start(agent, "charge 1 40.00, then tag 1"), "approve"), "skip")
    assert (run.state, WORLD.calls, reply(run)) == ("succeeded", ["charge"], "Done: charge. Skipped: tag.")


def test_cancel_all_before_anything_was_done_changes_nothing(agent: str) -> None:
    run = answer(start(agent, "charge 1 40.00, then tag 1"), "cancel_all")
    assert (run.state, WORLD.calls) == ("failed", [])
    assert reply(run) == "This run stopped: cancelled by Ana Ferreira. Nothing had been done."
