"""Waking workers. The only importer of django-q2: it is used to wake, and holds no truth.

A nudge carries a run's id and nothing else. Duplicate, late, lost and reordered nudges are harmless, because
the claim decides. Enqueueing is part of the caller's transaction.
"""

import logging
import time

from django.db import InterfaceError, OperationalError
from django.db.models.functions import Now
from django_q.brokers.orm import ORM
from django_q.models import OrmQ
from django_q.tasks import async_task

from runs import progress

log = logging.getLogger(__name__)
OUTAGE_PAUSE = 0.5  # seconds


def nudge(run_id: int) -> None:
    """Have some worker look at this run."""
    async_task("runs.tasks.advance_run", run_id)


def waiting() -> int:
    """How many nudges wait to be taken."""
    return int(OrmQ.objects.filter(lock__lte=Now()).count())


class CountingBroker(ORM):  # type: ignore[misc]  # django-q2 carries no types
    """The queue in the database; of what goes through this cluster its supervisor has a count."""

    def dequeue(self) -> list[tuple[int, str]]:
        """In the one process that takes nudges, which asks again and again. A database that is away is waited for
        here: otherwise the process would sleep for ten seconds, and end."""
        try:
            taken: list[tuple[int, str]] = super().dequeue() or []
        except (OperationalError, InterfaceError) as error:
            log.warning("No nudge can be taken, and it is tried again: %s", error)
            time.sleep(OUTAGE_PAUSE)
            return []
        progress.taken(len(taken))
        return taken

    def acknowledge(self, task_id: int) -> None:
        """In the one process that hears of what was finished; it counts even if the database is away."""
        progress.finished()
        super().acknowledge(task_id)
