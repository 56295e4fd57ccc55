"""An undo that fails (S0): tried again under its own key, then a person is asked. The rest is in test_undoing.py."""

from itertools import pairwise

import pytest

from runs.models import Attempt
from tests.factories import answer, approve_all, question, reply, start, states, until
from tests.world import WORLD

pytestmark = pytest.mark.django_db(transaction=True)


def test_it_waits_longer_between_its_tries_and_holds_no_worker_meanwhile(agent: str) -> None:
    WORLD.script = {"mail": ["raises"], "refund": ["raises"] * 4}
    run = approve_all(start(agent, "charge 1 40.00, then mail 1"))
    assert (run.state, run.lease_owner) == ("rolling_back", "")
    assert run.due_at is not None
    until(run, "stuck")
    sent = list(
        Attempt.objects.filter(step__tool="refund").order_by("number").values_list("sent_at", flat=True)
    )
    pauses = [(after - before).total_seconds() for before, after in pairwise(sent)]
    assert len(pauses) == 3
    assert pauses[0] >= 0.02 and pauses[1] >= 0.04 and pauses[2] >= 0.08


def test_a_stuck_rollback_undoes_nothing_below_it(agent: str) -> None:
    WORLD.script = {"mail": ["raises"], "untag": ["refuses"] * 4}
    run = until(approve_all(start(agent, "charge 1 40.00, then tag 1, then mail 1")), "stuck")
    assert "refund" not in WORLD.calls
    assert states(run)["charge"] == "performed"
    assert question(run).question == (
        "Undoing tag failed after 4 tries (Refused). 2 step(s) still need undoing."
    )


def test_retry_sends_the_undo_again_under_its_key(agent: str) -> None:
    WORLD.script = {"mail": ["raises"], "refund": ["raises"] * 5}
    run = until(approve_all(start(agent, "charge 1 40.00, then mail 1")), "stuck")
    run = until(answer(run, "retry"), "stuck")
    assert question(run).question.startswith("Undoing charge failed after 5 tries")
    assert answer(run, "retry").state == "rolled_back"
    assert len({key for tool, key in WORLD.keys if tool == "refund"}) == 1


def test_done_by_hand_is_on_record_with_its_reference_and_nothing_is_sent(agent: str) -> None:
    WORLD.script = {"mail": ["raises"], "refund": ["raises"] * 4}
    run = until(approve_all(start(agent, "charge 1 40.00, then mail 1")), "stuck")
    run = answer(run, "done_by_hand", reference="bank transfer 17")
    assert (states(run)["charge"], WORLD.calls.count("refund")) == ("undone", 4)
    said = run.events.get(kind="question.answered", data__answer="done_by_hand")
    assert (said.actor, said.data["reference"]) == ("Ana Ferreira", "bank transfer 17")
    assert reply(run).endswith("Undone, latest first: charge (by refund).")
