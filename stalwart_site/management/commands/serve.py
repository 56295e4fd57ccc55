"""`stalwart serve`: everything for one machine."""

import json
import os
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import Error as DatabaseError

from runs.demo import LOGINS, PASSWORD
from stalwart_site.at_start import say_findings
from stalwart_site.embedded_postgres import EmbeddedPostgresError
from stalwart_site.house import House, HouseError, Plan
from stalwart_site.ports import port_number
from stalwart_site.processes import StopSignals
from stalwart_site.state_folder import StateFolderError


class Command(BaseCommand):
    """Exit codes: 0 stopped by a signal, 1 could not start (one line on stderr), 2 usage."""

    help = "Run everything on this machine: database, web server, workers, sweep, practice services."
    requires_system_checks: list[str] = []  # noqa: RUF012 (Django's own name and type)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
        parser.add_argument(
            "--port", type=port_number, default=8700, help="port of the console (default: %(default)s)"
        )
        parser.add_argument(
            "--services-port",
            type=port_number,
            default=8701,
            help="port of the practice services (default: %(default)s)",
        )
        parser.add_argument(
            "--workers",
            type=int,
            choices=range(1, 65),
            metavar="N",
            default=settings.WORKERS,
            help="worker processes (default: %(default)s)",
        )

        parser.add_argument(
            "--empty", action="store_true", help="on a practice machine: do not fill the practice queue"
        )

        parser.add_argument("--json", action="store_true", help="say where it is as one line of JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        # A practice machine, with faults and demo logins, unless STALWART_FAULTS=0 says otherwise.
        settings.FAULTS_ALLOWED = settings.FAULTS_ALLOWED or "STALWART_FAULTS" not in os.environ
        signals = StopSignals()
        plan = Plan(options["host"], options["port"], options["services_port"], options["workers"])
        try:
            with House(plan, signals, self._log) as house:
                if house.open():
                    self._greet(plan, as_json=options["json"])
                    if settings.FAULTS_ALLOWED and not options["empty"]:
                        house.fill_practice_queue()
                    house.watch()
                    self._log("Stopping; a second Ctrl-C hurries.")
        except (HouseError, StateFolderError, EmbeddedPostgresError, DatabaseError) as error:
            raise CommandError(" ".join(str(error).split())) from error

    def _log(self, line: str) -> None:
        self.stderr.write(line)

    def _greet(self, plan: Plan, *, as_json: bool) -> None:
        if as_json:
            practice = {"password": PASSWORD, "logins": [login for login, _, _ in LOGINS]}
            said = {"url": plan.url, "services_url": plan.services_url}
            self.stdout.write(json.dumps(said | (practice if settings.FAULTS_ALLOWED else {})))
            self.stdout.flush()
            return
        self.stdout.write(f"Stalwart is at {plan.url}   (practice services: {plan.services_url})")
        if settings.FAULTS_ALLOWED:
            self.stdout.write(f"Sign in with the password `{PASSWORD}` as")
            for name, role, full_name in LOGINS:
                self.stdout.write(f"  {name:<8} {role:<10} {full_name}")
        say_findings(self.stdout.write)
        self.stdout.write("Ctrl-C stops everything.")
        self.stdout.flush()
