"""`keys: action`: the same action of the same ticket is the same change in every run."""

from pathlib import Path

import pytest

from runs.errors import BadInput
from tests.factories import answer, approve_all, make_agent, question, reply, start, states, until
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
