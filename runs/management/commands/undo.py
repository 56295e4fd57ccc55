"""`stalwart undo`: undo a run that has ended."""

from argparse import ArgumentParser
from typing import Any

from runs import services
from stalwart_site.carrying import CarryingCommand, last_event
from stalwart_site.terminal import add_person, find_person, find_run


class Command(CarryingCommand):
    """Prints what was undone, latest first, and the run's reply. Exit code 3: an undo waits for a person."""

    help = "Undo what a run that has ended did, as the operator with that login. Nothing is asked again."

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("run", metavar="RUN", help="R-12, or 12")
        add_person(parser)

    def run(self, options: dict[str, Any]) -> int:
        run, who = find_run(options["run"]), find_person(options["login"])
        before = last_event(run)
        services.undo(who, run)
        return self.conclude(run, self.follow(run.pk), before, options)
