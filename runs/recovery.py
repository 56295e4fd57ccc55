"""The sweep: finds the runs that should be moving and are not, and nudges them. It never executes.

And the questions that nobody answered in time: they escalate (runs/escalating.py).

Expired leases, due retries, answers and cancels whose nudge was lost. A process of its own.
"""

import logging
import threading
from datetime import timedelta

from django.conf import settings
from django.db import DatabaseError, close_old_connections, transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from runs import workers
from runs.escalating import escalate_expired
from runs.models import Run
from runs.queue import nudge, waiting

log = logging.getLogger(__name__)
BATCH = 200


def sweep() -> int:
    """Nudge what could move, none twice within STALWART_RENUDGE_SECONDS. Returns how many.

    At most 200 nudges wait at a time: those that wait are not lost, and the queue must not outgrow the workers.
    """
    room = BATCH - waiting()
    if room <= 0:
        return 0
    pause = timedelta(seconds=settings.RENUDGE_SECONDS)
    with transaction.atomic():
        quiet = Q(nudged_at=None) | Q(nudged_at__lt=Now() - pause)
        runs = Run.objects.with_work().filter(quiet).order_by("pk").select_for_update(skip_locked=True)[:room]
        found = [run.pk for run in runs]
        Run.objects.filter(pk__in=found).update(nudged_at=Now(), nudges=F("nudges") + 1)
        for pk in found:
            nudge(pk)
    return len(found)


def sweep_forever(stop: threading.Event) -> None:
    """Sweep every STALWART_SWEEP_SECONDS until told to stop; a database that is away is waited for.

    Each pass is a beat: when this process was last seen is when it last swept.
    """
    while not stop.is_set():
        try:
            escalate_expired()
            sweep()
            workers.beat(workers.own_name(), kind="sweep")
        except DatabaseError as error:
            log.warning("The sweep could not reach the database, and tries again: %s", error)
            close_old_connections()
        stop.wait(settings.SWEEP_SECONDS)
