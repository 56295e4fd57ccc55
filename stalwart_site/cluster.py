"""The supervisor of one django-q2 cluster.

What a cluster does when its processes are killed was found by trying (django-q2 1.11.1), and is answered here:

    its sentinel is killed          the rest lives on, unowned, and the main process ends with 0
                                    -> each process dies with its parent; the group is swept; a new cluster starts
    an idle worker is killed        it may take a lock with it: the cluster lives and does nothing
                                    -> nudges that nobody takes for too long: the cluster is replaced
    SIGTERM to the whole group      it can hang
                                    -> only the main process is signalled; it drains what was prefetched
"""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.context import ForkProcess

from django.core.management import call_command
from django.db import Error as DatabaseError
from django.db import connections

from stalwart_site import draining
from stalwart_site.processes import FIRST_PAUSE, LONGEST_PAUSE, STEADY_SECONDS, StopSignals, describe
from stalwart_site.processes import signal_me_when_parent_dies as die_with_parent

WATCH_SECONDS = 5.0  # between two looks at the queue


class Supervisor:
    """Keeps one cluster alive until a stop signal comes; then lets it drain."""

    def __init__(
        self,
        signals: StopSignals,
        say: Callable[[str], None],
        *,
        drain_seconds: float,
        stall_seconds: float,
        oldest_nudge_seconds: Callable[[], float],
    ) -> None:
        """`drain_seconds`: how long the calls in flight may take. `oldest_nudge_seconds()`: how long the oldest
        due nudge has waited; past `stall_seconds` the cluster counts as hung."""
        self.signals, self.say = signals, say
        self.drain_seconds, self.stall_seconds = drain_seconds, stall_seconds
        self.oldest_nudge_seconds = oldest_nudge_seconds

    def run(self) -> None:
        """Until a stop signal: start, watch, replace. Then drain, and leave nothing behind."""
        pause = FIRST_PAUSE
        while not self.signals.count:
            started = time.monotonic()
            cluster = _start_cluster()
            reason = self._watch(cluster)
            self._end(cluster)
            if self.signals.count:
                return
            pause = (
                FIRST_PAUSE if time.monotonic() - started > STEADY_SECONDS else min(2 * pause, LONGEST_PAUSE)
            )
            self.say(f"the cluster {reason}; a new one starts in {pause:.0f} s")
            self.signals.wait(pause)

    def _watch(self, cluster: ForkProcess) -> str:
        """Wait for a stop signal, or for a reason to replace the cluster."""
        started = looked = time.monotonic()
        while not self.signals.wait(0.1):
            if not cluster.is_alive():
                return f"ended ({describe(cluster.exitcode or 0)})"
            now = time.monotonic()
            if now - looked > WATCH_SECONDS and now - started > self.stall_seconds:
                looked = now
                if (waited := self._oldest_nudge()) > self.stall_seconds:
                    return f"is hung (a nudge has waited for {waited:.0f} s)"
        return "was asked to stop"

    def _oldest_nudge(self) -> float:
        """0 while the database does not answer: that is not the cluster's fault."""
        try:
            return self.oldest_nudge_seconds()
        except DatabaseError as error:
            self.say(f"the queue cannot be read: {error}")
            return 0.0
        finally:
            connections.close_all()  # none may cross the next fork

    def _end(self, cluster: ForkProcess) -> None:
        """Let it finish the calls in flight, and sweep up what is left of its group."""
        if cluster.is_alive() and cluster.pid is not None:
            draining.ask()
            with suppress(ProcessLookupError):
                os.kill(cluster.pid, signal.SIGTERM)
            deadline = time.monotonic() + self.drain_seconds
            while cluster.is_alive() and time.monotonic() < deadline and self.signals.count < 2:
                cluster.join(0.1)
            if cluster.is_alive():
                self.say(f"the cluster did not finish within {self.drain_seconds:.0f} s and is killed")
        if cluster.pid is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(cluster.pid, signal.SIGKILL)
        cluster.join()


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
    die_with_parent(signal.SIGTERM)
    os.register_at_fork(after_in_child=lambda: die_with_parent(signal.SIGTERM))
    call_command("qcluster")
