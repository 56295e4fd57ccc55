"""Somebody else writes to the run between the engine's look at the rows and its commit."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import pytest
from django.db import connection
from django.db.models import F
from pydantic import AfterValidator

from runs import services
from runs.engine import advance
from runs.models import Attempt, Run
from runs.tools import Call, tool
from tests.factories import AGENT, PERSON, make_agent, states
from tests.world import WORLD

pytestmark = pytest.mark.django_db(transaction=True)

meanwhile: dict[int, Callable[[], object]] = {}  # by order: what somebody else does while its call is checked


def _elsewhere(order: int) -> int:
    """The engine checks the arguments after it has read the rows, and before it writes what it decided.

    Not those of the first call: the run is claimed in the same transaction, which holds its row.
    """
    if does := meanwhile.pop(order, None):
        other = threading.Thread(target=_as_another, args=[does])
        other.start()
        other.join()
    return order


def _as_another(does: Callable[[], object]) -> None:
    does()
    connection.close()


Order = Annotated[int, AfterValidator(_elsewhere)]


@tool(writes=True, undo="unpack", confirm=False)
def pack(call: Call, order: Order) -> object:
    """A write that nobody confirms."""
    return WORLD.act(call)


@tool(writes=True, retry_safe=True)
def unpack(call: Call, order: int) -> object:
    """Undoes pack."""
    return WORLD.act(call)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Two writes that nobody has carried out yet."""
    meanwhile.clear()
    agent = make_agent(tmp_path, "packer", ["pack", "unpack"], __name__)
    thread = services.start_thread(AGENT, agent, "u-1")
    steps = [services.Proposal("pack", {"order": number}) for number in (1, 2)]
    return services.start(AGENT, thread, services.RunRequest(steps=steps))


def test_a_cancel_that_overtakes_a_commit_stops_the_next_call_and_the_last_outcome_is_recorded_once(
    run: Run,
) -> None:
    meanwhile[2] = lambda: services.cancel(PERSON, run)
    advance(run.pk)
    run.refresh_from_db()
    assert (run.state, WORLD.calls) == ("rolled_back", ["pack", "unpack"])
    first, second = run.steps.filter(tool="pack")
    assert (first.state, second.state) == ("undone", "cancelled")
    assert [line.kind for line in first.events.order_by("id")].count("step.performed") == 1
    assert [attempt.verdict for attempt in first.attempts.all()] == ["performed"]


def test_a_lease_lost_before_the_intent_is_written_stops_the_call(run: Run) -> None:
    def take_over() -> None:
        Run.objects.filter(pk=run.pk).update(lease_owner="another", lease_epoch=F("lease_epoch") + 1)

    meanwhile[2] = take_over
    assert advance(run.pk) is False
    assert WORLD.calls == ["pack"]
    assert [attempt.late for attempt in Attempt.objects.filter(step__run=run)] == [True]
    assert list(states(run).values()) == ["proposed"]  # by tool: the second one is as it was
