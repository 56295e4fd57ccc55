"""`stalwart worker`: carries out runs."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from stalwart_site.at_start import say_findings
from stalwart_site.cluster import Supervisor
from stalwart_site.processes import StopSignals


class Command(BaseCommand):
    """Exit codes: 0 stopped by a signal, or drained; 2 usage. A cluster that dies is replaced; no code tells of it."""

    help = "Carry out runs until SIGTERM, then finish the calls in flight. Any number, on any machines."
    requires_system_checks: list[str] = []  # noqa: RUF012 (Django's own name and type)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """`--drain`."""
        parser.add_argument(
            "--drain",
            type=float,
            default=settings.DRAIN_SECONDS,
            help="seconds for the calls in flight after SIGTERM (default: %(default)s)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Supervise one cluster, until SIGTERM or until it is drained."""
        signals = StopSignals()
        say_findings(self.stderr.write)
        Supervisor(
            signals,
            self.stderr.write,
            drain_seconds=options["drain"],
            stall_seconds=settings.STALL_SECONDS,
            task_seconds=settings.TASK_TIMEOUT_SECONDS,
        ).run()
        signals.ignore()
