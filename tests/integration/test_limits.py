"""The limits (S0): what a rollback is not."""

import pytest

from runs.models import LedgerEntry, Step
from tests.factories import answer, approve_all, question, reply, start, states
from tests.world import WORLD

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_irreversible_step_is_confirmed_with_a_warning_not_undone_and_listed(agent: str) -> None:
    run = start(agent, "mail 1, then charge 1 40.00")
    assert question(run).warnings[0] == "Nothing can undo this step once it runs."
    run = answer(answer(run, "approve"), "cancel_all")
    assert (states(run)["mail"], WORLD.landed) == ("performed", ["mail"])
    assert reply(run).endswith("Not undoable, and left as they are: mail.")


def test_between_a_write_and_its_undo_the_write_is_real_and_another_run_sees_it(agent: str) -> None:
    run = answer(start(agent, "charge 1 40.00, then mail 1"), "approve")
    assert WORLD.landed == ["charge"]
    other = start(agent, "read 1", user="u-2")  # nothing is locked meanwhile
    assert other.state == "succeeded"
    answer(run, "cancel_all")
    assert WORLD.landed == ["charge", "read", "refund"]


def test_an_undo_is_a_second_write_and_not_a_step_back_in_time(agent: str) -> None:
    WORLD.script = {"mail": ["raises"]}
    run = approve_all(start(agent, "charge 1 40.00, then mail 1"))
    assert WORLD.landed == ["charge", "refund"]
    assert list(LedgerEntry.objects.order_by("first_sent_at").values_list("tool", "state")) == [
        ("charge", "performed"),
        ("mail", "failed"),
        ("refund", "performed"),
    ]
    assert Step.objects.get(run=run, tool="refund").number > Step.objects.get(run=run, tool="mail").number


def test_the_undo_is_your_function_and_what_it_says_counts_where_nothing_can_be_looked_up(agent: str) -> None:
    """It is called with the bound arguments, and checked; whether it really refunds is its own matter."""
    WORLD.script = {"mail": ["raises"], "refund": ["says yes and does nothing"]}
    run = approve_all(start(agent, "charge 1 40.00, then mail 1"))
    assert (states(run)["charge"], WORLD.landed) == ("undone", ["charge"])
    assert reply(run).endswith("Undone, latest first: charge (by refund).")


def test_a_write_of_unknown_outcome_is_decided_by_a_person_and_their_word_is_final(agent: str) -> None:
    """The same call, the same silence: what a person says makes the one end or the other."""
    ends = {}
    for said in ("happened", "did_not_happen"):
        WORLD.reset()
        WORLD.script = {"charge": ["works", "times out before"]}
        run = approve_all(start(agent, "charge 1 40.00, then charge 2 40.00", user=said))
        assert run.state == "waiting"
        run.steps.filter(number=2).update(settles_at=run.created_at)  # it can no longer be on the wire
        ends[said] = answer(run, said).state
    assert ends == {"happened": "succeeded", "did_not_happen": "rolled_back"}
