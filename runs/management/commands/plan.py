"""`stalwart plan`: what a turn, or a file of steps, would do, before any call is made."""

from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import RootModel

from runs.agentfile import agent
from runs.api import bodies, planning
from runs.models import Thread
from runs.plan import PlannedCall, plan
from runs.services import Proposal, RunRequest
from runs.views.calls import UndoWords
from runs.yamlfile import YamlFile
from stalwart_site.terminal import TerminalCommand, usage


class Steps(RootModel[list[bodies.NewStep]]):
    """A file of steps: a list of {tool, args}, in YAML or JSON."""


class Command(TerminalCommand):
    """Reads only: nothing is stored and nothing is sent."""

    help = "Say what calls would ask, of whom, what undoes them, and what would be left if each failed."

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("turn", nargs="?", default="", help="what the user says")
        parser.add_argument("--agent", required=True, help="the agent")
        parser.add_argument(
            "--steps", metavar="FILE", help="in place of a turn: a list of {tool, args}; - is stdin"
        )
        parser.add_argument("--user", default="", help="who is talking to it, for the rules that ask")
        parser.add_argument("--ticket", default="", help="the ticket, for the rules that ask")
        parser.add_argument("--task", default="", help="the task type, for the rules that ask")

    def run(self, options: dict[str, Any]) -> int:
        with usage(self):
            if bool(options["turn"]) == bool(options["steps"]):
                raise ValueError("Give a turn, or --steps FILE.")
        spec = agent(options["agent"])
        request = RunRequest(
            text=options["turn"],
            steps=_steps(options["steps"]) if options["steps"] else (),
            task=options["task"],
            ticket=options["ticket"],
        )
        calls = plan(spec, Thread(agent=spec.name, user=options["user"]), request)
        if options["json"]:
            self.say_json(planning.shown(spec, calls).model_dump(mode="json"))
            return 0
        for call in calls:
            for line in _lines(call):
                self.say(line)
        self.say(f"{len(calls)} call(s) tried; nothing was stored and nothing was sent.")
        return 0


def _steps(name: str) -> list[Proposal]:
    found = YamlFile(Path("/dev/stdin" if name == "-" else name)).parse(Steps)
    return [Proposal(step.tool, step.args, step.text) for step in found.root]


def _lines(call: PlannedCall) -> Iterator[str]:
    yield f"{call.number}. {call.sentence}"
    yield f"   {call.words}"
    yield from (f"   {warning}" for warning in call.warnings)
    if call.undo and not call.warnings:
        yield f"   {_undo(call.undo)}"
    yield f"   {call.left.words}"


def _undo(undo: UndoWords) -> str:
    if not undo.tool:
        return undo.why_not
    return f"undone by {undo.tool}({', '.join(f'{item.name} {item.text}' for item in undo.arguments)})"
