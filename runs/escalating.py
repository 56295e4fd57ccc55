"""A question that nobody answered in time escalates, once. Time never answers it: only people do.

It is raised to the next role (runs/roles.py): its line in the record and the notification of it are for them, and the
list shows it. Who may answer stays as it is, since that role contains the one that the question is for: what a rule
asked for is not relaxed because time went by, and nobody is shut out. So it is no part of the digest, and what somebody
is writing when the time runs out is still taken.
"""

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from runs.models import Event, Run, Step
from runs.roles import above

BATCH = 200
SWEEP = "sweep"


def escalate_expired() -> int:
    """Escalate what is due; returns how many. Of two sweeps at the same time one does it."""
    due = Step.objects.expired().order_by("expires_at")[:BATCH]
    return sum(_escalate(step) for step in list(due))


@transaction.atomic
def _escalate(step: Step) -> bool:
    """Nothing happens where it was answered, asked anew, or escalated meanwhile."""
    to = above(step.approver)
    Run.objects.select_for_update(no_key=True).get(pk=step.run_id)  # before its step, as everybody locks them
    due = Step.objects.expired().filter(pk=step.pk, digest=step.digest)
    if not due.update(escalated_at=Now(), escalated_to=to):
        return False
    Run.objects.filter(pk=step.run_id).update(version=F("version") + 1)  # for those who wait for news of it
    said = {"kind": step.asks, "approver": step.approver, "not_by": step.not_by, "to": to}
    Event.objects.create(run_id=step.run_id, step=step, kind="step.escalated", actor=SWEEP, data=said)
    return True
