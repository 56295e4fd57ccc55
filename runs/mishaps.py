"""A run that this process cannot carry on: counted, left for a while that grows, and in the end given to a person.

| what happens | when it is counted | after TRIES in a row |
| --- | --- | --- |
| a commit fails: a bug | when it has failed | the run ends `failed`, ticket `internal_error` |
| the process dies each time it takes the run | before it takes it | the same |
| this process does not know its agent, or cannot load it | when it has failed | the run waits on |
| a row does not decode | not at all | at once `failed`, ticket `internal_error` |

An agent that is gone is most often a deploy that is under way, and other workers may know it: time ends no such
run. An operator who cancels it does, after so many tries: `failed`, ticket `agent_gone`. Whatever gets on forgets
what was counted.

Only a claim that may be the death of its process costs a commit of its own: one whose last holder died, or that
the sweep has asked for again and again. Nothing that is stored or logged here has the words of an error in it, but
those of our own configuration: they may hold what a customer said.
"""

import logging
import traceback
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import InterfaceError, InternalError, OperationalError, transaction

from runs import outcomes
from runs.agentfile import AgentSpec, agent
from runs.errors import AgentGone, Damaged, StalwartError
from runs.halts import end_now
from runs.models import Run
from runs.states import RUN_ENDS, RunState
from runs.tools.dispatch import storable
from runs.transitions import Held, change, clock, flush, move_run, record

log = logging.getLogger(__name__)

# The server is away, restarts, was demoted, or gave this session up.
AWAY = (OperationalError, InterfaceError, InternalError)
TRIES = 8  # in a row; with the pauses of production, four minutes
NUDGES = 3  # of the sweep, for which nobody took the run: whoever did may have died of it


class CountFirst(BaseException):
    """This claim may be the death of its process: it is counted before it is made."""


def agent_of(held: Held) -> AgentSpec:
    """The agent of a run. Raises AgentGone, whatever keeps it from being known here."""
    name = held.run.thread.agent
    try:
        return agent(name)
    except Exception as error:
        said = error if isinstance(error, StalwartError) else type(error).__name__
        raise AgentGone(f"the agent {name} cannot be had here: {said}") from error


def refuse_uncounted(held: Held) -> None:
    """Raises CountFirst where the last who took this run may have died of it."""
    if held.taken_from or held.run.nudges >= NUDGES:
        raise CountFirst


def count(run_id: int) -> bool:
    """One more try is on record before it is made. False where it is not to be made: not yet, or never again.

    Of two workers who take such a run at once, one counts and goes on; the other finds that it is not due.
    """
    with transaction.atomic():
        run = Run.objects.unheld().select_for_update(of=("self",)).filter(pk=run_id).first()
        now = clock()
        if run is None or (run.failures and run.due_at and run.due_at > now):
            return False
        if run.failures < TRIES:
            due = now + _pause(run.failures + 1)
            Run.objects.filter(pk=run_id).update(failures=run.failures + 1, due_at=due)
            return True
    end_now(run_id, "internal_error", f"whoever carried it on died, {TRIES} times in a row")
    return False


def over(held: Held) -> None:
    """It got on: what a call did is written down."""
    if held.run.failures:
        change(held, held.run, failures=0, trouble="", due_at=None)


def note(run_id: int, owner: str, error: Exception, *, claimed: bool, counted: bool) -> None:
    """A commit failed, and left nothing: give the run back, for longer each time, or end it.

    `claimed`: an earlier commit of this worker took the run; `counted`: this try is on record already.
    Raises DatabaseError where that cannot be written down either.
    """
    cause = _cause(error)
    tries = _hold_up(run_id, owner, error, cause, claimed=claimed, counted=counted and not claimed)
    if isinstance(error, Damaged) or (tries >= TRIES and not isinstance(error, AgentGone)):
        end_now(run_id, "internal_error", cause)
    elif tries >= TRIES and Run.objects.alive().filter(pk=run_id, cancel_requested_at__isnull=False).exists():
        end_now(run_id, "agent_gone", cause)


@transaction.atomic
def _hold_up(run_id: int, owner: str, error: Exception, cause: str, *, claimed: bool, counted: bool) -> int:
    """Let the run wait, and say why; how many tries there were in a row, 0 where another worker holds it."""
    run = Run.objects.select_for_update(of=("self",)).get(pk=run_id)
    held = Held(run, "", clock())
    if _is_elsewhere(held, owner, error, claimed=claimed):
        return 0
    tries = run.failures + (0 if counted else 1)
    if run.trouble != cause:
        record(held, "run.held_up", data={"cause": cause})
        _log(run, error, cause)
    if claimed:  # a dead worker's lease stays, so that the take-over is seen
        change(held, run, lease_owner="", lease_expires_at=None)
        if run.state == RunState.RUNNING:
            move_run(held, RunState.READY, why="held up")
    kept = (
        min(tries, TRIES - 1) if isinstance(error, AgentGone) else tries
    )  # time ends no run whose agent is gone
    due = held.now + _pause(tries)
    change(held, run, failures=kept, trouble=cause, nudges=0, due_at=due)
    flush(held)
    return tries


def _is_elsewhere(held: Held, owner: str, error: Exception, *, claimed: bool) -> bool:
    """Another worker holds it, or ended it; or the commit landed, and its answer was lost with the connection."""
    run, ours = held.run, held.run.lease_owner == owner
    if run.state in RUN_ENDS and not (run.undo_requested_at or run.late):
        return True
    if claimed:
        return not ours
    if not ours and run.lease_expires_at and run.lease_expires_at > held.now:
        return True
    return isinstance(error, AWAY) and not Run.objects.with_work().filter(pk=run.pk).exists()


def _pause(tries: int) -> timedelta:
    return outcomes.back_off(tries, timedelta(seconds=settings.RETRY_SECONDS))


def _cause(error: Exception) -> str:
    """What went wrong, in words that hold no data: `KeyError in moves.py, line 51`."""
    if isinstance(error, AgentGone | Damaged):
        return storable(str(error))[:500]
    frames = traceback.extract_tb(error.__traceback__)
    here = Path(__file__).parent
    ours = [frame for frame in frames if here in Path(frame.filename).parents] or frames
    where = f" in {Path(ours[-1].filename).name}, line {ours[-1].lineno}" if ours else ""
    return f"{type(error).__name__}{where}"


def _log(run: Run, error: Exception, cause: str) -> None:
    """Once for each cause, with the places of the traceback."""
    places: Any = "".join(traceback.format_tb(error.__traceback__))
    log.error("%s is held up: %s. It is tried again by itself.\n%s", run.name, cause, places)
