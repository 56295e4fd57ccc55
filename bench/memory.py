"""What a real worker holds in memory: `manage.py worker`, before and after its runs. Imported once Django is set up."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench import ours
from runs.models import Attempt, Run
from runs.states import RUN_ENDS

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 120.0
MIB = 1024 * 1024
RUNS, WRITES = 200, 3


@dataclass(frozen=True)
class Memory:
    """In MiB: of the largest process that carries out runs, and of all the worker's processes together.

    `rss` counts pages that the processes share for each of them, `together` counts them once (PSS; 0 where the
    system does not say).
    """

    idle_rss: float
    rss: float
    together: float
    processes: int
    runs: int = RUNS


def of_worker() -> Memory:
    """Have a worker carry out its runs, and look at it before and after."""
    command = [sys.executable, "manage.py", "worker"]
    with subprocess.Popen(command, cwd=ROOT, env=os.environ, stdin=subprocess.DEVNULL) as worker:
        try:
            return _watch(psutil.Process(worker.pid))
        finally:
            worker.terminate()


def here() -> float:
    """The RSS of this process, in MiB."""
    return _rss(psutil.Process())


def _watch(worker: psutil.Process) -> Memory:
    _carry_out(1)  # it is up
    family = [worker, *worker.children(recursive=True)]
    idle = {process.pid: _rss(process) for process in family}
    _carry_out(RUNS)
    carriers = {
        int(name.split(":")[1]) for name in Attempt.objects.values_list("worker", flat=True).distinct()
    }
    largest = max((process for process in family if process.pid in carriers), key=_rss)
    return Memory(idle[largest.pid], _rss(largest), sum(map(_pss, family)), len(family))


def _carry_out(runs: int) -> None:
    started = [ours.start(WRITES).pk for _ in range(runs)]
    _wait_for(lambda: not Run.objects.filter(pk__in=started).exclude(state__in=RUN_ENDS).exists())


def _wait_for(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not done():
        if time.monotonic() > deadline:
            raise TimeoutError(f"the worker did not finish its runs within {PATIENCE:.0f} s")
        time.sleep(0.2)


def _rss(process: psutil.Process) -> float:
    return float(process.memory_info().rss) / MIB


def _pss(process: psutil.Process) -> float:
    return float(getattr(process.memory_full_info(), "pss", 0)) / MIB
