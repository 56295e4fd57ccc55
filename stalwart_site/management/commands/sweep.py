"""`stalwart sweep`: finds what is due or was left behind, and wakes the workers for it; beside that, messages leave."""

import threading
from contextlib import suppress
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from approvals.delivering import deliver_forever
from runs import workers
from runs.recovery import sweep_forever
from stalwart_site.processes import StopSignals


class Command(BaseCommand):
    """Exit codes: 0 stopped by a signal, 1 the sweep ended by itself."""

    help = "Run the sweep until SIGTERM. Several may run; they do not disturb each other."
    requires_system_checks: list[str] = []  # noqa: RUF012 (Django's own name and type)

    def handle(self, *args: Any, **options: Any) -> None:
        signals, stop = StopSignals(), threading.Event()
        sweeper = threading.Thread(target=sweep_forever, args=(stop,), name="sweep", daemon=True)
        sweeper.start()
        # In a thread of its own: a receiver that is slow keeps no run waiting.
        messenger = threading.Thread(target=deliver_forever, args=(stop,), name="messenger", daemon=True)
        messenger.start()
        while sweeper.is_alive() and not signals.wait(0.5):
            pass
        ended_by_itself = not signals.count
        stop.set()
        sweeper.join(timeout=10)
        messenger.join(timeout=1)  # what is being sent is tried again by the next one, under the same id
        with suppress(DatabaseError):
            workers.stopped(workers.own_name())
        signals.ignore()
        if ended_by_itself:
            raise CommandError("the sweep ended by itself")
