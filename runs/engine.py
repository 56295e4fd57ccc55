"""The loop that carries a run out: `advance(run_id)`.

1. Claim the run (transitions.claim), in the transaction of step 2.
2. ONE transaction records the outcome of the last call, asks `next_action` what follows, and records that:
   a move, a question, or the intent of the next call or request. It ends when something must be done outside. Where
   somebody else wrote meanwhile, it leaves nothing, and what follows is decided again.
3. Act outside any transaction: call the tool, look up what became of a call, or ask the model. Back to 2.
4. Release the run in the last transaction, when the action is Wait, Finish or HandOver.

So writes that need no pause cost N + 1 commits. A resume is this same loop on the same rows.
"""

import functools
import os
import secrets
import time
from collections.abc import Callable
from typing import TypeVar

from django.conf import settings
from django.db import connection, transaction

from runs import draining, faults, heartbeat, mishaps, rewind, workers
from runs.actions import (
    Action,
    Ask,
    Check,
    Decide,
    Finish,
    HandOver,
    LookUp,
    Rewind,
    RollBack,
    Send,
    Settle,
    Undo,
    Wait,
)
from runs.agentfile import AgentSpec
from runs.calls import Looking, Sending, Timing, look, send, unrecorded
from runs.deciding import Deciding, decide
from runs.endings import finish, let_go, release, stop
from runs.errors import HeldUp, LeaseLost
from runs.late import absorb_late, record_late
from runs.loading import load_steps, run_view
from runs.mishaps import AWAY, CountFirst, agent_of, refuse_uncounted
from runs.moves import add_undo, check_step, revive_undos, settle
from runs.next_action import next_action
from runs.parking import ask
from runs.states import RunState
from runs.takeover import Reconciling, owed, take_over
from runs.transitions import Held, Overtaken, change, claim, flush, move_run, observe

T = TypeVar("T")
Job = Sending | Looking | Timing | Reconciling | Deciding
OUTAGE_SECONDS = 60  # for how long a database that went away is waited for
OUTAGES = 5  # in a row; more are none
OVERTAKEN_TIMES = 20  # in a row: then a guard is wrong


@functools.cache
def worker_name() -> str:
    """`host:pid:family:random`: the name of this process, unlike that of any other before or after it."""
    return f"{workers.own_name()}:{secrets.token_hex(4)}"


os.register_at_fork(after_in_child=worker_name.cache_clear)


def advance(run_id: int, owner: str = "") -> bool:
    """Carry a run as far as it goes now. False where a live worker holds it, or there is nothing to do.

    What a call did is written down even where the lease was lost meanwhile: as late. A database that goes away
    while the outcome of a call is not written down yet is waited for. Raises HeldUp where a commit failed: the run
    is given back, and tried again after a while (runs/mishaps.py).
    """
    owner = owner or worker_name()
    with heartbeat.holding(run_id, owner):
        return _loop(run_id, owner)


def carry_on(held: Held) -> bool:
    """The same for a run that this process holds already, and keeps the lease of. False where it lost the run."""
    return _loop(held.run.pk, held.owner, held)


def _loop(run_id: int, owner: str, held: Held | None = None) -> bool:
    job: Job | None = None
    counted = False
    turn_ends = time.monotonic() + settings.TURN_SECONDS
    while True:
        done = job
        try:
            go_on = time.monotonic() < turn_ends
            held, job = _commit(run_id, owner, held, job, go_on=go_on, counted=counted)
        except LeaseLost:
            _write_late(job)
            return False
        except CountFirst:
            counted = mishaps.count(run_id)
            if not counted:
                return False
            continue
        except Exception as error:
            _write_late(job)
            mishaps.note(run_id, owner, error, claimed=held is not None, counted=counted)
            raise HeldUp(
                f"R-{run_id} is held up, and is tried again by itself: {type(error).__name__}"
            ) from error
        if done:
            faults.reach("after-outcome", done.call.tool)
        if job is None:
            return held is not None
        faults.reach("after-intent", job.call.tool)
        faults.reach("during-call", job.call.tool)
        job.act()
        faults.reach("after-call", job.call.tool)


def _commit(
    run_id: int, owner: str, held: Held | None, job: Job | None, *, go_on: bool, counted: bool
) -> tuple[Held | None, Job | None]:
    """The one transaction between two calls; the first one claims the run."""
    follows = functools.partial(_go_on, go_on=go_on)
    if held is not None:
        return held, commit(held, job, follows)
    with transaction.atomic():
        held = _take(run_id, owner, counted=counted)
        if held is None:
            return None, None
        job = follows(held, None, agent_of(held))
        flush(held)
    return held, job


def commit(held: Held, job: Job | None, write: Callable[[Held, Job | None, AgentSpec], T]) -> T:
    """One transaction of a run that is held here. Where it did not land, or may not have, it is made again.

    `write` is given what is to be recorded: `job`, or where the rows had to be read again, what they say of it. That
    somebody else wrote meanwhile is no reason to give up; that a guard misses time after time is.
    """
    outages, overtaken = 0, 0
    while True:
        try:
            return _commit_once(held, job, write)
        except Overtaken:
            overtaken += 1
            if overtaken == OVERTAKEN_TIMES:
                raise
        except AWAY:
            outages += 1
            if outages > OUTAGES:
                raise
            _reconnect()
        held.discard()


def _reconnect() -> None:
    """Wait for the database."""
    deadline = time.monotonic() + OUTAGE_SECONDS
    while True:
        connection.close()
        try:
            return connection.ensure_connection()
        except AWAY:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def _write_late(job: Job | None) -> None:
    """What a call did, or a request cost, that cannot be recorded as it should, in spite of an outage or two."""
    outages = 0
    while isinstance(job, Sending | Deciding):
        try:
            record_late(job) if isinstance(job, Sending) else job.record_late()
            break
        except AWAY:
            outages += 1
            if outages > OUTAGES:
                raise
            _reconnect()


def _commit_once(held: Held, job: Job | None, write: Callable[[Held, Job | None, AgentSpec], T]) -> T:
    # What a call did is recorded whatever was written meanwhile; what was only asked may be overruled by it.
    if observe(held, soon=isinstance(job, Sending)):
        job = _read_again(held, job, agent_of(held))
    with transaction.atomic():
        written = write(held, job, agent_of(held))
        flush(held)
    return written


def _go_on(held: Held, job: Job | None, spec: AgentSpec, *, go_on: bool) -> Job | None:
    """Record what became of the last call, and what follows; or give the run back for another turn."""
    if job:
        job.record(held, spec)
        mishaps.over(held)
    if draining.asked() or not go_on:
        let_go(held)
        return None
    return _decide(held, spec)


def _take(run_id: int, owner: str, *, counted: bool) -> Held | None:
    """Claim and load; what is found in flight is in doubt, and the record says so."""
    held = claim(run_id, owner)
    if held is None:
        return None
    if not counted:
        refuse_uncounted(held)
    if held.taken_from:
        faults.reach("take-over")
    if held.run.nudges:
        change(held, held.run, nudges=0)
    held.take(load_steps(held))
    spec = agent_of(held)
    if held.run.late:
        absorb_late(held, spec)
    take_over(held, spec)
    return held


def _read_again(held: Held, job: Job | None, spec: AgentSpec) -> Job | None:
    """The run's row first: what is written to the others after that moves its version, and is seen by the fence."""
    epoch = held.run.lease_epoch
    held.run.refresh_from_db()
    if (held.run.lease_epoch, held.run.lease_owner) != (epoch, held.owner):
        raise LeaseLost
    held.take(load_steps(held))
    if held.run.late:
        absorb_late(held, spec)
    if held.unsure:
        held.unsure = False
        if not (isinstance(job, Deciding) and job.is_open(held)):
            job = unrecorded(held, job, spec)
    return job


def _decide(held: Held, spec: AgentSpec) -> Job | None:
    """Record what follows, until something must be done outside; None where the run is released."""
    if question := owed(held, spec):
        return question
    while True:
        action = next_action(run_view(held, spec))
        if not isinstance(action, Wait | RollBack | HandOver):
            _wake(held)
        match action:
            case Decide(number):
                return decide(held, held.step(number) if number else None, spec)
            case Send(number):
                return send(held, held.step(number), spec)
            case LookUp(number):
                return look(held, held.step(number), spec)
            case Wait():
                release(held, action)
                return None
            case Finish(state):
                finish(held, state, spec)
                return None
            case HandOver():
                stop(held, action)
                finish(held, RunState.HANDED_OVER, spec)
                return None
            case _:
                _record(held, action, spec)


def _record(held: Held, action: Action, spec: AgentSpec) -> None:
    """The actions that change rows only."""
    match action:
        case Check(number):
            check_step(held, held.step(number), spec)
        case Ask(number, kind):
            ask(held, held.step(number), kind, spec)
        case Settle(number, state):
            settle(held, held.step(number), state, spec)
        case Undo(number):
            add_undo(held, held.step(number), spec)
        case RollBack():
            stop(held, action)
            change(held, held.run, undo_requested_at=None, rewound_at=None)
            revive_undos(held)
            move_run(held, RunState.ROLLING_BACK, why=held.run.stop)
        case Rewind():
            faults.reach("rewind")
            rewind.rewind(held, spec)


def _wake(held: Held) -> None:
    """A parked or open run moves again, and the time that it waited for is over."""
    if held.run.due_at and not held.run.failures:  # the pause of what is counted lasts until it gets on
        change(held, held.run, due_at=None)
    if held.run.state in (RunState.WAITING, RunState.OPEN, RunState.READY):
        move_run(held, RunState.RUNNING)
    elif held.run.state == RunState.STUCK:
        move_run(held, RunState.ROLLING_BACK)
