"""A site under attack: workers, a sweep and a web server as real processes, whose parts are killed by role.

What a machine's supervisor would do is done here too: `repair` starts again what has ended. The parts of a
worker are its own supervisor's to replace, after a pause that doubles each time; before it grows long, `relieve`
puts another worker in the place of that one.
"""

import os
import signal
from collections.abc import Collection, Mapping
from contextlib import suppress

import psutil

from runs.models import Attempt
from stalwart_site.ports import free_port, status_of
from tests.processes import PATIENCE, Processes, Started, until

ROLES = ("busy worker", "idle worker", "cluster", "sentinel", "sweep", "web")
TIRED = 2  # clusters lost


class Site:
    """The processes of one installation. `settings` are theirs, by name."""

    def __init__(self, processes: Processes, settings: Mapping[str, str], workers: int = 2) -> None:
        self._processes, self._settings = processes, settings
        self._port = free_port()
        self._lost: dict[int, int] = {}  # pid of a worker -> how many of its clusters we killed
        self.workers = [self._worker() for _ in range(workers)]
        self.sweep = processes.sweep(**settings)
        self.web = self._web()

    @property
    def url(self) -> str:
        """Where the web server answers."""
        return f"http://127.0.0.1:{self._port}"

    def wait_until_open(self) -> None:
        """Until the web server answers, and each worker has its processes."""
        until(lambda: status_of(f"{self.url}/health") == 200, f"the web server; {self.web.said()}")
        until(lambda: all(_pool(worker) for worker in self.workers), "the clusters of the workers")

    def kill(self, role: str, busy: Collection[int] = ()) -> int:
        """kill -9 of one process of this role; `busy` are the pids that have a call in flight. Its pid."""
        killed = 0

        def one_is_killed() -> int:
            nonlocal killed
            killed = self.kill_if_any(role, busy)
            return killed

        until(one_is_killed, f"a process to kill: {role}")
        return killed

    def kill_if_any(self, role: str, busy: Collection[int] = ()) -> int:
        """The same; 0 where there is no such process just now."""
        pid = self._pid_of(role, busy)
        if pid:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            until(lambda: _is_gone(pid), f"the {role} to be gone")
        return pid

    def repair(self) -> None:
        """Start again what has ended."""
        for index, worker in enumerate(self.workers):
            if worker.process.poll() is not None:
                self.workers[index] = self._worker()
        if self.sweep.process.poll() is not None:
            self.sweep.kill()
            self.sweep = self._processes.sweep(**self._settings)
        if self.web.process.poll() is not None:
            self.web.kill()  # what it left behind in its group holds the port
            self.web = self._web()

    def relieve(self) -> None:
        """Replace the workers that have lost too many clusters."""
        for index, worker in enumerate(self.workers):
            if self._lost_by(worker) >= TIRED:
                self.workers[index] = self._worker()
                worker.process.terminate()

    def deploy(self) -> None:
        """SIGTERM to every worker, as a deploy does, and new ones in their place; each must have ended well."""
        old, self.workers = self.workers, [self._worker() for _ in self.workers]
        for worker in old:
            worker.process.terminate()
        for worker in old:
            code = worker.process.wait(PATIENCE)
            assert code == 0, f"a worker ended with {code}: {worker.said()}"

    def said(self) -> str:
        """What all of them wrote."""
        return "\n".join(started.said() for started in [*self.workers, self.sweep, self.web])

    def _pid_of(self, role: str, busy: Collection[int]) -> int:
        if role == "sweep":
            return self.sweep.pid
        if role == "web":
            return self.web.pid
        # The one that has lost least: its supervisor's pauses are short.
        for worker in sorted(self.workers, key=self._lost_by):
            pid = _part(worker, role, busy)
            if pid:
                self._lost[worker.pid] = self._lost.get(worker.pid, 0) + (role != "busy worker")
                return pid
        return 0

    def _lost_by(self, worker: Started) -> int:
        """How many clusters it lost: those we killed, and those it gave up itself."""
        return self._lost.get(worker.pid, 0) + worker.said().count("the cluster is hung")

    def _worker(self) -> Started:
        return self._processes.worker(**self._settings)

    def _web(self) -> Started:
        return self._processes.start("web", "--port", str(self._port), **self._settings)


def _part(worker: Started, role: str, busy: Collection[int]) -> int | None:
    """The pid of a part of a worker; None where there is none now."""
    with suppress(psutil.Error):
        pool = _pool(worker)
        if not pool:
            return None
        sentinel = pool[0].parent()
        if role == "busy worker":
            return next((process.pid for process in pool if process.pid in busy), None)
        if role == "idle worker":
            return next((process.pid for process in pool if process.pid not in busy), None)
        if sentinel and role == "sentinel":
            return sentinel.pid
        cluster = sentinel.parent() if sentinel else None
        return cluster.pid if cluster and cluster.pid != worker.pid else None
    return None


def _pool(worker: Started) -> list[psutil.Process]:
    """worker -> cluster -> sentinel -> these: those that carry runs out, a pusher, a monitor."""
    with suppress(psutil.Error):
        for cluster in psutil.Process(worker.pid).children():
            for sentinel in cluster.children():
                pool = sentinel.children()
                return sorted(pool, key=lambda process: process.pid) if len(pool) >= 3 else []
    return []


def _is_gone(pid: int) -> bool:
    """Dead, even if its parent has not noticed yet. Its last thread may die after its first, which is a zombie
    meanwhile; until then the parent is told that it runs."""
    try:
        process = psutil.Process(pid)
        return process.status() == psutil.STATUS_ZOMBIE and process.num_threads() <= 1
    except psutil.NoSuchProcess:
        return True


def pid_of(attempt: Attempt) -> int:
    """The process that sent a call: `host:pid:random`."""
    return int(attempt.worker.split(":")[1])
