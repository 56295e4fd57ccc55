"""What an operator does to a run from outside: cancel, undo, resume."""

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from runs import queue
from runs.access import Actor, may_operate
from runs.agentfile import agent
from runs.errors import (
    RunClosed,
    RunLeased,
)
from runs.loading import undoable
from runs.models import Event, Run, Thread
from runs.services.refusals import refuse_if_busy, require
from runs.states import RUN_ENDS, StepState
from runs.transitions import clock


def cancel(actor: Actor, run: Run, reason: str = "") -> None:
    """Ask a live run to stop and undo what it did. A call in flight is not killed. Raises RunClosed, NotAllowed."""
    require(may_operate(actor), "Only an operator may cancel a run; ask one.")
    with transaction.atomic():
        alive = Run.objects.alive().filter(pk=run.pk, cancel_requested_at=None)
        asked = alive.update(
            cancel_requested_at=Now(),
            cancel_requested_by=actor.name,
            cancel_reason=reason,
            version=F("version") + 1,
        )
        if not asked:
            raise RunClosed(
                f"{run.name} has ended, or is being cancelled already; `undo` is for one that has ended."
            )
        Event.objects.create(run=run, kind="run.cancel_requested", actor=actor.name, data={"reason": reason})
        queue.nudge(run.pk)


def undo(actor: Actor, run: Run) -> None:
    """Have a finished run undone, last write first, asking nothing again. Raises RunClosed, ThreadBusy, NotAllowed.

    Refused while another run of its thread is open. What an abandoned rollback left is tried anew.
    """
    require(may_operate(actor), "Only an operator may undo a run; ask one.")
    if not _can_undo(run):
        raise RunClosed(f"{run.name} has nothing that can be undone; what it left is for people.")
    with transaction.atomic():
        ended = Run.objects.filter(pk=run.pk, state__in=RUN_ENDS, undo_requested_at=None)
        asked = ended.update(undo_requested_at=Now(), undo_requested_by=actor.name, version=F("version") + 1)
        if not asked:
            raise RunClosed(
                f"{run.name} has not ended, or is being undone already; cancel a run that is alive."
            )
        thread = Thread.objects.select_for_update(no_key=True).get(pk=run.thread_id)
        refuse_if_busy(thread, but=run.pk)
        Event.objects.create(run=run, kind="run.undo_requested", actor=actor.name)
        queue.nudge(run.pk)


def resume(actor: Actor, run: Run) -> None:
    """Have a worker look at a run now. Raises RunLeased where a live one holds it, RunClosed, NotAllowed."""
    require(may_operate(actor), "Only an operator may resume a run; ask one.")
    with transaction.atomic():
        found = Run.objects.alive().filter(pk=run.pk)
        if not found.exists():
            raise RunClosed(f"{run.name} has ended; there is nothing to resume.")
        if not found.unheld().exists():
            raise RunLeased(
                f"{run.name} is held by {run.lease_owner}; nothing was changed. Try again in a moment."
            )
        found.filter(due_at__isnull=False).update(due_at=Now())  # whatever it waits for: it is tried now
        Event.objects.create(run=run, kind="run.resume_requested", actor=actor.name)
        queue.nudge(run.pk)


def _can_undo(run: Run) -> bool:
    """Some write took effect, names an undo that is still possible, and is not undone."""
    spec, now = agent(run.thread.agent), clock()
    done = run.steps.filter(state=StepState.PERFORMED, undoes=None, replayed=False).select_related("entry")
    return any(undoable(step, spec, now) for step in done)
