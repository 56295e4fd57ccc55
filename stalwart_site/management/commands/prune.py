"""`stalwart prune`: delete what nobody needs any more."""

from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from stalwart_site.pruning import DAYS, heaps
from stalwart_site.terminal import TerminalCommand


class Command(TerminalCommand):
    """Safe at any time, beside live workers; the record of runs is never touched."""

    help = "Delete old nudges, request keys, workers, sessions and sign-ins. Never the record of runs."

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--days", type=_days, default=DAYS, metavar="N", help="keep so many days (default: %(default)s)"
        )
        parser.add_argument("--dry-run", action="store_true", help="only say how many there are")

    def run(self, options: dict[str, Any]) -> int:
        dry = options["dry_run"]
        counts = {heap.name: heap.count() if dry else heap.delete() for heap in heaps(options["days"])}
        if options["json"]:
            self.say_json({"deleted": not dry, "rows": counts})
            return 0
        for name, count in counts.items():
            self.say(f"{count:>8}  {name}")
        self.say(
            "Nothing was deleted: it was only counted." if dry else "Deleted. The record of runs is whole."
        )
        return 0


def _days(text: str) -> int:
    days = int(text)
    if not 1 <= days <= 36_500:
        raise ArgumentTypeError(f"from 1 to 36,500 days, not {text}")
    return days
