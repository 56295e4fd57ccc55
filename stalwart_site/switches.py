"""The practice switches of a command that moves a run: `--fault` and `--interrupt`."""

from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from runs import services
from runs.access import Actor
from runs.agents import Reply
from runs.models import Run
from runs.trace import Trace, ended, reads_of
from stalwart_site.carrying import CarryingCommand, as_json
from stalwart_site.interrupting import WORDS, Interrupted, interrupt
from stalwart_site.terminal import WAITS

TOLD = ("read", "write", "undo", "reconcile", "note")


def add_switches(parser: ArgumentParser) -> None:
    """`--fault TOOL:FAULT` and `--interrupt WHERE`."""
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="TOOL:FAULT",
        help=f"practice: let a tool's calls fail ({', '.join(sorted(services.FAULTS))})",
    )
    parser.add_argument(
        "--interrupt",
        choices=tuple(WORDS),
        help="practice: let the process die at the run's first write; a fresh one goes on",
    )


def faults_of(options: dict[str, Any]) -> dict[str, str]:
    """{tool: fault}. Raises ValueError for wrong usage."""
    return dict(_fault(text) for text in options["fault"])


def _fault(text: str) -> tuple[str, str]:
    tool, colon, fault = text.partition(":")
    if not (tool and colon and fault):
        raise ValueError(f"--fault is TOOL:FAULT, such as charge_card:timeout_after_write; not {text!r}")
    return tool, fault


class SwitchedCommand(CarryingCommand):
    """A command that may be told to let the process die that carries the run."""

    stopped: Interrupted | None = None

    def interrupt(self, run: Run, who: Actor, said: str, options: dict[str, Any]) -> None:
        """Give this answer to what the run asks now, in a process that dies where it is told to."""
        self.stopped = interrupt(self.machine, run, who, said, options["interrupt"])
        run.refresh_from_db()
        if not options["json"]:
            self.say(str(self.stopped))
            self.say(f"Resuming {run.name} ({ended(run.state)}) in a fresh process.")

    def conclude(self, run: Run, reply: Reply, after: int, options: dict[str, Any]) -> int:
        """What the run did since, call by call where its process died; and how it stands."""
        if self.stopped and options["json"]:
            self.say_json(as_json(reply) | {"interrupted": asdict(self.stopped)})
            return WAITS if reply.waiting else 0
        if self.stopped:
            self._say_calls(run, after)
        return super().conclude(run, reply, after, options)

    def _say_calls(self, run: Run, after: int) -> None:
        for line in Trace(run, reads_of(run), after).lines():
            if line.kind in TOLD:
                self.say(str(line))
