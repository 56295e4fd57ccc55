"""`confirm: plan`: one answer for all writes of a proposal, bound to the whole list."""

from pathlib import Path

import pytest

from runs import services
from runs.errors import DigestMismatch
from runs.models import Step
from tests.factories import PERSON, answer, make_agent, question, reply, start, states
from tests.world import WORLD

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def agent(tmp_path: Path) -> str:
    """An agent that asks once for all writes."""
    return make_agent(tmp_path, confirm="plan")


def test_one_answer_approves_every_write_of_the_proposal(agent: str) -> None:
    run = start(agent, "charge 1 40.00, then tag 1")
    assert question(run).covers == [2]
    run = answer(run, "approve")
    assert (run.state, WORLD.calls) == ("succeeded", ["charge", "tag"])


def test_what_cannot_be_undone_is_said_of_its_step(agent: str) -> None:
    asked = question(start(agent, "charge 1 40.00, then mail 1"))
    assert asked.warnings[0] == "Step 2, mail: Nothing can undo this step once it runs."


def test_skip_runs_none_of_them(agent: str) -> None:
    run = answer(start(agent, "charge 1 40.00, then tag 1"), "skip")
    assert (states(run), WORLD.calls) == ({"charge": "declined", "tag": "declined"}, [])


def test_a_write_that_fails_undoes_the_ones_before_it(agent: str) -> None:
    WORLD.script = {"tag": ["raises"]}
    run = answer(start(agent, "charge 1 40.00, then tag 1"), "approve")
    assert reply(run) == (
        "This run stopped: tag failed (RuntimeError). Undone, latest first: charge (by refund)."
    )


def test_the_digest_is_over_the_whole_list(agent: str) -> None:
    first = question(start(agent, "charge 1 40.00, then tag 1"))
    other = question(start(agent, "charge 1 40.00, then tag 2", user="u-2"))
    assert first.digest != other.digest
    with pytest.raises(DigestMismatch):
        services.resolve(PERSON, first.pk, "approve", other.digest)
    assert Step.objects.get(pk=first.pk).state == "needs_approval"
