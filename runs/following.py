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
    while True:
        if _at_rest(run_id):
            reply = reply_of(run_id)
            if reply.waiting or reply.state in RUN_ENDS | {RunState.OPEN}:
                return reply  # otherwise it moved on while we looked
        elif (alone or not workers.alive()) and Run.objects.with_work().filter(pk=run_id).exists():
            before_acting()
            advance(run_id)
            continue
        time.sleep(POLL_SECONDS)


def _at_rest(run_id: int) -> bool:
    """In one statement: between two, a worker may take the run."""
    moving = Run.objects.with_work().filter(pk=run_id)
    resting = Run.objects.unheld().filter(pk=run_id, state__in=AT_REST)
    return resting.exclude(pk__in=moving.values("pk")).exists()
