"""Waking workers. The only importer of django-q2: it is used to wake, and holds no truth.

A nudge carries a run's id and nothing else. Duplicate, late, lost and reordered nudges are harmless, because
the claim decides. Enqueueing is part of the caller's transaction.
"""

import logging
import mmap
import time
from typing import NamedTuple

from django.db import InterfaceError, OperationalError
from django.db.models.functions import Now
from django_q.brokers.orm import ORM
from django_q.models import OrmQ
from django_q.tasks import async_task

log = logging.getLogger(__name__)
OUTAGE_PAUSE = 0.5  # seconds


def nudge(run_id: int) -> None:
    """Have some worker look at this run."""
    async_task("runs.tasks.advance_run", run_id)


def waiting() -> int:
    """How many nudges wait to be taken."""
    return int(OrmQ.objects.filter(lock__lte=Now()).count())


# --- What one cluster does with them, for the supervisor that forked it ------------------------------------
class Handled(NamedTuple):
    """How many nudges a cluster has taken, and how many of these it has finished.

    One whose worker was killed is never finished.
    """

    taken: int
    finished: int


# Anonymous and shared: forked children see the same two numbers. Each has one writer, so that no lock is
# needed, which somebody who is killed could keep.
_counts = memoryview(mmap.mmap(-1, 16)).cast("Q")


def handled() -> Handled:
    """By the cluster that this process forked."""
    return Handled(_counts[0], _counts[1])


def count_anew() -> None:
    """For a cluster that is forked from now on."""
    _counts[0] = _counts[1] = 0


class CountingBroker(ORM):  # type: ignore[misc]  # django-q2 carries no types
    """The queue in the database, with a count of what goes through this cluster."""

    def dequeue(self) -> list[tuple[int, str]]:
        """In the one process that takes nudges, which asks again and again. A database that is away is waited for
        here: otherwise the process would sleep for ten seconds, and end."""
        try:
            taken: list[tuple[int, str]] = super().dequeue() or []
        except (OperationalError, InterfaceError) as error:
            log.warning("No nudge can be taken, and it is tried again: %s", error)
            time.sleep(OUTAGE_PAUSE)
            return []
        _counts[0] += len(taken)
        return taken

    def acknowledge(self, task_id: int) -> None:
        """In the one process that hears of what was finished; it counts even if the database is away."""
        _counts[1] += 1
        super().acknowledge(task_id)
