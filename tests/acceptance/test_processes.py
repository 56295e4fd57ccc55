"""The worker and the sweep, as real processes: what they do with signals, and with each other's deaths."""

import contextlib
import os
import signal

import psutil
import pytest
from django.db import connection

from runs.queue import nudge, waiting
from tests.processes import Processes, Started, until

pytestmark = pytest.mark.django_db(transaction=True)


def _cluster(worker: Started) -> psutil.Process | None:
    """The main process of the worker's cluster, once its five processes are there."""
    with contextlib.suppress(
        psutil.NoSuchProcess
    ):  # a child that only looks at the agents at the start is gone soon
        for child in psutil.Process(worker.pid).children():
            if len(child.children(recursive=True)) >= 4:
                return child
    return None


def _running_cluster(worker: Started) -> psutil.Process:
    until(lambda: _cluster(worker), f"the cluster; {worker.said()}")
    cluster = _cluster(worker)
    assert cluster is not None
    return cluster


def _somebody_else_uses_the_database() -> bool:
    others = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    with connection.cursor() as cursor:
        cursor.execute(others)
        return cursor.fetchone() is not None


def test_sigterm_stops_a_worker_and_leaves_nothing_behind(processes: Processes) -> None:
    worker = processes.worker()
    cluster = _running_cluster(worker)
    family = [cluster, *cluster.children(recursive=True)]
    assert worker.stop() == 0
    assert psutil.wait_procs(family, timeout=5)[1] == []


def test_a_worker_whose_sentinel_was_killed_gets_a_new_cluster(processes: Processes) -> None:
    worker = processes.worker()
    first = _running_cluster(worker)
    family = [first, *first.children(recursive=True)]
    first.children()[0].kill()
    assert psutil.wait_procs(family, timeout=10)[1] == []
    assert _running_cluster(worker).pid != first.pid
    assert "a new one starts" in worker.said()


def test_a_cluster_that_hangs_does_not_outlive_its_supervisor(processes: Processes) -> None:
    worker = processes.worker(STALWART_DRAIN_SECONDS="1")
    cluster = _running_cluster(worker)
    family = [cluster, *cluster.children(recursive=True)]
    cluster.children()[0].suspend()
    worker.kill()
    assert psutil.wait_procs(family, timeout=10)[1] == []


def test_nudges_are_taken_again_after_idle_workers_were_killed(processes: Processes) -> None:
    """A killed worker may take the lock of the queue with it; the cluster then lives and does nothing."""
    worker = processes.worker(STALWART_STALL_SECONDS="2")
    cluster = _running_cluster(worker)
    for child in cluster.children()[0].children():
        child.kill()
    for _ in range(5):  # more than a hung cluster holds
        nudge(0)  # of no run: it is taken, and that is all
    until(lambda: waiting() == 0, "all to be taken", 40)


def test_a_cluster_that_hangs_beside_a_healthy_one_is_replaced(processes: Processes) -> None:
    """The healthy one takes whatever is due, so that nothing in the queue tells of the other."""
    hung, healthy = [processes.worker(STALWART_STALL_SECONDS="2") for _ in range(2)]
    first, beside = _running_cluster(hung), _running_cluster(healthy)
    # The only one of its pool: while it waits for a nudge it holds the lock of the queue, and dies with it.
    min(first.children()[0].children(), key=lambda process: process.pid).kill()

    def replaced() -> bool:
        nudge(0)
        return "the cluster is hung" in hung.said()

    until(replaced, f"the hung cluster to be replaced; {hung.said()}")
    assert _running_cluster(hung).pid != first.pid
    assert _running_cluster(healthy) == beside
    until(lambda: waiting() == 0, "all to be taken")


def test_the_cluster_ends_when_its_supervisor_is_killed(processes: Processes) -> None:
    worker = processes.worker()
    cluster = _running_cluster(worker)
    family = [cluster, *cluster.children(recursive=True)]
    os.kill(worker.pid, signal.SIGKILL)
    assert psutil.wait_procs(family, timeout=10)[1] == []


def test_sigterm_stops_the_sweep(processes: Processes) -> None:
    sweep = processes.sweep()
    until(_somebody_else_uses_the_database, f"the first sweep; {sweep.said()}")
    assert sweep.stop() == 0
