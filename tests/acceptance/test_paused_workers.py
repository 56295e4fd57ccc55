"""Pausing and draining, as an operator does it, on real processes: nothing is cut off, nothing new is begun."""

import os
import signal
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from examples.services.process import Services
from runs import roster, services
from runs.access import Actor
from runs.models import Event, Run
from runs.roster import Process
from tests.flows import Flow, fresh_books, on_the_books, start_flow
from tests.processes import Processes, Started, until

if TYPE_CHECKING:
    from pytest_django import Settings

pytestmark = pytest.mark.usefixtures("transactional_db", "books")

OPERATOR = Actor("Olga Petrova", frozenset({"operator"}))
PERSON = Actor("Ana Ferreira", frozenset({"support"}))
# They hear of an order within half a second; no lease runs out in a slow call.
TIMES = {"STALWART_STALL_SECONDS": "2", "STALWART_LEASE_SECONDS": "10", "STALWART_CALL_TIMEOUT_SECONDS": "8"}
CHARGE = ("charge_card", {"order": 4411, "amount": "40.00"})
CRM = ("update_crm", {"order": 4411})


@pytest.fixture
def books(services: Services, settings: "Settings") -> httpx.Client:
    """The services' own books, fresh."""
    return fresh_books(services, settings)


@pytest.fixture
def worker(processes: Processes) -> Started:
    """One that has said that it is there, beside a sweep."""
    processes.sweep()
    started = processes.worker(**TIMES)
    until(lambda: state_of(started) == "idle", f"the worker; {started.said()}")
    return started


def found(worker: Started) -> Process | None:
    known = roster.roster().processes
    return next((process for process in known if process.pid == str(worker.pid)), None)


def state_of(worker: Started) -> str:
    process = found(worker)
    return process.state if process else "unknown"


def order(what: str, worker: Started) -> None:
    process = found(worker)
    assert process
    services.order(OPERATOR, what, process.worker.pk, "the card service is down")


def approved(*steps: tuple[str, dict[str, Any]], slow: float = 0) -> Run:
    """A run whose first write was approved; each of its calls takes so many seconds."""
    faults = {tool: f"slow:{slow}" for tool, _ in steps} if slow else {}
    run = start_flow(Flow("desk", "", steps), faults)
    approve(run)
    return run


def approve(run: Run) -> None:
    until(run.steps.asking().exists, "the question")
    step = run.steps.asking().get()
    services.resolve(PERSON, step.pk, "approve", step.digest)


def state(run: Run) -> str:
    return Run.objects.get(pk=run.pk).state


def in_flight(run: Run) -> bool:
    return run.steps.filter(state="sent").exists()


def test_a_paused_worker_finishes_its_call_takes_nothing_new_and_goes_on_when_resumed(
    worker: Started, books: httpx.Client
) -> None:
    run = approved(CHARGE, CRM, slow=2)
    until(lambda: in_flight(run), "the call to leave")
    held = found(worker)
    assert held and held.state == "working"
    assert [(one.run_id, one.tool) for one in held.holds] == [(run.pk, "charge_card")]
    order("pause", worker)
    until(lambda: state_of(worker) == "pausing", "the order to be read")
    until(lambda: state_of(worker) == "paused", f"the pause; {worker.said()}")

    assert on_the_books(books, run) == ["charge_card"]  # the call in flight was finished, and recorded
    assert run.steps.get(tool="charge_card").state == "performed"
    assert Run.objects.get(pk=run.pk).lease_owner == ""
    other = start_flow(Flow("desk", "", (CHARGE,)))
    until(lambda: Run.objects.get(pk=other.pk).nudges > 1, "the sweep to have asked for it again")
    assert (state(other), state_of(worker)) == ("ready", "paused")

    order("resume", worker)
    until(lambda: other.steps.asking().exists(), f"the other run's question; {worker.said()}")
    approve(run)
    until(lambda: state(run) == "succeeded", "the run to end")
    assert on_the_books(books, run) == ["charge_card", "update_crm"]
    assert not Event.objects.filter(run=run, kind__in=("step.interrupted", "lease.taken_over")).exists()


def test_a_drained_worker_finishes_its_call_and_ends_with_0_and_another_goes_on(
    worker: Started, processes: Processes, books: httpx.Client
) -> None:
    run = approved(CHARGE, CRM, slow=2)
    until(lambda: in_flight(run), "the call to leave")
    order("drain", worker)
    assert worker.process.wait(20) == 0
    assert state_of(worker) == "drained"
    assert run.steps.get(tool="charge_card").state == "performed"

    processes.worker(**TIMES)
    approve(run)
    until(lambda: state(run) == "succeeded", "the run to end")
    assert on_the_books(books, run) == ["charge_card", "update_crm"]
    assert not Event.objects.filter(run=run, kind__in=("step.interrupted", "lease.taken_over")).exists()


def test_a_paused_worker_is_drained_and_ends_with_0(worker: Started) -> None:
    order("pause", worker)
    until(lambda: state_of(worker) == "paused", "the pause")
    order("drain", worker)
    assert worker.process.wait(20) == 0
    assert state_of(worker) == "drained"


def test_a_deploy_of_a_paused_worker_is_an_ordinary_one(worker: Started, processes: Processes) -> None:
    order("pause", worker)
    until(lambda: state_of(worker) == "paused", "the pause")
    assert worker.stop() == 0
    assert state_of(worker) == "stopped"
    another = processes.worker(**TIMES)
    until(lambda: state_of(another) == "idle", "a worker that starts later, and is not paused")


def test_a_paused_worker_that_is_killed_is_shown_as_dead(
    worker: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    order("pause", worker)
    until(lambda: state_of(worker) == "paused", "the pause")
    os.kill(worker.pid, signal.SIGKILL)
    worker.process.wait()
    monkeypatch.setattr("runs.roster.FRESH", timedelta(seconds=1))
    until(lambda: state_of(worker) == "dead", "it to be missed")
    process = found(worker)
    assert process and process.order and (process.order.by, process.order.what) == ("Olga Petrova", "pause")


def test_a_call_longer_than_a_deploy_would_wait_is_finished_by_a_pause(
    processes: Processes, books: httpx.Client
) -> None:
    """Nothing presses: a pause waits for as long as any call may take."""
    worker = processes.worker(**TIMES, STALWART_DRAIN_SECONDS="1")
    until(lambda: state_of(worker) == "idle", "the worker")
    run = approved(CHARGE, slow=3)
    until(lambda: in_flight(run), "the call to leave")
    order("pause", worker)
    until(lambda: state_of(worker) == "paused", f"the pause; {worker.said()}")
    assert run.steps.get(tool="charge_card").state == "performed"
    assert "is killed" not in worker.said()


def test_the_sweep_and_the_web_server_are_there_too(processes: Processes) -> None:
    processes.sweep()
    processes.web()
    until(lambda: {one.worker.kind for one in roster.roster().processes} == {"sweep", "web"}, "both to beat")
    swept = roster.backlog().swept_at
    until(lambda: roster.backlog().swept_at != swept, "another pass of the sweep")
    processes.end_all()
    assert {one.state for one in roster.roster().processes} == {"stopped"}
