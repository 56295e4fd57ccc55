"""A crash: processes are killed under load, one at a time and in pairs. Nothing is lost or doubled, and work goes
on within the lease and five seconds.

CRASH=all    every pair, not a few of them
"""

import itertools
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime

import httpx
import pytest
from django.db import connection

from examples.services.process import Services
from runs import tokens
from runs.models import Event, Run, Step
from runs.services import Proposal
from runs.states import RUN_ENDS
from runs.transitions import clock
from tests.crash.load import ORDERS, Load, desk
from tests.crash.site import ROLES, Site, pid_of
from tests.crash.times import GOES_ON, SITE
from tests.early import HOME
from tests.flows import Flow, on_the_books, operations
from tests.processes import Processes

pytestmark = pytest.mark.usefixtures("transactional_db")

WRITES = ("charge_card", "update_crm", "send_receipt")
SLOW = {"update_crm": "slow:0.4"}
SINGLES = [(role,) for role in ROLES]
PAIRS = list(itertools.combinations(ROLES, 2))
SOME_PAIRS = [("busy worker", "sweep"), ("idle worker", "sentinel"), ("cluster", "web")]
TRIED = SINGLES + (PAIRS if os.environ.get("CRASH") == "all" else SOME_PAIRS)
orders = itertools.cycle(ORDERS)


@pytest.fixture(scope="module")
def site(kept_database: None, services: Services) -> Iterator[Site]:
    """Three workers of two, a sweep and a web server, for the whole module: what is killed is started again."""
    processes = Processes(services.url, HOME)
    try:
        started = Site(processes, SITE, workers=3)
        started.wait_until_open()
        yield started
    finally:
        processes.end_all()
        connection.close()


@pytest.mark.parametrize("roles", TRIED, ids=[" and ".join(roles) for roles in TRIED])
def test_killed_under_load_nothing_is_lost_or_doubled(
    site: Site, books: httpx.Client, roles: tuple[str, ...]
) -> None:
    site.relieve()
    site.wait_until_open()
    load = Load(books)
    callers = Callers(site.url, 8)
    callers.start()
    load.until(lambda: _count(callers) >= 3, "runs to come in by the API", 20)
    load.runs = list(_runs(callers))
    load.until(lambda: load.in_flight, "calls in flight", 20)
    held = load.in_flight
    for role in roles:
        site.kill(role, [pid_of(attempt) for attempt in held])
    now = clock()
    site.repair()
    left = GOES_ON - load.goes_on(GOES_ON)
    interrupted = [attempt.step.run for attempt in held]
    load.until(lambda: all(went_on(run, now) for run in interrupted), "what was held to go on", left)
    load.until(callers.are_done, "every caller to get its answer", 30)
    load.runs = list(_runs(callers))
    load.finish(30)
    site.repair()
    all_as_if_nothing_had_happened(load, callers)


@pytest.mark.parametrize("role", ["sweep", "web"])
def test_what_was_killed_is_started_again_at_once(site: Site, role: str) -> None:
    killed = site.kill(role)
    site.repair()
    assert getattr(site, role).pid != killed


def went_on(run: Run, since: datetime) -> bool:
    """It ended, or something happened to it."""
    run.refresh_from_db()
    return run.state in RUN_ENDS or Event.objects.filter(run=run, at__gt=since).exists()


def all_as_if_nothing_had_happened(load: Load, callers: "Callers") -> None:
    """Every request is one run, every run succeeded, every effect is there once, and nobody was asked."""
    load.audit()
    assert sorted(run.name for run in load.runs) == sorted(callers.started)
    for run in load.runs:
        run.refresh_from_db()
        assert run.state == "succeeded", load.standing()
        assert on_the_books(load.books, run) == operations(WRITES)
    assert not Step.objects.filter(run__in=load.runs).exclude(asks="").exists()


class Callers(threading.Thread):
    """An agent that starts runs over the API, each with a key of its own, and asks again until it is answered."""

    def __init__(self, url: str, count: int) -> None:
        super().__init__(daemon=True)
        _, token = tokens.make("the shop", "agent")
        self.user = f"u-{time.monotonic_ns()}"
        self.bodies = [self._body(desk(next(orders), *WRITES)) for _ in range(count)]
        self.started: list[str] = []
        self._client = httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=5)

    def run(self) -> None:
        """One request after the other."""
        for number, body in enumerate(self.bodies):
            answer = None
            while answer is None or answer.status_code not in (200, 201):
                answer = self._ask(body, f"{self.user}-{number}")
            self.started.append(answer.json()["id"])
            time.sleep(0.1)

    def are_done(self) -> bool:
        """Every request was answered."""
        return not self.is_alive()

    def _ask(self, body: dict[str, object], key: str) -> httpx.Response | None:
        try:
            return self._client.post("/api/v1/runs", json=body, headers={"Idempotency-Key": key})
        except httpx.TransportError:
            time.sleep(0.05)
            return None

    def _body(self, flow: Flow) -> dict[str, object]:
        steps = [asdict(Proposal(tool, args)) for tool, args in flow.steps]
        shown = [{"tool": step["tool"], "args": step["args"]} for step in steps]
        return {"agent": flow.agent, "user": self.user, "steps": shown, "faults": SLOW}


def _runs(callers: Callers) -> list[Run]:
    return list(Run.objects.filter(thread__user=callers.user))


def _count(callers: Callers) -> int:
    return len(_runs(callers))
