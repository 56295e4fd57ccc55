"""Seeing a run through until it ends or waits for somebody: the workers carry it out, or we do."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from runs import workers
from runs.engine import advance
from runs.errors import HeldUp
from runs.models import Run
from runs.states import RUN_ENDS, RunState

POLL_SECONDS = 0.05
AT_REST = RUN_ENDS | {RunState.OPEN, RunState.WAITING, RunState.STUCK}


@dataclass(frozen=True)
class Waiting:
    """A question: its kind (confirm, outcome, undo), the step's id and number, the digest that binds the answer."""

    kind: str
    step: int
    digest: str
    id: int
    tool: str
    text: str


@dataclass(frozen=True)
class Reply:
    """`text` is the run's one reply, '' while it waits; `waiting` are the questions that it waits for."""

    text: str
    waiting: tuple[Waiting, ...]
    run: str
    state: str


def reply_of(run_id: int) -> Reply:
    """Where a run stands: its reply where it has ended, and its open questions."""
    run = Run.objects.get(pk=run_id)
    parked = run.steps.asking().order_by("number")
    waiting = tuple(
        Waiting(step.asks, step.number, step.digest, step.pk, step.tool, step.question) for step in parked
    )
    last = run.messages.filter(role="agent").last() if run.state in RUN_ENDS else None
    return Reply(last.text if last else "", waiting, run.name, run.state)


def follow(run_id: int, *, alone: bool = False, before_acting: Callable[[], object] = lambda: None) -> Reply:
    """Wait until nothing more can happen to the run by itself; where no worker is alive, carry it out here.

    Raises HeldUp where it cannot be carried on now (runs/mishaps.py), or every worker is paused.
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
        elif held_up := Run.objects.exclude(trouble="").filter(pk=run_id).first():
            raise HeldUp(f"{held_up.name} is held up, and is tried again by itself: {held_up.trouble}.")
        elif not alone and workers.all_paused() and Run.objects.unheld().filter(pk=run_id).exists():
            raise HeldUp(f"R-{run_id} waits: every worker is paused. `stalwart workers resume` resumes them.")
        time.sleep(POLL_SECONDS)


def _at_rest(run_id: int) -> bool:
    """In one statement: between two, a worker may take the run."""
    moving = Run.objects.with_work().filter(pk=run_id)
    resting = Run.objects.unheld().filter(pk=run_id, state__in=AT_REST)
    return resting.exclude(pk__in=moving.values("pk")).exists()
