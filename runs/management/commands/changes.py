"""`stalwart changes`: what the practice services hold."""

from argparse import ArgumentParser
from typing import Any
from urllib.parse import quote

from runs.errors import NotFound
from runs.trace import short
from stalwart_site.terminal import RUN, TerminalCommand


class Command(TerminalCommand):
    """Asks the services themselves, not our record of them."""

    help = "List every change that took place in the practice services."
    database = False

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--run", metavar="R", help="only those of this run: R-12, or 12")

    def run(self, options: dict[str, Any]) -> int:
        only = f"?run={quote(_name(options['run']))}" if options["run"] else ""
        changes = self.machine.ask_services("GET", f"/changes{only}")
        if options["json"]:
            self.say_json(changes)
            return 0
        for change in changes:
            self.say(_line(change))
        self.say(f"{len(changes)} change(s) in the practice services")
        return 0


def _name(text: str) -> str:
    found = RUN.fullmatch(text)
    if found is None:
        raise NotFound(f"{text!r} is not a run: say R-12 or 12.")
    return f"R-{int(found[1])}"


def _line(change: dict[str, Any]) -> str:
    what = [change["at"][:19], change["run"] or "-", change["operation"], change["subject"], change["detail"]]
    return "  ".join([*(str(part) for part in what if part), f"(key {short(change['key'])})"])
