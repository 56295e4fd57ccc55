"""`stalwart reset`: the practice services as they were at first, and the practice queue made anew."""

import sys
from argparse import ArgumentParser
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import connection, transaction
from django.db.models.functions import Now

from approvals.models import MailChoice, Webhook
from runs import workers
from runs.errors import NotAllowed, RunLeased
from runs.models import Run, Token, Worker, WorkerOrder
from stalwart_site import practice
from stalwart_site.terminal import USAGE, TerminalCommand

KEPT = {Token, Worker, WorkerOrder, Webhook, MailChoice}  # none is about runs


class Command(TerminalCommand):
    """Refused where faults are not allowed, and while a run is being carried out.

    The practice queue is filled again where workers are alive to carry it out.
    """

    help = "Empty the practice services, forget every run, and fill the practice queue again."

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--yes", action="store_true", help="do not ask")
        parser.add_argument("--empty", action="store_true", help="do not fill the practice queue again")

    def run(self, options: dict[str, Any]) -> int:
        if not settings.FAULTS_ALLOWED:
            raise NotAllowed("Resetting is for practice: set STALWART_FAULTS=1 to allow it.")
        if not options["yes"] and not self._sure():
            return USAGE
        runs = _forget_runs()
        self.machine.ask_services("POST", "/reset")
        if not options["json"]:
            self.say(f"The practice services are as they were at first; {runs} run(s) forgotten.")
        carried_out = workers.alive() and not workers.all_paused()
        filled = practice.fill(self.stderr.write) if carried_out and not options["empty"] else 0
        if options["json"]:
            self.say_json({"runs_forgotten": runs, "runs_made": filled})
        elif filled:
            self.say(f"The practice queue is ready: {filled} runs.")
        return 0

    def _sure(self) -> bool:
        if not sys.stdin.isatty():
            self.stderr.write("Everything in the practice services and every run would be gone: say --yes.")
            return False
        self.stderr.write("Empty the practice services and forget every run? [y/N] ", ending="")
        self.stderr.flush()
        return sys.stdin.readline().strip().lower() in ("y", "yes")


def _forget_runs() -> int:
    """Empty the tables of runs and answers; returns how many runs there were.

    One TRUNCATE: the record allows no other way. Raises RunLeased where a live worker holds one.
    """
    models = [
        model
        for label in ("runs", "approvals")
        for model in apps.get_app_config(label).get_models()
        if model not in KEPT
    ]
    tables = ", ".join(connection.ops.quote_name(model._meta.db_table) for model in models)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL lock_timeout = '10s'")
        cursor.execute(f"LOCK TABLE {Run._meta.db_table} IN ACCESS EXCLUSIVE MODE")
        held = Run.objects.filter(lease_expires_at__gt=Now()).first()
        if held:
            raise RunLeased(f"{held.name} is being carried out; nothing was reset. Try again in a moment.")
        count = Run.objects.count()
        cursor.execute(f"TRUNCATE {tables}")
    return count
