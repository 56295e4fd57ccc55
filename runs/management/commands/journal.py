"""`stalwart journal`: the record of a run, one JSON object a line."""

from argparse import ArgumentParser
from typing import Any

from runs.journal import lines
from stalwart_site.terminal import TerminalCommand, find_run


class Command(TerminalCommand):
    """Reads only. Always JSON Lines, so that `--json` changes nothing."""

    help = "Print the events of a run as JSON Lines, oldest first."

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("run", metavar="RUN", help="R-12, or 12")

    def run(self, options: dict[str, Any]) -> int:
        for line in lines(find_run(options["run"])):
            self.say(line)
        return 0
