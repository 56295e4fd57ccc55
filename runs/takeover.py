"""What becomes of a run whose worker died (docs/recovery.md).

1. What was being sent is in doubt, a read runs again, and the record says so, with the cause.
2. Its agent's `reconcile` function, where it has one, sees the run first (S3): outside any transaction, under the
   lease. `Run.died` says that it is owed, and the commit that records its answer clears it. So a crash while or
   just after the function ran has it asked again, and no answer is recorded twice. Where the rows changed
   meanwhile (a late outcome, a proposal), the answer is of rows that are no more, and it is asked again too.
3. Its task's recovery says whether it is resumed, or undone and handed over (S1).

What the promise makes of the answers. `continue` claims nothing, so a call in doubt stays in doubt: it is looked up
or asked about like any other, and never sent again because somebody said "go on". `completed` is the word of code
that looked at the world, as a lookup's *happened* is: the call is taken as performed, and the run as finished; but
an operator's cancel, a step that failed and a recovery that was decided before still stop the run. `waiting`
asks whether a call in doubt took effect; it never offers to approve a call that may have been made already.
"""

import copy
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from runs import ledger, outcomes
from runs.agentfile import AgentSpec, TaskSection
from runs.endings import finish
from runs.halts import halt
from runs.loading import is_halted, run_view, step_view
from runs.models import Step
from runs.moves import after_move, cancel_unsent
from runs.next_action import gives_up, may_be_completed
from runs.parking import ask
from runs.states import RUN_FORWARD, STEP_ENDS, RunState, StepState
from runs.tools.reconciling import FoundRun, FoundStep, Reconcile, Reconciliation, consult
from runs.tools.registry import Call
from runs.transitions import Held, change, record
from runs.workers import cause_of_death

Facts = tuple[tuple[Any, ...], ...]


def take_over(held: Held, spec: AgentSpec) -> None:
    """Say what was interrupted; where the worker died, its agent's function is owed, or its task decides."""
    cause = cause_of_death(held.taken_from, held.lease_ended or held.now) if held.taken_from else "given back"
    interrupt(held, spec, cause)
    if held.taken_from and _goes_forward(held):
        if spec.reconcile:
            change(held, held.run, died=cause)
        else:
            consider_giving_up(held, spec)


def interrupt(held: Held, spec: AgentSpec, cause: str) -> None:
    """What is found being sent, and nobody waits for its answer any more, is in doubt; a read runs again.

    So does a request to the model: it changes nothing outside.
    """
    for step in held.steps:
        asked = step.state == StepState.DECIDING and held.taken_from and not step.due_at
        sent = step.state == StepState.SENT and not step.doubt
        if asked or sent:
            found = {"found": step.state, "owner": held.taken_from, "cause": cause}
            record(held, "step.interrupted", step, data=found)
        if sent:
            ledger.apply(held, step, outcomes.interrupted(step_view(held, step, spec)))


def _goes_forward(held: Held) -> bool:
    """A run that is being undone, or that was halted, has been decided on."""
    return held.run.state in RUN_FORWARD and not is_halted(held.run)


def consider_giving_up(held: Held, spec: AgentSpec) -> None:
    """The run's worker died: its task says whether it is resumed, or undone and handed over."""
    run, task = held.run, spec.file.tasks.get(held.run.task, TaskSection())
    overdue = run.deadline_at is not None and held.now > run.deadline_at
    if gives_up(run_view(held, spec), task.recovery, overdue=overdue):
        change(held, run, gave_up=True)
        record(held, "run.gave_up", data={"recovery": task.recovery, "overdue": overdue})


def owed(held: Held, spec: AgentSpec) -> "Reconciling | None":
    """The question to the agent's function that must be answered before the run goes on; None where there is none."""
    run = held.run
    if not run.died:
        return None
    if spec.reconcile and _goes_forward(held):
        call = Call(key="", tool="reconcile", run=run.name)
        return Reconciling(spec.reconcile, found(held, spec), _facts(held), call)
    change(held, run, died="")  # it was deployed without the function, or decided on meanwhile
    if _goes_forward(held):
        consider_giving_up(held, spec)
    return None


@dataclass
class Reconciling:
    """The question to an agent's `reconcile` function; `call` names it for the fault points (runs/faults.py)."""

    function: Reconcile
    run: FoundRun
    facts: Facts
    call: Call
    answer: Reconciliation | None = None

    def act(self) -> None:
        """Ask. Never inside a transaction."""
        self.answer = consult(self.function, self.run)

    def record(self, held: Held, spec: AgentSpec) -> None:
        """Write down what it said, and what follows."""
        assert self.answer is not None
        if self.facts != _facts(held):
            return
        change(held, held.run, died="")
        step, answer = interrupted(held), self.answer
        said = {"outcome": answer.outcome, "detail": answer.detail, "result": answer.result}
        record(held, "run.reconciled", data={"step": step.number if step else None, **said})
        match answer.outcome:
            case "continue":
                consider_giving_up(held, spec)
            case "completed":
                _complete(held, step, answer.result, spec)
            case "waiting":
                _ask_a_person(held, step, answer.detail, spec)
            case "conflict":
                halt(held, "reconcile_conflict", answer.detail or "its agent's function says no more")
            case _:  # what its error says is in the record alone, for it may hold what a customer said
                halt(held, "internal_error", answer.detail.partition(":")[0])


def _complete(held: Held, step: Step | None, result: Any, spec: AgentSpec) -> None:
    if step:
        changes = {"state": StepState.PERFORMED, "answer": ""}
        ledger.apply(held, step, changes, result=result, data={"reconciled": True})
        after_move(held, step, spec)
    if may_be_completed(run_view(held, spec)):
        cancel_unsent(held)
        finish(held, RunState.SUCCEEDED, spec)


def _ask_a_person(held: Held, step: Step | None, detail: str, spec: AgentSpec) -> None:
    """A call in doubt: did it take effect? A read: may it run again? With a new digest in either case."""
    if step is None:
        halt(held, "reconcile_conflict", "reconcile waits for a person, and no call was interrupted")
    elif (why := _cannot_wait(step, spec)) != "":
        halt(held, "reconcile_conflict", f"reconcile waits for a person, and {why}")
    else:
        ask(held, step, "outcome" if step.state == StepState.SENT else "confirm", spec, detail)
        consider_giving_up(held, spec)


def _cannot_wait(step: Step, spec: AgentSpec) -> str:
    tool = spec.tools.get(step.tool)
    if tool is None:
        return f"{step.tool} is no tool of {spec.name} any more"
    return "" if tool.still_takes(step.args) else f"{step.tool} does not take its arguments any more"


def interrupted(held: Held) -> Step | None:
    """The call that was under way when the worker died: in doubt, or a read that will run again."""
    forward = (step for step in held.steps if step.undoes_id is None and step.state not in STEP_ENDS)
    step = next(forward, None)
    under_way = step and (step.state == StepState.SENT or (step.state == StepState.APPROVED and step.calls))
    return step if under_way else None


def _facts(held: Held) -> Facts:
    """What an answer of the function is about."""
    return tuple((step.number, step.state, step.doubt, step.calls) for step in held.steps)


def found(held: Held, spec: AgentSpec) -> FoundRun:
    """The run as the function sees it: copies, so that it cannot change what we hold."""
    run, at = held.run, interrupted(held)
    steps = {step.number: _found_step(held, step, spec) for step in held.steps}
    return FoundRun(
        run=run.name,
        agent=run.thread.agent,
        user=run.thread.user,
        thread=str(run.thread_id),
        task=run.task,
        ticket=run.ticket,
        subject=run.subject,
        cause=run.died,
        cancelled=run.cancel_requested_at is not None,
        open=run.opened and run.closed_at is None,
        started_at=_time(run.created_at),
        deadline_at=_time(run.deadline_at),
        steps=tuple(steps.values()),
        interrupted=steps[at.number] if at else None,
    )


def _found_step(held: Held, step: Step, spec: AgentSpec) -> FoundStep:
    return FoundStep(
        number=step.number,
        tool=step.tool,
        args=copy.deepcopy(step.args),
        state=str(step.state),
        writes=step_view(held, step, spec).writes,
        key=step.entry_id or "",
        calls=step.calls,
        doubt=step.doubt,
        result=copy.deepcopy(step.entry.result) if step.entry else None,
        error_class=step.error_class,
        error=step.error,
        undoes=step.undoes.number if step.undoes else None,
        answered_by=step.answered_by,
        sent_at=_time(step.sent_at),
        ended_at=_time(step.ended_at),
    )


def _time(moment: datetime | None) -> str:
    return moment.astimezone(UTC).isoformat() if moment else ""
