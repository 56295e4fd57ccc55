"""Seeing a run through until it ends or waits for somebody: the workers carry it out, or we do."""

import time
from collections.abc import Callable

from runs import workers
from runs.agents import Reply, reply_of
from runs.engine import advance
from runs.models import Run
from runs.states import RUN_ENDS, RunState

POLL_SECONDS = 0.05
AT_REST = RUN_ENDS | {RunState.OPEN, RunState.WAITING, RunState.STUCK}


def follow(run_id: int, *, alone: bool = False, before_acting: Callable[[], object] = lambda: None) -> Reply:
    """Wait until nothing more can happen to the run by itself; where no worker is alive, carry it out here.

    `alone`: no worker can be alive, whatever the table of workers says. `before_acting` is called before this
    process sends anything.
    """
    while not _at_rest(run_id):
        if not alone and workers.alive():
            time.sleep(POLL_SECONDS)
        elif Run.objects.with_work().filter(pk=run_id).exists():
            before_acting()
            advance(run_id)
        else:
            time.sleep(POLL_SECONDS)
    return reply_of(run_id)


def _at_rest(run_id: int) -> bool:
    resting = Run.objects.unheld().filter(pk=run_id, state__in=AT_REST).exists()
    return resting and not Run.objects.with_work().filter(pk=run_id).exists()
