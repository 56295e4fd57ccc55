"""`stalwart web`: the web server."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from stalwart_site import ports
from stalwart_site.at_start import say_findings
from stalwart_site.ports import port_number
from stalwart_site.web_server import run


class Command(BaseCommand):
    """Exit codes: 0 stopped by a signal, 1 could not start (one line on stderr), 2 usage."""

    help = "Run the web server: one process of many threads, until SIGTERM."
    requires_system_checks: list[str] = []  # noqa: RUF012 (Django's own name and type)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
        parser.add_argument("--port", type=port_number, default=8700, help="port (default: %(default)s)")
        parser.add_argument(
            "--processes", type=int, default=1, help="worker processes (default: %(default)s)"
        )
        parser.add_argument("--threads", type=int, default=16, help="threads of each (default: %(default)s)")

    def handle(self, *args: Any, **options: Any) -> None:
        host, port = options["host"], options["port"]
        try:
            free = ports.is_free(host, port)
        except OSError as error:
            raise CommandError(f"cannot listen on {host}:{port}: {error}") from error
        if not free:
            raise CommandError(
                f"port {port} is taken: stop what listens there, or choose another with --port"
            )
        say_findings(self.stderr.write)
        run(host, port, options["processes"], options["threads"])
