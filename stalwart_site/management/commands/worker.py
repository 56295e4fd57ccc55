"""`stalwart worker`: carries out runs."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from runs.queue import oldest_nudge_seconds
from stalwart_site.cluster import Supervisor
from stalwart_site.processes import StopSignals


class Command(BaseCommand):
    """Exit codes: 0 stopped by a signal, 2 usage. A cluster that dies is replaced, not reported by a code."""

    help = "Carry out runs until SIGTERM; then finish the calls in flight. Any number, on any number of machines."
    requires_system_checks: list[str] = []  # noqa: RUF012 (Django's own name and type)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--drain",
            type=float,
            default=settings.DRAIN_SECONDS,
            help="seconds for the calls in flight after SIGTERM (default: %(default)s)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        Supervisor(
            StopSignals(),
            self.stderr.write,
            drain_seconds=options["drain"],
            stall_seconds=settings.STALL_SECONDS,
            oldest_nudge_seconds=oldest_nudge_seconds,
        ).run()
