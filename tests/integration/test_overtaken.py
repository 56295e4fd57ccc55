"""Somebody else writes to the run between the engine's look at the rows and its commit."""

import os
import threading
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Annotated

import psycopg
import pytest
from django.db import connection, transaction
from django.db.models import F
from pydantic import AfterValidator
from pytest_django import Settings

from runs import services
from runs.engine import advance
from runs.errors import RunClosed
from runs.models import Attempt, Run, Step
from runs.tools import Call, tool
from runs.transitions import clock
from tests.factories import AGENT, PERSON, make_agent, states
from tests.world import WORLD

pytestmark = pytest.mark.django_db(transaction=True)

meanwhile: dict[int, Callable[[], object]] = {}  # by order: what somebody else does while its call is checked
during: dict[int, Callable[[], object]] = {}  # and while it is under way
undoing: list[Callable[[], object]] = []  # and while an undo is bound, and then checked
late: list[Step] = []  # what left after it could be taken for settled


def _elsewhere(order: int) -> int:
    """The engine checks the arguments after it has read the rows, and before it writes what it decided.

    Not those of the first call: the run is claimed in the same transaction, which holds its row.
    """
    if does := meanwhile.pop(order, None):
        _in_a_thread(does).join()
    return order


def _in_a_thread(does: Callable[[], object]) -> threading.Thread:
    def as_another() -> None:
        does()
        connection.close()

    other = threading.Thread(target=as_another)
    other.start()
    return other


def _undone(order: int) -> int:
    if undoing:
        undoing.pop(0)()
    return order


def _until_somebody_waits() -> None:
    """Until a session of this database waits for another one."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    ends = time.monotonic() + 30
    with psycopg.connect(connection.connection.info.dsn, autocommit=True) as watching:
        while watching.execute(waiting).fetchone() == (0,):
            assert time.monotonic() < ends, "nobody waits"
            time.sleep(0.01)


@tool(writes=True, undo="unpack", confirm=False)
def pack(call: Call, order: Annotated[int, AfterValidator(_elsewhere)]) -> object:
    """A write that nobody confirms."""
    late.extend(Step.objects.filter(entry=call.key, settles_at__lt=clock()))
    if does := during.pop(order, None):
        does()
    return WORLD.act(call)


@tool(writes=True, retry_safe=True)
def unpack(call: Call, order: Annotated[int, AfterValidator(_undone)]) -> object:
    """Undoes pack."""
    return WORLD.act(call)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Two writes that nobody has carried out yet, of an agent that may propose more."""
    for left in (meanwhile, during, undoing, late):
        left.clear()
    agent = make_agent(tmp_path, "packer", ["pack", "unpack"], __name__)
    thread = services.start_thread(AGENT, agent, "u-1")
    steps = [services.Proposal("pack", {"order": number}) for number in (1, 2)]
    return services.start(AGENT, thread, services.RunRequest(steps=steps, opened=True))


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


def test_a_cancel_that_overtakes_the_end_of_a_run_leaves_it_one_reply(run: Run) -> None:
    services.close(AGENT, run)

    def cancel() -> None:
        with transaction.atomic():
            services.cancel(PERSON, run)
            cancelling.set()
            _until_somebody_waits()  # the engine, which ends the run and has written its reply

    def begin() -> None:
        others.append(_in_a_thread(cancel))
        assert cancelling.wait(10)

    others: list[threading.Thread] = []
    cancelling = threading.Event()
    during[2] = begin
    advance(run.pk)
    run.refresh_from_db()
    assert (run.state, WORLD.calls) == ("rolled_back", ["pack", "pack", "unpack", "unpack"])
    assert [message.text[:12] for message in run.messages.filter(role="agent")] == ["This run sto"]


def test_a_proposal_and_a_rollback_that_meet_take_turns(run: Run) -> None:
    """Both write to the run and to its thread: in the same order, or each would wait for the other."""
    refused: list[Exception] = []

    def propose() -> None:
        try:
            services.propose(AGENT, run, services.Proposal("pack", {"order": 3}))
        except Exception as error:  # noqa: BLE001 (whatever it is, it is looked at below)
            refused.append(error)

    def meet() -> None:
        others.append(_in_a_thread(propose))
        _until_somebody_waits()

    others: list[threading.Thread] = []
    undoing.extend([lambda: None, meet])
    WORLD.script = {"pack": ["works", "raises"]}
    advance(run.pk)
    others[0].join()
    run.refresh_from_db()
    assert [type(error) for error in refused] == [RunClosed]
    assert (run.state, WORLD.calls) == ("rolled_back", ["pack", "pack", "unpack"])


def test_a_call_that_was_held_up_before_its_commit_is_recorded_anew_and_leaves_in_time(
    run: Run, settings: Settings
) -> None:
    """Its lease, and the time when others may say that it did not happen, would be over before it leaves."""
    settings.CALL_TIMEOUT_SECONDS = 0.3  # settled after 0.6 s
    meanwhile[2] = lambda: time.sleep(0.7)
    advance(run.pk)
    assert (late, WORLD.calls) == ([], ["pack", "pack"])
    first, second = Attempt.objects.filter(step__run=run, step__number=2)
    assert (first.verdict, first.error_class, second.verdict) == ("unavailable", "NotSent", "performed")


def test_what_was_decided_before_the_machine_slept_is_decided_anew(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its times would be of the past, and the call could be on the wire when others take it for settled."""
    awake = time.monotonic
    nap = 60.0  # seconds that our clock does not count
    looks: list[datetime] = []

    def sleep() -> None:
        monkeypatch.setattr(time, "monotonic", lambda: awake() - nap)
        looks.append(clock())

    meanwhile[2] = sleep
    advance(run.pk)
    assert WORLD.calls == ["pack", "pack"]
    (second,) = Attempt.objects.filter(
        step__run=run, step__number=2
    )  # the first intent of it was not recorded
    assert (second.verdict, second.sent_at > looks[0]) == ("performed", True)


def test_a_connection_that_breaks_before_the_commit_costs_no_outcome(run: Run) -> None:
    """So that the client library fails in mid-statement and takes the connection for a sound one."""
    engine = connection.connection

    def break_it() -> None:
        with Path(os.devnull).open("rb") as nothing:
            os.dup2(nothing.fileno(), engine.fileno())

    meanwhile[2] = break_it
    advance(run.pk)
    assert WORLD.calls == ["pack", "pack"]
    assert list(run.steps.values_list("state", flat=True)) == ["performed", "performed"]
