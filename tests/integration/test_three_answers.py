"""A confirmation takes three answers (S0): approve, skip, cancel all. The rest of it is in test_undoing.py."""

import pytest

from runs import services
from runs.errors import BadInput
from runs.models import LedgerEntry
from tests.factories import PERSON, answer, question, reply, start, states
from tests.world import WORLD

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_confirmation_takes_three_answers_and_no_other(agent: str) -> None:
    step = question(start(agent, "charge 1 40.00"))
    for other in ("happened", "retry", "yes", ""):
        with pytest.raises(BadInput, match="The answers are: approve, skip, cancel_all"):
            services.resolve(PERSON, step.pk, other, step.digest)
    ends = {}
    for number, said in enumerate(("approve", "skip", "cancel_all"), 2):
        ends[said] = answer(start(agent, f"charge {number} 40.00", user=f"u-{number}"), said).state
    assert ends == {"approve": "succeeded", "skip": "succeeded", "cancel_all": "failed"}


def test_approve_runs_the_call_with_exactly_the_arguments_that_were_shown(agent: str) -> None:
    shown = question(run := start(agent, "charge 1 40.00"))
    assert (shown.tool, shown.args) == ("charge", {"order": 1, "amount": "40.00"})
    answer(run, "approve")
    sent = LedgerEntry.objects.get()
    assert (sent.tool, sent.args) == ("charge", shown.args)


def test_the_result_of_a_skipped_call_says_that_it_was_declined_and_by_whom(agent: str) -> None:
    run = answer(start(agent, "charge 1 40.00, then read 1"), "skip")
    assert states(run) == {"charge": "declined", "read": "performed"}
    assert run.events.get(kind="step.declined").actor == "Ana Ferreira"
    assert not LedgerEntry.objects.filter(tool="charge").exists()


def test_skip_undoes_nothing_that_was_done_before(agent: str) -> None:
    run = answer(answer(start(agent, "charge 1 40.00, then tag 1"), "approve"), "skip")
    assert (run.state, WORLD.calls, reply(run)) == ("succeeded", ["charge"], "Done: charge. Skipped: tag.")


def test_cancel_all_fails_the_run_as_a_person_cancelling_it_and_what_it_did_is_undone(agent: str) -> None:
    run = answer(start(agent, "charge 1 40.00, then mail 1"), "approve")
    run = answer(run, "cancel_all")
    assert (
        reply(run) == "This run stopped: cancelled by Ana Ferreira. Undone, latest first: charge (by refund)."
    )
    assert WORLD.calls == ["charge", "refund"]


def test_cancel_all_before_anything_was_done_changes_nothing(agent: str) -> None:
    run = answer(start(agent, "charge 1 40.00, then tag 1"), "cancel_all")
    assert (run.state, WORLD.calls) == ("failed", [])
    assert reply(run) == "This run stopped: cancelled by Ana Ferreira. Nothing had been done."
