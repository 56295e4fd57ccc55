"""Waking workers. The only importer of django-q2: it is used to wake, and holds no truth.

A nudge carries a run's id and nothing else. Duplicate, late, lost and reordered nudges are harmless, because
the claim decides. Enqueueing is part of the caller's transaction.
"""

import logging
import time
from datetime import datetime
from typing import Any

from django.db import InterfaceError, OperationalError
from django.db.models import Count, Min, QuerySet
from django.db.models.functions import Now
from django_q.brokers.orm import ORM
from django_q.models import OrmQ, Task
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


def waiting_since() -> tuple[int, datetime | None]:
    """How many nudges wait to be taken, and when the one that waits longest was due."""
    found = OrmQ.objects.filter(lock__lte=Now()).aggregate(count=Count("pk"), first=Min("lock"))
    return int(found["count"]), found["first"]


def failures(since: datetime) -> int:
    """How many nudges were taken since then, and failed: a worker's log says why."""
    return int(Task.objects.filter(success=False, stopped__gte=since).count())


def leftovers(day_ago: datetime, before: datetime) -> dict[str, QuerySet[Any, Any]]:
    """What nobody needs any more: nudges that nobody took for a day, and failures of tasks before a time.

    The sweep nudges again what still has something to do.
    """
    return {
        "nudges": OrmQ.objects.filter(lock__lt=day_ago),
        "failed tasks": Task.objects.filter(stopped__lt=before),
    }


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
