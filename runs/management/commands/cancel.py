"""`stalwart cancel`: stop a live run, and undo what it did."""

from argparse import ArgumentParser
from typing import Any

from runs import services
from stalwart_site.carrying import CarryingCommand, last_event
from stalwart_site.terminal import add_person, find_person, find_run


class Command(CarryingCommand):
    """Prints what the run undid, and its reply. A call in flight is not killed. Exit code 3: it waits."""

    help = "Cancel a live run, as the operator with that login."

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("run", metavar="RUN", help="R-12, or 12")
        add_person(parser)
        parser.add_argument("--reason", default="", help="why")

    def run(self, options: dict[str, Any]) -> int:
        run, who = find_run(options["run"]), find_person(options["login"])
        before = last_event(run)
        services.cancel(who, run, options["reason"])
        return self.conclude(run, self.follow(run.pk), before, options)
