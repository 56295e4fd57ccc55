"""The supervisor of one django-q2 cluster, which an operator may have paused or drained (runs/services/ordering.py).

What a cluster does when its processes are killed was found by trying (django-q2 1.11.1). The answers:

    its sentinel is killed       the rest lives on, unowned, and the main process ends with 0
                                 -> each process dies with its parent; the group is swept; a new cluster
    an idle worker is killed     it may take a lock with it: the cluster lives, takes a few nudges more, and does
                                 nothing; the clusters beside it go on, so the queue looks well
                                 -> a cluster that has nudges and nobody at work is replaced
    its supervisor is killed     with a cluster that hangs, nobody is left to replace it
                                 -> it drains, and ends itself and its group if it does not come to an end
    SIGTERM to the whole group   it can hang
                                 -> only the main process is signalled; it drains what was prefetched
"""

import math
import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from multiprocessing.context import ForkProcess
from typing import TypeVar

import cel  # noqa: F401 (else each process of a cluster would load it by itself, with its first run)
import psutil
from django.core.management import call_command
from django.db import DatabaseError, connections

from runs import draining, progress, queue, workers
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
HUNG_SECONDS = 1.0  # for a hung cluster to end by itself: nobody is at work, so there is nothing to wait for


class Supervisor:
    """Keeps one cluster alive until a stop signal comes; then lets it drain."""

    def __init__(
        self,
        signals: StopSignals,
        say: Callable[[str], None],
        *,
        drain_seconds: float,
        stall_seconds: float,
        task_seconds: float,
    ) -> None:
        """`drain_seconds`: how long the calls in flight may take after a signal. `stall_seconds`: a cluster that does
        nothing for so long, though there are nudges, is hung. `task_seconds`: what the queue gives any task."""
        self.signals, self.say = signals, say
        self.drain_seconds, self.stall_seconds = drain_seconds, stall_seconds
        self.task_seconds = task_seconds
        self.name = workers.own_name()
        self.wanted = ""  # by people: workers.PAUSED, workers.DRAINED, or nothing
        self._pulse = Pulse(min(LOOK_SECONDS, stall_seconds / 4))

    def run(self) -> None:
        """Until a stop signal, or until it is drained: start, watch, replace; and rest while it is paused.

        Then let the calls in flight finish, and leave nothing behind.
        """
        pause = FIRST_PAUSE
        while not self._is_over:
            if self.wanted:
                self._rest()
                continue
            started = time.monotonic()
            cluster = _start_cluster(self.drain_seconds)
            reason, patience = self._watch(cluster)
            ordered = self.wanted != ""
            self._end(cluster, patience)
            if self._is_over or ordered:
                continue
            steady = time.monotonic() - started > STEADY_SECONDS
            pause = FIRST_PAUSE if steady else min(2 * pause, LONGEST_PAUSE)
            self.say(f"the cluster {reason}; a new one starts in {pause:.0f} s")
            self.signals.wait(pause)
        self._ask_database(lambda: workers.stopped(self.name))

    @property
    def _is_over(self) -> bool:
        return self.signals.count > 0 or self.wanted == workers.DRAINED

    def _watch(self, cluster: ForkProcess) -> tuple[str, float]:
        """Wait for a stop signal or an order, or for a reason to replace the cluster.

        Returns the reason, and for how many seconds the cluster may finish what it does.
        """
        stall = Stall()
        self._pulse.hurry()
        while not self.signals.wait(0.1):
            if not cluster.is_alive():
                return f"ended ({describe(cluster.exitcode or 0)})", 0.0
            if not self._beat(workers.WORKS):
                continue
            if self.wanted:
                return f"is to be {self.wanted}", self.task_seconds
            idle = self._ask_database(partial(_is_idle, cluster))
            if stall.seconds(progress.counts(), idle=bool(idle)) > self.stall_seconds:
                return "is hung (there are nudges, and it does nothing)", HUNG_SECONDS
        return "was asked to stop", self.drain_seconds

    def _rest(self) -> None:
        """Carry nothing out until it is resumed, drained or told to stop."""
        self.say("paused: no run is taken before it is resumed")
        self._pulse.hurry()
        while self.wanted == workers.PAUSED and not self.signals.wait(0.1):
            self._beat(workers.RESTS)
        if not self._is_over:
            self.say("resumed")

    def _beat(self, doing: str) -> bool:
        """Now and then: say that it lives and what it does, and hear what people want. Returns whether it was time."""
        if not self._pulse.is_due():
            return False
        wanted = self._ask_database(lambda: workers.beat(self.name, doing=doing))
        if wanted is not None:
            self.wanted = wanted
        return True

    def _ask_database(self, question: Callable[[], T]) -> T | None:
        """None while the database does not answer: that is not the cluster's fault."""
        try:
            return question()
        except DatabaseError as error:
            self.say(f"the database does not answer: {error}")
            return None
        finally:
            connections.close_all()  # none may cross the next fork

    def _end(self, cluster: ForkProcess, patience: float) -> None:
        """Let it finish the calls in flight, and sweep up what is left of its group."""
        assert cluster.pid is not None
        if cluster.is_alive():
            draining.ask()
            with suppress(ProcessLookupError):
                os.kill(cluster.pid, signal.SIGTERM)
            self._wait_for_end(cluster, patience)
        with suppress(ProcessLookupError, PermissionError):  # macOS: a group of zombies
            os.killpg(cluster.pid, signal.SIGKILL)
        cluster.join()

    def _wait_for_end(self, cluster: ForkProcess, patience: float) -> None:
        """For so many seconds, or after a stop signal for those of a drain; a second one makes it hurry."""
        told, deadline = self.signals.count, time.monotonic() + patience
        self._pulse.hurry()
        while cluster.is_alive() and time.monotonic() < deadline and self.signals.count < 2:
            cluster.join(0.05)
            if self.signals.count > told:
                told, deadline = self.signals.count, min(deadline, time.monotonic() + self.drain_seconds)
            self._beat(workers.FINISHES)
        if cluster.is_alive():
            self.say(f"the cluster did not finish within {patience:.0f} s, and is killed")


class Pulse:
    """Says when it is time again."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._last = seconds, -math.inf

    def hurry(self) -> None:
        """It is time now."""
        self._last = -math.inf

    def is_due(self) -> bool:
        """Whether so many seconds have passed since this was last true."""
        if time.monotonic() - self._last < self._seconds:
            return False
        self._last = time.monotonic()
        return True


class Stall:
    """For how long a cluster was idle, though there was something to do. A busy one may be slow."""

    def __init__(self) -> None:
        self._counts = progress.Counts(0, 0)
        self._since = time.monotonic()

    def seconds(self, counts: progress.Counts, *, idle: bool) -> float:
        """0 while it is not idle, or has taken or finished a nudge since it was asked last."""
        if not idle or counts != self._counts:
            self._counts, self._since = counts, time.monotonic()
        return time.monotonic() - self._since


def _is_idle(cluster: ForkProcess) -> bool:
    """It has nudges, or could take some, and no process of it is at work."""
    taken, finished = progress.counts()
    return (taken > finished or queue.waiting() > 0) and not progress.any_at_work(_processes_of(cluster))


def _processes_of(cluster: ForkProcess) -> list[int]:
    """Those that live; a dead one stays a zombie where its parent hangs."""
    with suppress(psutil.NoSuchProcess):
        family = psutil.Process(cluster.pid).children(recursive=True)
        return [process.pid for process in family if process.status() != psutil.STATUS_ZOMBIE]
    return []


def _start_cluster(drain_seconds: float) -> ForkProcess:
    """Forked, not executed: Django is loaded already; what `draining` and `progress` say is shared."""
    connections.close_all()
    draining.withdraw()
    progress.count_anew()
    fork = multiprocessing.get_context("fork")
    cluster = fork.Process(target=_run_cluster, args=[drain_seconds], name="cluster")
    cluster.start()
    return cluster


def _run_cluster(drain_seconds: float) -> None:
    os.setsid()  # its own group, so that what is left of it can be found
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _end_when_orphaned(drain_seconds)
    os.register_at_fork(after_in_child=lambda: signal_me_when_parent_dies(signal.SIGTERM))
    call_command("qcluster")


def _end_when_orphaned(drain_seconds: float) -> None:
    """Once its supervisor is dead, a cluster drains as on SIGTERM. One that hangs ends itself, and its whole group."""

    def drain(*_: object) -> None:
        draining.ask()
        signal.setitimer(signal.ITIMER_REAL, drain_seconds)
        os.kill(os.getpid(), signal.SIGTERM)

    signal.signal(signal.SIGUSR1, drain)
    signal.signal(signal.SIGALRM, lambda *_: os.killpg(0, signal.SIGKILL))
    signal_me_when_parent_dies(signal.SIGUSR1)
