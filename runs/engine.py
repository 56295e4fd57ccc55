"""The loop that carries a run out: `advance(run_id)`.

1. Claim the run (transitions.claim), in the transaction of step 2.
2. ONE transaction records the outcome of the last call, asks `next_action` what follows, and records that:
   a move, a question, or the intent of the next call. It ends when something must be done outside.
3. Act outside any transaction: call the tool, or look up what became of a call. Back to 2.
4. Release the run in the last transaction, when the action is Wait, Finish or HandOver.

So writes that need no pause cost N + 1 commits. A resume is this same loop on the same rows.
"""

import functools
import os
import secrets
import socket
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import F
from django.db.models.functions import Now

from runs import draining, heartbeat, ledger, outcomes, rewind
from runs.actions import (
    Action,
    Ask,
    Check,
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
from runs.agentfile import AgentSpec, TaskSection, agent
from runs.errors import LeaseLost
from runs.loading import load_steps, run_view, step_view
from runs.models import Attempt, Event, Message, Run, Step, Thread
from runs.next_action import gives_up, next_action
from runs.parking import ask
from runs.queue import nudge
from runs.replies import reply
from runs.rulebook import Ruling, check
from runs.states import RUN_BACKWARD, UNSENT, EntryState, RunState, StepState
from runs.tools.bindings import Unbindable, bind
from runs.tools.dispatch import Outcome, dispatch
from runs.tools.lookups import Answer, look_up
from runs.tools.registry import Call, Tool
from runs.transitions import ENGINE, Held, change, claim, fence, flush, move_run, move_step, record

OUTAGE_SECONDS = 60  # for how long a database that went away is waited for
UNDO_BUDGET = 4  # an undo has four sends in all


@functools.cache
def worker_name() -> str:
    """The name of this process, unlike that of any other process before or after it."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"


os.register_at_fork(after_in_child=worker_name.cache_clear)


@dataclass
class Sending:
    """A recorded intent: the call that is about to leave."""

    step: int
    attempt: Attempt
    tool: Tool
    args: dict[str, Any]
    call: Call
    outcome: Outcome | None = None

    def act(self) -> None:
        """Call the tool. Never inside a transaction."""
        self.outcome = dispatch(self.tool, self.args, self.call)

    def record(self, held: Held, spec: AgentSpec) -> None:
        """Write down what became of it."""
        assert self.outcome is not None
        step = held.step(self.step)
        view = step_view(held, step, spec)
        changes = outcomes.called(view, self.outcome.verdict, held.now, _pause(view.calls))
        ledger.settle(held, step, self.attempt, self.outcome, changes)
        _after_move(held, step)


@dataclass
class Looking:
    """A question to the service: what became of this key?"""

    step: int
    tool: Tool
    call: Call
    answer: Answer | None = None

    def act(self) -> None:
        """Ask. Never inside a transaction."""
        self.answer = look_up(self.tool, self.call)

    def record(self, held: Held, spec: AgentSpec) -> None:
        """Write down what it said."""
        assert self.answer is not None
        step = held.step(self.step)
        view = step_view(held, step, spec)
        changes = outcomes.looked_up(view, self.answer.said, held.now, _pause(view.lookups + 1))
        said = (
            {"said": self.answer.said, "error": self.answer.error}
            if self.answer.error
            else {"said": self.answer.said}
        )
        record(held, "step.looked_up", step, data=said)
        if step.state == StepState.NOT_PERFORMED and changes.get("state") is StepState.PERFORMED:
            _open_ticket(held, "late_outcome")
        ledger.apply(held, step, changes, result=self.answer.result)
        _after_move(held, step)


Job = Sending | Looking

# Why a run was handed over, where the ticket has another word for it than the stop.
REASONS = {"died": "run_died_mid_sequence"}


def advance(run_id: int, owner: str = "") -> bool:
    """Carry a run as far as it goes now. False where a live worker holds it, or there is nothing to do.

    What a call did is written down even where the lease was lost meanwhile: as late. A database that goes away
    while the outcome of a call is not written down yet is waited for.
    """
    owner = owner or worker_name()
    with heartbeat.holding(run_id, owner):
        return _loop(run_id, owner)


def _loop(run_id: int, owner: str) -> bool:
    held: Held | None = None
    job: Job | None = None
    while True:
        try:
            held, job = _commit(run_id, owner, held, job)
        except LeaseLost:
            if isinstance(job, Sending):
                _record_late(job)
            return False
        except (OperationalError, InterfaceError):
            if held is None or job is None:
                raise  # nothing is known that the rows do not say
            job = _after_outage(held, job)
            continue
        if job is None:
            return held is not None
        job.act()


def _after_outage(held: Held, job: Job) -> Job | None:
    """Wait for the database. What the lost commit did is not known: the rows are read again, and they decide."""
    deadline = time.monotonic() + OUTAGE_SECONDS
    while True:
        connection.close()
        try:
            connection.ensure_connection()
            break
        except OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
    held.discard()
    if not isinstance(job, Sending):
        return None
    job.attempt.refresh_from_db()
    return None if job.attempt.verdict else job


def _commit(run_id: int, owner: str, held: Held | None, job: Job | None) -> tuple[Held | None, Job | None]:
    """The one transaction between two calls."""
    with transaction.atomic():
        if held is None:
            held = _take(run_id, owner)
            if held is None:
                return None, None
        elif fence(held) or held.unsure:
            _read_again(held, agent(held.run.thread.agent))
        spec = agent(held.run.thread.agent)
        if job:
            job.record(held, spec)
        if draining.asked():
            job = None
            _let_go(held)
        else:
            job = _decide(held, spec)
        flush(held)
    return held, job


def _let_go(held: Held) -> None:
    """This process was asked to stop: the call in flight is recorded, and another worker goes on."""
    if held.run.state == RunState.RUNNING:
        move_run(held, RunState.READY, why="the worker is stopping")
    change(held, held.run, lease_owner="", lease_expires_at=None, due_at=None)
    nudge(held.run.pk)


def _take(run_id: int, owner: str) -> Held | None:
    """Claim and load; what is found in flight is in doubt, and the record says so."""
    held = claim(run_id, owner)
    if held is None:
        return None
    held.take(load_steps(held))
    spec = agent(held.run.thread.agent)
    if held.run.late:
        _absorb_late(held, spec)
    for step in held.steps:
        if step.state == StepState.SENT and not step.doubt:
            found = {"found": step.state, "owner": held.taken_from}
            record(held, "step.interrupted", step, data=found)
            ledger.apply(held, step, outcomes.interrupted(step_view(held, step, spec)))
    if held.taken_from:
        _consider_giving_up(held, spec)
    return held


def _consider_giving_up(held: Held, spec: AgentSpec) -> None:
    """The run's worker died: its task says whether it is resumed, or undone and handed over."""
    run, task = held.run, spec.file.tasks.get(held.run.task, TaskSection())
    overdue = run.deadline_at is not None and held.now > run.deadline_at
    if run.state not in RUN_BACKWARD and gives_up(run_view(held, spec), task.recovery, overdue=overdue):
        change(held, run, gave_up=True)
        record(held, "run.gave_up", data={"recovery": task.recovery, "overdue": overdue})


def _read_again(held: Held, spec: AgentSpec) -> None:
    version, lease_owner = held.run.version, held.run.lease_owner
    held.run.refresh_from_db()
    assert (held.run.version, held.run.lease_owner) == (version, lease_owner)
    held.unsure = False
    held.take(load_steps(held))
    if held.run.late:
        _absorb_late(held, spec)


def _decide(held: Held, spec: AgentSpec) -> Job | None:
    """Record what follows, until something must be done outside; None where the run is released."""
    while True:
        action = next_action(run_view(held, spec))
        if not isinstance(action, Wait | RollBack | HandOver):
            _wake(held)
        match action:
            case Send(number):
                return _send(held, held.step(number), spec)
            case LookUp(number):
                return _look(held, held.step(number), spec)
            case Wait():
                _release(held, action)
                return None
            case Finish(state):
                _finish(held, state, spec)
                return None
            case HandOver():
                _stop(held, action)
                _finish(held, RunState.HANDED_OVER, spec)
                return None
            case _:
                _record(held, action, spec)


def _record(held: Held, action: Action, spec: AgentSpec) -> None:
    """The actions that change rows only."""
    match action:
        case Check(number):
            _check(held, held.step(number), spec)
        case Ask(number, kind):
            ask(held, held.step(number), kind, spec)
        case Settle(number, state):
            _settle(held, held.step(number), state, spec)
        case Undo(number):
            _add_undo(held, held.step(number), spec)
        case RollBack():
            _stop(held, action)
            _revive_undos(held)
            move_run(held, RunState.ROLLING_BACK, why=held.run.stop)
        case Rewind():
            rewind.rewind(held)


def _wake(held: Held) -> None:
    """A parked or open run moves again."""
    if held.run.state in (RunState.WAITING, RunState.OPEN, RunState.READY):
        move_run(held, RunState.RUNNING)
    elif held.run.state == RunState.STUCK:
        move_run(held, RunState.ROLLING_BACK)


def _check(held: Held, step: Step, spec: AgentSpec) -> None:
    tool = spec.catalogue.get(step.tool)
    ruling = check(spec, tool, step)
    if ruling.verdict != "refused" and tool is not None:
        ruling = _done_before(held, step, tool, ruling.version) or ruling
    if ruling.verdict == "ask" and _was_approved(step, tool):
        ruling = Ruling("allowed", "approved", ruling.version)
    held.rulings[step.number] = ruling
    held.touch(step)


def _done_before(held: Held, step: Step, tool: Tool, version: str) -> Ruling | None:
    """With `keys: action`, what another run made of this very action of the ticket decides first (S4)."""
    entry = ledger.earlier(held, step, tool)
    if entry is None or entry.state in (EntryState.FAILED, EntryState.NOT_PERFORMED):
        return None
    if entry.state != EntryState.PERFORMED:
        return Ruling("busy", "in_flight_elsewhere", version)
    if entry.steps.filter(state=StepState.UNDONE).exists():
        return Ruling("refused", "undone_since", version)
    change(held, step, entry=entry, replayed=True)
    return Ruling("replayed", "performed_before", version)


def _was_approved(step: Step, tool: Tool | None) -> bool:
    """A person approved this very call, and the tool is still the one that they were shown."""
    moved = step.state in (StepState.APPROVED, StepState.SENT)
    return moved and tool is not None and step.fingerprint == tool.fingerprint


def _send(held: Held, step: Step, spec: AgentSpec) -> Sending:
    tool, ruling = spec.catalogue[step.tool], held.rulings.pop(step.number)
    attempt = ledger.intend(held, step, step_view(held, step, spec), tool, ruling.version)
    return Sending(step.number, attempt, tool, step.args, _call(held, step, tool))


def _call(held: Held, step: Step, tool: Tool) -> Call:
    assert step.entry is not None
    return Call(
        key=step.entry.key,
        tool=step.tool,
        run=held.run.name,
        step=step.number,
        attempt=step.calls,
        timeout=ledger.timeout_of(tool),
        retry_safe=tool.retry_safe,
        fault=held.run.faults.get(step.tool, ""),
    )


def _look(held: Held, step: Step, spec: AgentSpec) -> Looking:
    tool = spec.catalogue[step.tool]
    assert tool.lookup is not None
    return Looking(step.number, spec.catalogue[tool.lookup], _call(held, step, tool))


def _settle(held: Held, step: Step, state: StepState, spec: AgentSpec) -> None:
    """Move a step by the answer it carries, or by what was learnt."""
    answer, actor = step.answer, step.answered_by or ENGINE
    changes = outcomes.settled(step_view(held, step, spec), state)
    if state is StepState.REFUSED:
        changes["error_class"] = held.rulings[step.number].rule
    result = (step.answer_data or {}).get("result") if answer == "happened" else None
    data = {"answer": answer} if answer else {}
    ledger.apply(held, step, changes, result=result, data=data, actor=actor, by_hand=answer == "done_by_hand")
    _after_move(held, step)


def _after_move(held: Held, step: Step) -> None:
    """A write's `undone` and its undo's `performed` are committed together."""
    held.rulings.pop(step.number, None)
    if step.undoes_id and step.state == StepState.PERFORMED:
        write = next(other for other in held.steps if other.pk == step.undoes_id)
        if write.state == StepState.PERFORMED:
            move_step(held, write, StepState.UNDONE, data={"by": step.tool, "step": step.number})


def _add_undo(held: Held, write: Step, spec: AgentSpec) -> None:
    """Bind the undo of a write and add it as a step; one that cannot be bound is not possible, and says why."""
    undo = spec.catalogue[write.tool].undo
    assert undo is not None
    result = write.entry.result if write.entry else None
    try:
        args = bind(undo, spec.tools[undo.tool], write.args, result)
    except Unbindable as error:
        change(held, write, note=str(error))
        record(held, "step.undo_not_possible", write, data={"why": str(error)})
        return
    step = Step.objects.create(
        run=held.run,
        thread=held.run.thread,
        number=_next_number(held),
        tool=undo.tool,
        args=args,
        undoes=write,
        budget=UNDO_BUDGET,
    )
    held.append(step)
    record(held, "step.proposed", step, after=StepState.PROPOSED, data={"undoes": write.number})


def _next_number(held: Held) -> int:
    thread = Thread.objects.select_for_update(no_key=True).get(pk=held.run.thread_id)
    thread.next_step += 1
    thread.save(update_fields=["next_step"])
    return thread.next_step - 1


def _stop(held: Held, action: RollBack | HandOver) -> None:
    """Say why the run stopped, and cancel what was never sent."""
    step = held.step(action.step) if action.step else None
    change(held, held.run, stop=_why(held, action.kind, step))
    for other in held.steps:
        if other.undoes_id is None and other.state in UNSENT:
            move_step(held, other, StepState.CANCELLED, actor=other.answered_by or ENGINE, answer="")


def _revive_undos(held: Held) -> None:
    """An abandoned undo is tried anew when an operator asks for the undo after all."""
    change(held, held.run, undo_requested_at=None)
    for step in held.steps:
        if step.undoes_id and step.state == StepState.CANCELLED:
            afresh = {"budget": step.calls + UNDO_BUDGET, "due_at": None, "doubt": "", "said": ""}
            move_step(held, step, StepState.PROPOSED, **afresh)


def _why(held: Held, kind: str, step: Step | None) -> dict[str, Any]:
    if kind == "cancel_all" and step:
        return {"kind": "cancelled", "by": step.answered_by, "step": step.number}
    if kind == "cancelled":
        return {"kind": "cancelled", "by": held.run.cancel_requested_by}
    if kind == "late" and held.run.stop:
        return dict(held.run.stop)
    if kind == "died":
        return {"kind": "died"}
    if kind == "undo":
        return {"kind": "cancelled", "by": held.run.undo_requested_by}
    assert step is not None
    return {"kind": kind, "step": step.number, "tool": step.tool, "cause": step.error_class}


def _release(held: Held, wait: Wait) -> None:
    """Let the run go, and say who must act."""
    backward = held.run.state in RUN_BACKWARD
    state = {
        "person": RunState.STUCK if backward else RunState.WAITING,
        "agent": RunState.OPEN,
        "time": RunState.ROLLING_BACK if backward else RunState.READY,
    }.get(wait.on)
    if state and state != held.run.state:
        move_run(held, state)
    seen = held.run.cancel_requested_at is not None
    due = wait.until or (held.now + _pause(1) if wait.on == "time" else None)
    change(held, held.run, lease_owner="", lease_expires_at=None, due_at=due, cancel_seen=seen)


def _finish(held: Held, state: RunState, spec: AgentSpec) -> None:
    """End the run with its one reply."""
    for step in held.steps:
        if step.state == StepState.UNDO_STUCK:
            move_step(held, step, StepState.CANCELLED, actor=step.answered_by or ENGINE, answer="")
    text = reply(held.run, held.steps, spec, state)
    summary = held.run.rewound_at is not None
    Message.objects.create(thread=held.run.thread, run=held.run, role="agent", text=text, summary=summary)
    if state in (RunState.HANDED_OVER, RunState.ABANDONED):
        kind = held.run.stop["kind"] if held.run.stop else ""
        _open_ticket(held, "undo_stuck" if state is RunState.ABANDONED else REASONS.get(kind, kind))
    move_run(held, state)
    change(held, held.run, lease_owner="", lease_expires_at=None, due_at=None, undo_requested_at=None)


def _open_ticket(held: Held, reason: str) -> None:
    """Hand the run to a person; its ticket is computed from the rows (runs/handover.py)."""
    if held.run.handover_at is None:
        change(held, held.run, handover_reason=reason, handover_at=held.now)
        record(held, "handover.opened", data={"reason": reason})


def _pause(calls: int) -> timedelta:
    return outcomes.back_off(calls, timedelta(seconds=settings.RETRY_SECONDS))


def _record_late(job: Sending) -> None:
    """The lease was lost while the call was under way: what it did is written on its attempt.

    Whoever holds the run reads it at the next commit (`_absorb_late`); the sweep wakes a run that nobody holds.
    """
    assert job.outcome is not None
    said = {
        "verdict": str(job.outcome.verdict),
        "error_class": job.outcome.error_class,
        "error": job.outcome.error,
    }
    step = job.attempt.step
    with transaction.atomic():
        Run.objects.filter(pk=step.run_id).update(late=True, version=F("version") + 1)
        Attempt.objects.filter(pk=job.attempt.pk, verdict="").update(
            late=True, finished_at=Now(), result=job.outcome.result, **said
        )
        data = {**said, "result": job.outcome.result, "attempt": job.attempt.number, "late": True}
        Event.objects.create(
            run_id=step.run_id, step=step, kind="step.late_outcome", actor=job.attempt.worker, data=data
        )


def _absorb_late(held: Held, spec: AgentSpec) -> None:
    """Let late outcomes settle what is not settled; where a person had said otherwise, a ticket says so."""
    attempts = Attempt.objects.filter(step__run=held.run, late=True, absorbed=False)
    for attempt in attempts.order_by("finished_at"):
        step = held.step_of(attempt.step_id)
        before = step.state
        changes = outcomes.late(step_view(held, step, spec), attempt.verdict)
        if changes:
            data = {"verdict": attempt.verdict, "late": True}
            changes |= {"error_class": attempt.error_class, "error": attempt.error}
            ledger.apply(held, step, changes, result=attempt.result, data=data, actor=attempt.worker)
            _after_move(held, step)
            if before in (StepState.NOT_PERFORMED, StepState.FAILED, StepState.CANCELLED):
                _open_ticket(held, "late_outcome")
        change(held, attempt, absorbed=True)
    change(held, held.run, late=False)
