"""The long poll: wait until a run changes, and hold nothing of the database meanwhile.

Between two looks there is no transaction and no connection. A waiting request holds a thread of the web
server, so only so many wait at a time in one process; one more is answered at once, and may ask again.
"""

import threading
import time

from django.db import connection

from runs.api.shapes import LONGEST_WAIT
from runs.models import Run
from runs.states import RUN_ENDS, RunState

MOST_WAITING = 8  # half of the threads that `stalwart web` has by itself
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 0.5

_places = threading.BoundedSemaphore(MOST_WAITING)


def wait_for_change(run_id: int, after: int | None, seconds: float) -> None:
    """Return once the run's version is above `after`, or without it once it waits for somebody or has ended.

    Returns after `seconds`, 30 at most, in any case.
    """
    if seconds <= 0 or _changed(run_id, after) or not _places.acquire(blocking=False):
        return
    try:
        _wait(run_id, after, min(seconds, LONGEST_WAIT))
    finally:
        _places.release()


def _wait(run_id: int, after: int | None, seconds: float) -> None:
    deadline, pause = time.monotonic() + seconds, FIRST_PAUSE
    while (left := deadline - time.monotonic()) > 0:
        if not connection.in_atomic_block:  # a test's own transaction stays open
            connection.close()
        time.sleep(min(pause, left))
        if _changed(run_id, after):
            return
        pause = min(pause * 1.5, LONGEST_PAUSE)


def _changed(run_id: int, after: int | None) -> bool:
    run = Run.objects.filter(pk=run_id)
    if after is not None:
        return run.filter(version__gt=after).exists()
    quiet = run.filter(state__in=RUN_ENDS | {RunState.OPEN, RunState.WAITING, RunState.STUCK})
    return quiet.exclude(pk__in=Run.objects.filter(pk=run_id).with_work().values("pk")).exists()
