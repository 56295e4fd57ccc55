"""A write that can be undone for a while: looked at when a person is asked, and again when its undo is due."""

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from runs import services
from runs.errors import RunClosed
from runs.handover import ticket
from runs.models import Run
from tests.factories import (
    PERSON,
    answer,
    approve_all,
    make_agent,
    question,
    reply,
    start,
    states,
    until,
)
from tests.for_a_while import TOOLS
from tests.world import WORLD

pytestmark = pytest.mark.django_db(transaction=True)
ONE_LINE = ["Nothing can undo this step once it runs."]
BOTH_LINES = [*ONE_LINE, "Nothing undoes this step, and the steps after it cannot undo it."]


@pytest.fixture
def agent(tmp_path: Path) -> str:
    return make_agent(tmp_path, tools=TOOLS, module="tests.for_a_while")


def _until(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()


def _closed(run: Run, tool: str) -> str:
    """As the reply names it."""
    moment = run.steps.get(tool=tool).closes_at
    assert moment is not None
    return f"{tool} (could be undone until {timezone.localtime(moment):%Y-%m-%d %H:%M:%S %Z})"


def test_within_its_time_a_write_is_undone(agent: str) -> None:
    WORLD.script = {"mail": ["raises"]}
    run = approve_all(start(agent, f'ship 1, then hold 2 until "{_until(60)}", then book 3, then mail 4'))
    assert reply(run).endswith("Undone, latest first: book (by unbook), hold (by unbook), ship (by unbook).")


def test_past_its_time_a_write_stays_and_is_listed_with_the_time(agent: str) -> None:
    until_when = _until(0.5)
    run = answer(start(agent, f'tag 1, then hold 2 until "{until_when}", then mail 3'), "approve")
    run = answer(run, "approve")
    time.sleep(0.6)
    run = answer(run, "cancel_all")
    closed = timezone.localtime(datetime.fromisoformat(until_when))
    assert reply(run) == (
        "This run stopped: cancelled by Ana Ferreira. Undone, latest first: tag (by untag). "
        f"Not undoable, and left as they are: hold (could be undone until {closed:%Y-%m-%d %H:%M:%S %Z})."
    )
    assert (run.state, WORLD.calls) == ("rolled_back", ["tag", "hold", "untag"])


def test_a_length_of_time_counts_from_the_sending(agent: str) -> None:
    run = answer(start(agent, "book 1, then mail 2"), "approve")
    time.sleep(1.1)
    run = answer(run, "cancel_all")
    assert reply(run).partition(" (")[0].endswith("Not undoable, and left as they are: book")
    assert (run.state, WORLD.calls) == ("rolled_back", ["book"])


def test_a_tool_that_says_it_is_too_late_is_believed(agent: str) -> None:
    WORLD.script = {"mail": ["raises"], "collection": ["open", "closed"]}
    run = approve_all(start(agent, "ship 1, then mail 2"))
    assert WORLD.calls == ["ship", "mail"]
    assert (
        WORLD.lookups == ["collection of ship"] * 2
    )  # when the mail was asked about, and when the undo was due
    assert reply(run).endswith(f"Not undoable, and left as they are: {_closed(run, 'ship')}.")


def test_a_tool_that_fails_leaves_it_to_the_undo(agent: str) -> None:
    WORLD.script = {"mail": ["raises"], "collection": ["raises"] * 2}
    run = approve_all(start(agent, "ship 1, then mail 2"))
    assert reply(run).endswith("Undone, latest first: ship (by unbook).")


def test_an_irreversible_step_shows_one_warning_once_nothing_before_it_can_be_undone(agent: str) -> None:
    run = answer(start(agent, "ship 1, then mail 2"), "approve")
    assert question(run).warnings == BOTH_LINES
    answer(run, "cancel_all")
    WORLD.script = {"collection": ["closed"]}
    run = answer(start(agent, "ship 1, then mail 2", user="u-2"), "approve")
    assert question(run).warnings == ONE_LINE


def test_a_write_whose_time_is_over_before_it_is_sent_is_irreversible(agent: str) -> None:
    assert question(start(agent, f'hold 1 until "{_until(-1)}"')).warnings == ONE_LINE
    assert question(start(agent, f'hold 1 until "{_until(60)}"', user="u-2")).warnings == []


def test_an_undo_that_is_tried_again_is_not_sent_past_its_time(agent: str) -> None:
    WORLD.script = {"mail": ["raises"], "unbook": ["raises"], "collection": ["open", "open", "closed"]}
    run = until(approve_all(start(agent, "ship 1, then mail 2")), "rolled_back")
    assert WORLD.calls == ["ship", "mail", "unbook"]
    assert states(run) == {"ship": "performed", "mail": "failed", "unbook": "cancelled"}
    assert reply(run).endswith(f"Not undoable, and left as they are: {_closed(run, 'ship')}.")


def test_an_operator_is_told_that_nothing_can_be_undone_any_more(agent: str) -> None:
    run = answer(start(agent, f'hold 1 until "{_until(0.3)}"'), "approve")
    time.sleep(0.4)
    with pytest.raises(RunClosed, match="nothing that can be undone"):
        services.undo(PERSON, run)


def test_a_ticket_says_until_when(tmp_path: Path) -> None:
    agent = make_agent(tmp_path, "keeper", TOOLS, module="tests.for_a_while", runs="keep")
    WORLD.script = {"mail": ["raises"]}
    run = approve_all(start(agent, f'ship 1, then hold 2 until "{_until(0.5)}", then book 3, then mail 4'))
    sent_at = run.steps.get(tool="book").sent_at
    assert sent_at is not None
    at = sent_at + timedelta(seconds=1)
    shown = [line["reversible"] for line in ticket(run)["completed"]]
    assert (shown[0], shown[2]) == ("until collection", f"until {timezone.localtime(at):%H:%M:%S}")
    time.sleep(1.1)
    assert [line["reversible"] for line in ticket(run)["completed"]] == ["until collection", False, False]


def test_the_record_says_that_it_was_looked_at(agent: str) -> None:
    WORLD.script = {"collection": ["closed"]}
    run = answer(start(agent, "ship 1, then mail 2"), "approve")
    line = run.events.get(kind="step.window")
    assert (line.data["said"], line.step_id) == ("closed", run.steps.get(tool="ship").pk)
