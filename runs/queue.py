"""Waking workers. The only importer of django-q2: it is used to wake, and holds no truth.

A nudge carries a run's id and nothing else. Duplicate, late, lost and reordered nudges are harmless, because
the claim decides. Enqueueing is part of the caller's transaction.
"""

from django.db.models.functions import Now
from django_q.models import OrmQ
from django_q.tasks import async_task


def nudge(run_id: int) -> None:
    """Have some worker look at this run."""
    async_task("runs.tasks.advance_run", run_id)


def waiting() -> int:
    """How many nudges wait to be taken."""
    return int(OrmQ.objects.filter(lock__lte=Now()).count())
