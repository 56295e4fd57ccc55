"""What may be deleted, and when. Never the record: what agents and people did, and what became of it, stays.

| what | goes | why nothing is lost |
| --- | --- | --- |
| nudges that no worker took | after a day | they only wake; the sweep nudges again what has something to do |
| failed queue tasks | after `days` | they hold no truth; the worker's log said why |
| keys of API requests | after `days`, once their run has ended | a request that is sent again later is a new one |
| messages | sent or given up, after `days` | the record says what they told |
| workers | stopped, or silent, for a day | they hold nothing |
| sessions | once expired | their people sign in again |
| sign-ins | after `days` | attempts older than that lock nobody out |

Threads, messages, runs, steps, ledger entries, attempts, events, answers, claims, notes and tokens are kept.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.contrib.sessions.models import Session
from django.db.models import Q, QuerySet

from approvals.models import Delivery
from runs import queue
from runs.models import IdempotencyRecord, Worker
from runs.states import RUN_ENDS
from runs.transitions import clock

DAYS = 30
DAY = timedelta(days=1)
BATCH = 1000  # rows deleted in one statement: nobody waits long for one


@dataclass(frozen=True)
class Heap:
    """Rows of one kind that may go."""

    name: str
    rows: QuerySet[Any, Any]

    def count(self) -> int:
        """How many there are."""
        return self.rows.count()

    def delete(self) -> int:
        """Delete them, some at a time; returns how many."""
        deleted = 0
        while keys := list(self.rows.order_by("pk").values_list("pk", flat=True)[:BATCH]):
            deleted += self.rows.model._default_manager.filter(pk__in=keys).delete()[0]
        return deleted


def heaps(days: int = DAYS) -> list[Heap]:
    """All that may go now, by the database's clock."""
    now = clock()
    before, day_ago = now - timedelta(days=days), now - DAY
    ended = Q(run=None) | Q(run__state__in=RUN_ENDS)
    silent = Q(stopped_at__lt=day_ago) | Q(seen_at__lt=day_ago)
    return [
        *(Heap(name, rows) for name, rows in queue.leftovers(day_ago, before).items()),
        Heap("request keys", IdempotencyRecord.objects.filter(ended, created_at__lt=before)),
        Heap("messages", Delivery.objects.exclude(state="waiting").filter(created_at__lt=before)),
        Heap("workers", Worker.objects.filter(silent)),
        Heap("sessions", Session.objects.filter(expire_date__lt=now)),
        Heap("sign-in attempts", AccessAttempt.objects.filter(attempt_time__lt=before)),
        Heap("sign-in failures", AccessFailureLog.objects.filter(attempt_time__lt=before)),
        Heap("sign-ins", AccessLog.objects.filter(attempt_time__lt=before)),
    ]
