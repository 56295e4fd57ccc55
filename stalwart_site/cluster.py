"""The supervisor of one django-q2 cluster.

What a cluster does when its processes are killed was found by trying (django-q2 1.11.1). The answers:

    its sentinel is killed       the rest lives on, unowned, and the main process ends with 0
                                 -> each process dies with its parent; the group is swept; a new cluster
    an idle worker is killed     it may take a lock with it: the cluster lives and does nothing
                                 -> nudges are due and none is taken for too long: it is replaced
    SIGTERM to the whole group   it can hang
                                 -> only the main process is signalled; it drains what was prefetched
"""

import multiprocessing
import os
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from multiprocessing.context import ForkProcess
from typing import TypeVar

from django.apps import apps
from django.core.management import call_command
from django.db import DatabaseError, connections
from django.db.models import Count, Max, Q
from django.db.models.functions import Now

from runs import draining, workers
from stalwart_site.processes import (
    FIRST_PAUSE,
    LONGEST_PAUSE,
    STEADY_SECONDS,
    StopSignals,
    describe,
    signal_me_when_parent_dies,
)

T = TypeVar("T")
LOOK_SECONDS = 5.0  # between two looks at the database


class Supervisor:
    """Keeps one cluster alive until a stop signal comes; then lets it drain."""

    def __init__(
        self, signals: StopSignals, say: Callable[[str], None], *, drain_seconds: float, stall_seconds: float
    ) -> None:
        """`drain_seconds`: how long the calls in flight may take. `stall_seconds`: a cluster that takes
        nothing for so long, though nudges are due, is hung."""
        self.signals, self.say = signals, say
        self.drain_seconds, self.stall_seconds = drain_seconds, stall_seconds
        self.name = f"{socket.gethostname()}:{os.getpid()}"

    def run(self) -> None:
        """Until a stop signal: start, watch, replace. Then drain, and leave nothing behind."""
        pause = FIRST_PAUSE
        while not self.signals.count:
            started = time.monotonic()
            cluster = _start_cluster()
            reason = self._watch(cluster)
            self._end(cluster)
            if self.signals.count:
                break
            steady = time.monotonic() - started > STEADY_SECONDS
            pause = FIRST_PAUSE if steady else min(2 * pause, LONGEST_PAUSE)
            self.say(f"the cluster {reason}; a new one starts in {pause:.0f} s")
            self.signals.wait(pause)
        self._ask_database(lambda: workers.stopped(self.name))

    def _watch(self, cluster: ForkProcess) -> str:
        """Wait for a stop signal, or for a reason to replace the cluster; returns the reason."""
        pause = min(LOOK_SECONDS, self.stall_seconds / 4)
        stall, looked = Stall(), -pause
        while not self.signals.wait(0.1):
            if not cluster.is_alive():
                return f"ended ({describe(cluster.exitcode or 0)})"
            if time.monotonic() - looked < pause:
                continue
            looked = time.monotonic()
            self._ask_database(lambda: workers.beat(self.name))
            if (queue := self._ask_database(look_at_queue)) and stall.seconds(queue) > self.stall_seconds:
                return f"is hung ({queue.due} nudges wait, and none is taken)"
        return "was asked to stop"

    def _ask_database(self, question: Callable[[], T]) -> T | None:
        """None while the database does not answer: that is not the cluster's fault."""
        try:
            return question()
        except DatabaseError as error:
            self.say(f"the database does not answer: {error}")
            return None
        finally:
            connections.close_all()  # none may cross the next fork

    def _end(self, cluster: ForkProcess) -> None:
        """Let it finish the calls in flight, and sweep up what is left of its group."""
        assert cluster.pid is not None
        if cluster.is_alive():
            draining.ask()
            with suppress(ProcessLookupError):
                os.kill(cluster.pid, signal.SIGTERM)
            self._wait_for_end(cluster)
        with suppress(ProcessLookupError, PermissionError):  # macOS: a group of zombies
            os.killpg(cluster.pid, signal.SIGKILL)
        cluster.join()

    def _wait_for_end(self, cluster: ForkProcess) -> None:
        """For as long as the calls in flight may take; a second stop signal makes it hurry."""
        deadline = time.monotonic() + self.drain_seconds
        while cluster.is_alive() and time.monotonic() < deadline and self.signals.count < 2:
            cluster.join(0.05)
        if cluster.is_alive():
            self.say(f"the cluster did not finish within {self.drain_seconds:.0f} s, and is killed")


@dataclass(frozen=True)
class Queue:
    """The queue at one moment: how many nudges are due, and a mark that changes whenever one is taken."""

    due: int
    taken: datetime | None


def look_at_queue() -> Queue:
    """A nudge that is taken is locked until it would be given out again, later than any lock before it."""
    nudges = apps.get_model("django_q", "OrmQ")._default_manager
    due = Count("pk", filter=Q(lock__lt=Now()))
    return Queue(**nudges.aggregate(due=due, taken=Max("lock", filter=Q(lock__gte=Now()))))


class Stall:
    """For how long nudges have been due while none was taken. A long queue that moves is no stall."""

    def __init__(self) -> None:
        self._taken: datetime | None = None
        self._since = time.monotonic()

    def seconds(self, queue: Queue) -> float:
        """0 while nothing is due or something is taken."""
        if not queue.due or queue.taken != self._taken:
            self._taken, self._since = queue.taken, time.monotonic()
        return time.monotonic() - self._since


def _start_cluster() -> ForkProcess:
    """Forked, not executed: Django is loaded already, and the byte of `draining` is shared."""
    connections.close_all()
    draining.withdraw()
    cluster = multiprocessing.get_context("fork").Process(target=_run_cluster, name="cluster")
    cluster.start()
    return cluster


def _run_cluster() -> None:
    os.setsid()  # its own group, so that what is left of it can be found
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal_me_when_parent_dies(signal.SIGTERM)
    os.register_at_fork(after_in_child=lambda: signal_me_when_parent_dies(signal.SIGTERM))
    call_command("qcluster")
