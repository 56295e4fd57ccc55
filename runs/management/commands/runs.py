"""`stalwart runs`: the runs, newest first."""

from argparse import ArgumentParser
from typing import Any

from django.utils import timezone

from runs.models import Run
from runs.states import RunState
from runs.trace import ended
from stalwart_site.terminal import TerminalCommand


class Command(TerminalCommand):
    """Reads only."""

    help = "List the runs, newest first."

    def arguments(self, parser: ArgumentParser) -> None:
        states = [state.value for state in RunState]
        parser.add_argument(
            "--state", choices=states, metavar="S", help=f"only those that are: {', '.join(states)}"
        )
        parser.add_argument(
            "--limit", type=_limit, default=20, metavar="N", help="at most (default: %(default)s)"
        )

    def run(self, options: dict[str, Any]) -> int:
        runs = Run.objects.select_related("thread").order_by("-pk")
        if options["state"]:
            runs = runs.filter(state=options["state"])
        found = list(runs[: options["limit"]])
        if options["json"]:
            self.say_json([_as_json(run) for run in found])
            return 0
        for run in found:
            self.say(_line(run))
        return 0


def _limit(text: str) -> int:
    number = int(text)
    if not 0 < number <= 10_000:
        raise ValueError(text)
    return number


def _line(run: Run) -> str:
    when = timezone.localtime(run.created_at)
    who = f"{run.thread.agent} with {run.thread.user}"
    held_up = f"  held up: {run.trouble}" if run.trouble else ""
    return f"{when:%Y-%m-%dT%H:%M:%S}  {run.name:<7} {ended(run.state):<12} {who}{held_up}"


def _as_json(run: Run) -> dict[str, Any]:
    ended_at = run.ended_at.isoformat() if run.ended_at else None
    return {
        "run": run.name,
        "state": run.state,
        "held_up": run.trouble or None,
        "agent": run.thread.agent,
        "user": run.thread.user,
        "started_by": run.started_by,
        "created_at": run.created_at.isoformat(),
        "ended_at": ended_at,
    }
