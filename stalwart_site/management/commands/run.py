"""`stalwart run`: what is proposed for a practice ticket, up to its question."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings

from runs.errors import NotAllowed
from stalwart_site import practice
from stalwart_site.carrying import last_event
from stalwart_site.switches import SwitchedCommand, add_switches, faults_of
from stalwart_site.terminal import find_person, usage


class Command(SwitchedCommand):
    """Prints the question, or what came of the run. Exit code 3: it waits for a person, as most do."""

    help = "Start a run of what is proposed for a practice ticket, such as T-90104, and stop at its question."
    database = False  # opened here, since it may bring the practice services up meanwhile

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "ticket", metavar="TICKET", help="T-90104; examples/resolver/tickets.yaml has all"
        )
        parser.add_argument(
            "--as", dest="login", metavar="USER", help="with --interrupt: whose approval it is"
        )
        add_switches(parser)

    def run(self, options: dict[str, Any]) -> int:
        with usage(self):
            faults = faults_of(options)
            if bool(options["interrupt"]) != bool(options["login"]):
                raise ValueError(
                    "--interrupt needs --as USER, who approves; without it the question is left open"
                )
        if not settings.FAULTS_ALLOWED:
            raise NotAllowed("Practice tickets are for practice: set STALWART_FAULTS=1 to allow them.")
        self.machine.open_database(migrate=True, services=True)
        who = find_person(options["login"]) if options["login"] else None
        run = practice.propose_ticket(options["ticket"], faults)
        if not options["json"]:
            self.say(f"{run.name}: {run.ticket} of {run.thread.user}, proposed by {run.thread.agent}")
        reply, before = self.follow(run.pk), last_event(run) if who else 0
        if who:
            self.interrupt(run, who, "approve", options)
            reply = self.follow(run.pk)
        return self.conclude(run, reply, before, options)
