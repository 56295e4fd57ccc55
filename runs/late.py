"""Late outcomes: what a call did whose worker had lost the run meanwhile."""

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from runs import ledger, outcomes
from runs.agentfile import AgentSpec
from runs.calls import Sending
from runs.endings import open_ticket
from runs.loading import step_view
from runs.models import Attempt, Event, Run
from runs.moves import after_move
from runs.states import StepState
from runs.transitions import Held, change


def record_late(job: Sending) -> None:
    """The lease was lost while the call was under way: what it did is written on its attempt.

    Whoever holds the run reads it at the next commit (`absorb_late`); the sweep wakes a run that nobody holds.
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
        written = Attempt.objects.filter(pk=job.attempt.pk, verdict="").update(
            late=True, finished_at=Now(), result=job.outcome.result, **said
        )
        if not written:  # it is recorded already: the answer to that commit was lost
            transaction.set_rollback(True)
            return
        data = {**said, "result": job.outcome.result, "attempt": job.attempt.number, "late": True}
        Event.objects.create(
            run_id=step.run_id, step=step, kind="step.late_outcome", actor=job.attempt.worker, data=data
        )


def absorb_late(held: Held, spec: AgentSpec) -> None:
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
            after_move(held, step, spec)
            if before in (StepState.NOT_PERFORMED, StepState.FAILED, StepState.CANCELLED):
                open_ticket(held, "late_outcome")
        change(held, attempt, absorbed=True)
    change(held, held.run, late=False)
