"""`stalwart trace`: each line of a run, and the order in which its tools ran."""

from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from runs.errors import NotFound
from runs.models import Run
from runs.trace import Trace, ended, reads_of
from stalwart_site.terminal import TerminalCommand, find_run


class Command(TerminalCommand):
    """Reads only."""

    help = "Show what a run did, line by line, and in which order its tools ran."

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("run", metavar="RUN", nargs="?", help="R-12, or 12 (default: the latest run)")

    def run(self, options: dict[str, Any]) -> int:
        run = find_run(options["run"]) if options["run"] else _latest()
        trace = Trace(run, reads_of(run))
        if options["json"]:
            self.say_json(_as_json(trace))
            return 0
        self.say(f"{run.name}  {run.thread.agent} with {run.thread.user}  {ended(run.state)}")
        for line in trace.lines():
            self.say(str(line))
        self.say("The tools ran in this order:")
        for number, name in enumerate(trace.order, 1):
            self.say(f"{number}. {name}")
        return 0


def _latest() -> Run:
    run = Run.objects.select_related("thread").order_by("-pk").first()
    if run is None:
        raise NotFound("There are no runs yet: `stalwart chat` or `stalwart run` starts one.")
    return run


def _as_json(trace: Trace) -> dict[str, Any]:
    run = trace.run
    said = {message.role: message.text for message in run.messages.all() if message.role in ("user", "agent")}
    return {
        "run": run.name,
        "agent": run.thread.agent,
        "user": run.thread.user,
        "state": run.state,
        "turn": said.get("user", ""),
        "reply": said.get("agent", ""),
        "lines": [asdict(line) for line in trace.lines()],
        "order": trace.order,
    }
