"""The run of a saga, held by the process whose program it is: begun, its steps recorded, ended or undone.

It is a run like any other, on the same rows; but nobody proposes its steps beforehand, and this process keeps the
lease until the program is through. Undoing is the engine's: here, or, where this process is gone, in any worker.
"""

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeVar

from django.db import connection, transaction

from runs import faults, heartbeat, ledger
from runs.actions import Action, RollBack, Wait
from runs.agentfile import PROGRAMS, AgentSpec
from runs.calls import Sending, call_of, leave_by
from runs.engine import Job, carry_on, commit, worker_name
from runs.errors import LeaseLost, SagaStopped
from runs.following import Reply, follow
from runs.late import record_late
from runs.loading import run_view, step_view
from runs.models import Event, Run, Step, Thread
from runs.moves import next_number
from runs.next_action import next_action
from runs.programs import TASK, Plan
from runs.rulebook import Ruling
from runs.states import StepState
from runs.takeover import interrupt
from runs.tools.bindings import Unbindable, bind
from runs.tools.dispatch import Outcome, Verdict, failed, performed, storable
from runs.tools.imported import tool_at
from runs.transitions import Held, change, claim, flush, record

T = TypeVar("T")
RULING = Ruling("allowed", "its program", "")  # what allowed a step: no agent, and no rule of one
NOT_CALLED = Outcome(Verdict.RAISED, None, "NotCalled", "The program was stopped before the call was made.")


@dataclass
class Doing:
    """The step under way. How far it has come decides what is recorded of it where the program is stopped in it."""

    plan: Plan
    sending: Sending
    begun: bool = False
    result: Any = None
    unprotected: str = ""  # why its undo cannot be bound to what it returned

    def __enter__(self) -> None:
        """From here on it may take effect; unless so much time passed since it was recorded that it may not leave."""
        if time.monotonic() > self.sending.leave_by:
            raise SagaStopped(f"The database kept {self.plan.name} waiting, so it was not called.")
        self.begun = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """What it returned or raised is its outcome; a process that is told to exit in the middle knows none."""
        if error is None:
            self.sending.outcome = performed(self.plan.tool, self.result)
        elif isinstance(error, Exception):
            self.sending.outcome = failed(error, self.sending.call)


class Undertaking:
    """The run of one saga. LeaseLost where another process took it over, and undoes it."""

    def __init__(self, name: str, ticket: str, by: str) -> None:
        """Create the run and hold it, in one transaction."""
        _refuse_transaction()
        with transaction.atomic():
            thread = Thread.objects.create(agent=PROGRAMS, user=by)
            run = Run.objects.create(
                thread=thread,
                mode="atomic",
                rollback="best_effort",
                opened=True,
                task=TASK,
                subject=name,
                ticket=ticket,
                started_by=by,
            )
            Event.objects.create(
                run=run, kind="run.started", after=run.state, actor=by, data={"agent": PROGRAMS}
            )
            held = claim(run.pk, worker_name())
            assert held is not None
            flush(held)
        self._held = held
        self._doing: Doing | None = None
        self._lease = contextlib.ExitStack()
        self._lease.enter_context(heartbeat.holding(run.pk, held.owner))

    @property
    def name(self) -> str:
        """R-1042."""
        return self._held.run.name

    def let_go(self) -> None:
        """The lease is no longer kept."""
        self._lease.close()

    # --- A step ---------------------------------------------------------------------------------------------

    def intend(self, plan: Plan) -> Doing:
        """Record that this step is about to be carried out. SagaStopped where the run takes no more steps."""
        self._doing = None

        def write(held: Held, job: Job | None, spec: AgentSpec) -> Doing:
            if self._doing and isinstance(job, Sending):  # it landed, though no answer came
                self._doing.sending.attempt = job.attempt
            else:
                self._doing = Doing(plan, _intend(held, spec, plan))
            return self._doing

        doing = self._commit(write)
        faults.reach("after-intent", plan.name)
        faults.reach("during-call", plan.name)
        return doing

    def settle(self) -> None:
        """Record what became of the step, as far as that is known."""
        doing = self._doing
        if doing is None or doing.sending.outcome is None:
            return
        faults.reach("after-call", doing.plan.name)

        def write(held: Held, job: Job | None, spec: AgentSpec) -> None:
            if job:
                job.record(held, spec)
                _protect(held, doing)

        self._commit(write, doing.sending)
        self._doing = None
        faults.reach("after-outcome", doing.plan.name)

    # --- The end --------------------------------------------------------------------------------------------

    def finish(self) -> Reply:
        """The program is through: the run succeeds, unless something stopped it meanwhile; then it is undone."""
        self._commit(lambda held, job, spec: change(held, held.run, closed_at=held.now))
        return self._carry_on()

    def undo(self, error: BaseException) -> Reply:
        """The program raised: undo what it did, last first, whatever can be. Returns where that stands."""

        def write(held: Held, job: Job | None, spec: AgentSpec) -> None:
            self._settle_as_found(held, job, spec)
            _stop(held, spec, error)

        self._held.discard()  # an exit may have come in the middle of a commit: the rows say what was
        self._commit(write, self._doing.sending if self._doing else None)
        return self._carry_on()

    def _settle_as_found(self, held: Held, job: Job | None, spec: AgentSpec) -> None:
        """A step that was not recorded to its end: not called, its outcome known, or in doubt."""
        doing = self._doing
        if doing and isinstance(job, Sending):
            if not doing.begun:
                doing.sending.outcome = NOT_CALLED
            if doing.sending.outcome is not None:
                doing.sending.attempt = job.attempt
                doing.sending.record(held, spec)
            else:
                change(held, job.attempt, verdict=Verdict.IN_DOUBT, finished_at=held.now)
        interrupt(held, spec, "its program stopped")

    def _carry_on(self) -> Reply:
        """The engine does the rest, here; it may let the run go meanwhile, and a worker go on."""
        carry_on(self._held)
        self.let_go()
        return follow(self._held.run.pk, alone=True)

    def _commit(self, write: Callable[[Held, Job | None, AgentSpec], T], sending: Sending | None = None) -> T:
        _refuse_transaction()
        try:
            return commit(self._held, sending, write)
        except LeaseLost:
            self.let_go()
            if sending and sending.outcome is not None:
                record_late(sending)
            raise LeaseLost(f"{self.name} was taken over by another process, which undoes it.") from None


def _refuse_transaction() -> None:
    """A row of an open transaction is not committed: it would not be there when this process dies."""
    if connection.in_atomic_block:
        raise SagaStopped("A saga commits what it is about to do: leave the transaction around it first.")


def _stop(held: Held, spec: AgentSpec, error: BaseException) -> None:
    """What follows is the ordinary rollback. A step that failed, or an operator's cancel, says why; or the program."""
    if isinstance(_next(held, spec), RollBack):
        return
    by, why = f"its program ({type(error).__name__})", storable(str(error))
    change(held, held.run, cancel_requested_at=held.now, cancel_requested_by=by[:200], cancel_reason=why)
    record(held, "run.cancel_requested", actor=held.run.started_by, data={"reason": why})


def _next(held: Held, spec: AgentSpec) -> Action:
    return next_action(run_view(held, spec))


def _intend(held: Held, spec: AgentSpec, plan: Plan) -> Sending:
    action = _next(held, spec)
    if action != Wait("agent"):
        raise SagaStopped(f"{held.run.name} takes no more steps: {_why(held, action)}.")
    step = Step.objects.create(
        run=held.run,
        thread=held.run.thread,
        number=next_number(held),
        tool=plan.name,
        args=plan.args,
        named=plan.named,
    )
    held.append(step)
    faults.reach("before-intent", plan.name)
    attempt = ledger.intend(held, step, step_view(held, step, spec), plan.tool, RULING)
    call = call_of(held, step, plan.tool)
    return Sending(step.number, attempt, plan.tool, plan.args, call, leave_by=leave_by(held, plan.tool))


def _why(held: Held, action: Action) -> str:
    run = held.run
    if run.cancel_requested_at:
        return f"cancelled by {run.cancel_requested_by}"
    last = next((step for step in reversed(held.steps) if step.undoes_id is None), None)
    if isinstance(action, RollBack) and last:
        return f"{last.tool} failed ({last.error_class})"
    return f"{last.tool} is not settled" if last else f"it is {run.state}"


def _protect(held: Held, doing: Doing) -> None:
    """What undoes the step must be possible to bind to what it returned."""
    step, undo = held.step(doing.sending.step), doing.plan.undo
    if undo is None or step.state != StepState.PERFORMED:
        return
    try:
        bind(undo, tool_at(undo.tool), step.args, step.entry.result if step.entry else None)
    except Unbindable as error:
        doing.unprotected = str(error)
        change(held, step, note=str(error))
        record(held, "step.undo_not_possible", step, data={"why": str(error)})
