"""Who is alive, what each holds, and what waits: what the page Workers, `stalwart workers`, the API and the doctor say.

All of it is read from the rows; the clock is the database's.
"""

import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from django.conf import settings
from django.db.models import DateTimeField, ExpressionWrapper, F, Max, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Greatest

from runs import queue, workers
from runs.models import Attempt, Event, Run, Worker, WorkerOrder
from runs.transitions import clock
from runs.workers import FRESH

State = Literal[
    "alive",
    "working",
    "idle",
    "pausing",
    "paused",
    "resuming",
    "draining",
    "silent",
    "dead",
    "drained",
    "stopped",
]
CHANGING: tuple[State, ...] = ("pausing", "resuming", "draining")
GONE: tuple[State, ...] = ("silent", "dead", "drained", "stopped")
KNOWN_FOR = timedelta(days=1)  # one that is silent is shown for so long
STOPPED_FOR = timedelta(minutes=15)  # and one that has stopped
MOST = 1000  # runs that wait are counted up to here


@dataclass(frozen=True)
class Held:
    """A run that a process carries out. `tool` is the call in flight, '' where there is none just now."""

    run_id: int
    name: str
    owner: str  # of its lease
    since: datetime | None
    until: datetime | None  # its lease; past it, somebody else takes the run over
    tool: str = ""
    sent_at: datetime | None = None


@dataclass(frozen=True)
class Process:
    """A process, as its row and the runs that it holds show it. `order` is the last that it was given."""

    worker: Worker
    state: State
    holds: tuple[Held, ...] = ()
    order: WorkerOrder | None = None

    @property
    def host(self) -> str:
        """The machine that it runs on."""
        return self.worker.name.split(":")[0]

    @property
    def pid(self) -> str:
        """Its process id there."""
        return self.worker.name.partition(":")[2].partition(":")[0]

    @property
    def name(self) -> str:
        """What people say: `web-1:4711`."""
        return f"{self.host}:{self.pid}" if self.pid else self.host

    @property
    def is_carrying(self) -> bool:
        """It is one that carries runs out, and lives."""
        return self.worker.kind == "worker" and self.state not in GONE


@dataclass(frozen=True)
class Backlog:
    """What waits: nudges that nobody has taken, and runs that could move and that nobody holds."""

    nudges: int
    oldest_nudge: datetime | None
    runs: int  # MOST + 1 where there are more than MOST
    oldest_run: datetime | None
    swept_at: datetime | None  # when a sweep last went by


@dataclass(frozen=True)
class Roster:
    """All of it, at one moment."""

    now: datetime
    processes: tuple[Process, ...]
    others: tuple[Held, ...]  # held by none of these: by a program of its own, or by what is long gone
    backlog: Backlog

    @property
    def carrying(self) -> tuple[Process, ...]:
        """The workers that live."""
        return tuple(process for process in self.processes if process.is_carrying)


def roster() -> Roster:
    """Who is there now. A handful of queries, however many runs there are."""
    now, held = clock(), _held()
    found = tuple(processes(now, held))
    families = {workers.family_of(process.worker.name) for process in found}
    others = tuple(run for run in held if workers.family_of(run.owner) not in families)
    return Roster(now, found, others, backlog())


# --- Processes ----------------------------------------------------------------------------------------
KINDS = ("worker", "sweep", "web")


def processes(now: datetime, held: Sequence[Held] = ()) -> list[Process]:
    """Workers first, then sweeps and web servers, each in the order in which they started; those that are gone last."""
    lately = Q(stopped_at=None, seen_at__gt=now - KNOWN_FOR) | Q(stopped_at__gt=now - STOPPED_FOR)
    rows = list(Worker.objects.filter(lately).order_by("pk"))
    orders = _last_orders(row.name for row in rows)
    found = [_process(row, held, orders.get(row.name), now) for row in rows]
    return sorted(found, key=lambda one: (one.state in GONE, KINDS.index(one.worker.kind)))


def _process(row: Worker, held: Sequence[Held], order: WorkerOrder | None, now: datetime) -> Process:
    family = workers.family_of(row.name)
    holds = tuple(run for run in held if family and workers.family_of(run.owner) == family)
    return Process(row, _state(row, bool(holds), now), holds, order)


def _state(row: Worker, holds: bool, now: datetime) -> State:
    if row.stopped_at:
        return "drained" if row.wanted == workers.DRAINED else "stopped"
    if row.seen_at <= now - FRESH - (_pace() if row.kind == "sweep" else timedelta()):
        return "dead" if _is_gone(row) else "silent"
    if row.kind != "worker":
        return "alive"
    if row.wanted == workers.DRAINED or (row.doing == workers.FINISHES and not row.wanted):
        return "draining"
    if row.wanted == workers.PAUSED:
        return "paused" if row.doing == workers.RESTS else "pausing"
    if row.doing == workers.RESTS:
        return "resuming"
    return "working" if holds else "idle"


def _pace() -> timedelta:
    """A sweep beats once in each pass."""
    return timedelta(seconds=settings.SWEEP_SECONDS)


def _is_gone(row: Worker) -> bool:
    """It ran on this machine, where there is no such process any more. Of other machines' nothing is known."""
    host, _, rest = row.name.partition(":")
    return host == socket.gethostname() and not workers.lives(rest.partition(":")[0])


def _held() -> list[Held]:
    """The runs that are held, each with the call that is under way. Whatever is held is moving, so they are few."""
    call = Attempt.objects.filter(
        step__run=OuterRef("pk"), epoch=OuterRef("lease_epoch"), verdict=""
    ).order_by()
    tool, sent_at = (Subquery(call.values(name)[:1]) for name in ("step__tool", "sent_at"))
    runs: Any = Run.objects.held().annotate(tool=tool, sent_at=sent_at).order_by("claimed_at", "pk")
    return [_one_held(run) for run in runs]


def _one_held(run: Any) -> Held:
    return Held(
        run.pk, run.name, run.lease_owner, run.claimed_at, run.lease_expires_at, run.tool or "", run.sent_at
    )


def _last_orders(names: Iterable[str]) -> dict[str, WorkerOrder]:
    newest = WorkerOrder.objects.filter(worker__in=list(names)).order_by("worker", "-pk").distinct("worker")
    return {order.worker: order for order in newest}


def latest_orders(most: int) -> list[WorkerOrder]:
    """What was ordered last, the newest first."""
    return list(WorkerOrder.objects.order_by("-pk")[:most])


# --- What waits ---------------------------------------------------------------------------------------
def backlog() -> Backlog:
    """What waits now."""
    waiting = unheld_since()[: MOST + 1]
    times = [run.idle_since for run in waiting]
    swept = Worker.objects.filter(kind="sweep").aggregate(last=Max("seen_at"))["last"]
    return Backlog(*queue.waiting_since(), len(times), min(times, default=None), swept)


def unheld_since() -> "QuerySet[Any, Any]":
    """The runs that a worker could move and that nobody holds; `idle_since`: from when on nothing has moved them."""
    last = (
        Event.objects.filter(run=OuterRef("pk"))
        .order_by()
        .values("run")
        .annotate(last=Max("at"))
        .values("last")
    )
    return Run.objects.with_work().annotate(
        idle_since=ExpressionWrapper(
            Greatest(Subquery(last), F("due_at"), F("lease_expires_at"), F("created_at")),
            output_field=DateTimeField(),
        )
    )
