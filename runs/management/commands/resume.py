"""`stalwart resume`: have a run go on now that nobody carries out."""

from argparse import ArgumentParser
from typing import Any

from runs import services
from stalwart_site.carrying import CarryingCommand, last_event
from stalwart_site.terminal import add_person, find_person, find_run


class Command(CarryingCommand):
    """Prints what the run did, and how it stands. A run that a live worker holds is an error. Exit code 3: it waits."""

    help = "Have a live run go on now, as the operator with that login."

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("run", metavar="RUN", help="R-12, or 12")
        add_person(parser)

    def run(self, options: dict[str, Any]) -> int:
        run, who = find_run(options["run"]), find_person(options["login"])
        before = last_event(run)
        services.resume(who, run)
        return self.conclude(run, self.follow(run.pk), before, options)
