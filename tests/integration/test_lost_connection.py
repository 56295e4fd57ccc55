"""The connection to the database is lost at every place where it can be: around one request, or two."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from django.db import Error, connection
from django.db.models import Count
from pytest_django import Settings

from runs import services
from runs.engine import advance
from runs.errors import HeldUp
from runs.models import Attempt, Run
from runs.tools import Call, tool
from tests.broken_wire import Wire, between
from tests.factories import AGENT, make_agent, states, until
from tests.world import WORLD

pytestmark = pytest.mark.django_db(transaction=True)
meanwhile: dict[int, Callable[[], object]] = {}  # by order: what happens while its call is under way


@tool(writes=True, undo="unpack", confirm=False)
def pack(call: Call, order: int) -> object:
    """A write that nobody can look up, under a key that its service does not honour."""
    if does := meanwhile.pop(order, None):
        does()
    return WORLD.act(call)


@tool(writes=True, confirm=False)
def unpack(call: Call, order: int) -> object:
    """Undoes pack."""
    return WORLD.act(call)


@pytest.fixture
def packer(tmp_path: Path, settings: Settings) -> str:
    """An agent that packs. No lease ends."""
    settings.LEASE_SECONDS = 60
    meanwhile.clear()
    return make_agent(tmp_path, "packer", ["pack", "unpack"], __name__)


@pytest.fixture
def wire(packer: str) -> Iterator[Wire]:
    """Between the engine and its database."""
    with between(connection) as made:
        yield made


def _run(agent: str, *orders: int) -> Run:
    thread = services.start_thread(AGENT, agent, "u-1")
    steps = [services.Proposal("pack", {"order": order}) for order in orders]
    return services.start(AGENT, thread, services.RunRequest(steps=steps))


@pytest.mark.parametrize("then", [0, 5], ids=["once", "and-again"])
@pytest.mark.parametrize("how", ["request", "answer"])
def test_wherever_the_connection_is_lost_each_call_leaves_once_and_its_outcome_is_recorded_once(
    packer: str, wire: Wire, how: str, then: int
) -> None:
    """A write, one that fails, and the undo: the connection is lost at the first request, at the second …"""
    at, broke = 0, True
    while broke:
        at += 1
        WORLD.reset()
        WORLD.script = {"pack": ["works", "raises"]}
        run = _run(packer, 1, 2)
        connection.close()
        wire.breaks(how, at, at + then)
        claimed = _claimed(run)
        broke = wire.broke
        wire.breaks("")
        if claimed:
            as_if_nothing_had_happened(run)
    assert at > 25


def _claimed(run: Run) -> bool:
    """Carry it out. Until it has claimed the run the engine may give up: nothing has left then."""
    try:
        return advance(run.pk)
    except (Error, HeldUp):
        assert WORLD.calls == []
        connection.close()
        return False


def as_if_nothing_had_happened(run: Run) -> None:
    """Nobody is asked, nothing is in doubt, and the record tells each thing once."""
    run.refresh_from_db()
    if run.state != "rolled_back":  # the answer to the very last commit was lost, or it was given back
        run = until(run, "rolled_back")
    assert WORLD.calls == ["pack", "pack", "unpack"]
    assert list(run.steps.values_list("state", flat=True)) == ["undone", "failed", "performed"]
    left = Attempt.objects.filter(step__run=run).exclude(error_class="NotSent")
    assert sorted(left.values_list("verdict", flat=True)) == ["performed", "performed", "raised"]
    twice = run.events.exclude(step=None).values("step", "kind", "after").annotate(times=Count("pk"))
    assert not twice.filter(times__gt=1, kind__in=["step.performed", "step.failed", "step.undone"]).exists()
    strange = ["step.interrupted", "step.late_outcome", "lease.taken_over"]
    assert not run.events.filter(kind__in=strange).exists()
    assert run.messages.filter(role="agent").count() == 1


def test_a_commit_that_lands_after_its_connection_was_lost_is_not_repeated(packer: str, wire: Wire) -> None:
    """The server is still at it when the engine has connected anew, and asks what was recorded: nothing yet."""
    run = _run(packer, 1, 2)
    server = f"host={Path(wire._server).parent} user=postgres dbname={connection.settings_dict['NAME']}"
    other = psycopg.connect(server)

    def hold_the_run() -> None:
        other.execute("SELECT 1 FROM runs_run WHERE id = %s FOR NO KEY UPDATE", [run.pk])
        wire.breaks_while_the_server_is_at(b"WITH w0")
        threading.Thread(target=let_go).start()

    def let_go() -> None:
        with psycopg.connect(server, autocommit=True) as watching:
            waiting = (
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'WITH%'"
            )
            ends = time.monotonic() + 30
            while not both and time.monotonic() < ends:  # the lost one waits, and the one that repeats it
                time.sleep(0.01)
                both.extend(watching.execute(f"{waiting} HAVING count(*) = 2"))
        other.commit()
        other.close()

    both: list[object] = []
    meanwhile[1] = hold_the_run
    advance(run.pk)
    run.refresh_from_db()
    assert both == [(2,)]
    assert (run.state, WORLD.calls) == ("succeeded", ["pack", "pack"])
    kinds = list(run.steps.order_by("number")[0].events.values_list("kind", flat=True))
    assert kinds == ["step.sent", "step.performed"]


def test_a_session_that_forgot_its_prepared_statements_costs_no_outcome(packer: str) -> None:
    """As a pooler's is that resets its sessions."""
    run = _run(packer, 1, 2)
    meanwhile[2] = lambda: connection.connection.pgconn.exec_(b"DISCARD ALL")
    advance(run.pk)
    assert (list(run.steps.values_list("state", flat=True)), WORLD.calls) == (["performed"] * 2, ["pack"] * 2)


def test_a_server_that_was_demoted_during_a_call_is_waited_for(packer: str) -> None:
    def demote() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET default_transaction_read_only = on")

    run = _run(packer, 1)
    meanwhile[1] = demote
    advance(run.pk)
    assert (states(run), WORLD.calls) == ({"pack": "performed"}, ["pack"])
