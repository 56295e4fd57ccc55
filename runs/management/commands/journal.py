"""`stalwart journal`: the record of a run, one JSON object a line."""

import json
from argparse import ArgumentParser
from typing import Any

from runs.models import Event
from stalwart_site.terminal import TerminalCommand, find_run


class Command(TerminalCommand):
    """Reads only. Always JSON Lines, so that `--json` changes nothing."""

    help = "Print the events of a run as JSON Lines, oldest first."

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("run", metavar="RUN", help="R-12, or 12")

    def run(self, options: dict[str, Any]) -> int:
        run = find_run(options["run"])
        for event in run.events.select_related("step").order_by("pk").iterator(chunk_size=1000):
            self.say(json.dumps(_as_json(event), ensure_ascii=False))
        return 0


def _as_json(event: Event) -> dict[str, Any]:
    return {
        "id": event.pk,
        "run": f"R-{event.run_id}",
        "kind": event.kind,
        "at": event.at.isoformat(),
        "actor": event.actor,
        "step": event.step.number if event.step else None,
        "before": event.before or None,
        "after": event.after or None,
        "data": event.data,
    }
