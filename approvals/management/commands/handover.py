"""`stalwart handover`: the ticket of a run that was handed to a person."""

from argparse import ArgumentParser
from typing import Any

from approvals.handover_shapes import whole
from approvals.handover_words import as_text, word
from approvals.handovers import read
from stalwart_site.terminal import TerminalCommand, find_run


class Command(TerminalCommand):
    """Reads only. The text is for paper: 80 columns."""

    help = "Print what a run that was handed over did, did not do, told the customer, and what is next."

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("run", metavar="RUN", help="R-12, or 12")

    def run(self, options: dict[str, Any]) -> int:
        page = word(read(find_run(options["run"]).pk))
        if options["json"]:
            self.say_json(whole(page).model_dump(mode="json"))
        else:
            self.say(as_text(page).rstrip("\n"))
        return 0
