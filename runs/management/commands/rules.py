"""`stalwart rules show|test`: the rules in words, what is odd about them, and examples of what they say."""

from argparse import SUPPRESS, ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from runs.agentfile import AgentSpec, agent, agents
from runs.rulebook.findings import findings
from runs.rulebook.trials import Trial, try_out
from runs.rulebook.words import as_lines, in_words
from stalwart_site.terminal import ERROR, TerminalCommand


class Command(TerminalCommand):
    """Reads the agent files alone: no database is needed, and nothing is changed."""

    help = "Show the rules of the agents in words, or try examples on them."
    database = False

    def arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="show|test")
        show = verbs.add_parser("show", help="the rules in words, and those that are odd")
        show.add_argument("agent", nargs="?", default="", help="of this agent alone")
        test = verbs.add_parser("test", help="try a table of examples; exit code 1 where one differs")
        test.add_argument("file", metavar="FILE", type=Path, help="the table, in YAML")
        for verb in (show, test):  # --json may stand at the end, as everywhere
            verb.add_argument("--json", action="store_true", default=SUPPRESS, help="print JSON")

    def run(self, options: dict[str, Any]) -> int:
        return {"show": self._show, "test": self._test}[options["verb"]](options)

    def _show(self, options: dict[str, Any]) -> int:
        specs = (
            [agent(options["agent"])] if options["agent"] else [agents()[name] for name in sorted(agents())]
        )
        if options["json"]:
            self.say_json([_as_json(spec) for spec in specs])
            return 0
        for spec in specs:
            self._show_one(spec)
        return 0

    def _show_one(self, spec: AgentSpec) -> None:
        self.say(f"{spec.name}: {len(spec.rulebook.rules)} rule(s), version {spec.rule_version}")
        for line in as_lines(spec.rulebook):
            self.say(line)
        for found in findings(spec):
            self.say(f"  ! {found.rule} {found.kind.replace('_', ' ')}: {found.message}")

    def _test(self, options: dict[str, Any]) -> int:
        trials = try_out(options["file"])
        wrong = [trial for trial in trials if trial.wrong]
        if options["json"]:
            self.say_json([_trial(trial) for trial in trials])
        else:
            for trial in wrong:
                self.say(f"{options['file']}:{trial.line}: {trial.name}: {trial.wrong}")
            self.say(f"{len(trials) - len(wrong)} of {len(trials)} example(s) as expected")
        return ERROR if wrong else 0


def _as_json(spec: AgentSpec) -> dict[str, Any]:
    return {
        "agent": spec.name,
        "version": spec.rule_version,
        "rules": [asdict(rule) for rule in in_words(spec.rulebook)],
        "findings": [asdict(found) for found in findings(spec)],
    }


def _trial(trial: Trial) -> dict[str, Any]:
    ruling = asdict(trial.ruling)
    return {
        "name": trial.name,
        "line": trial.line,
        "as_expected": not trial.wrong,
        "wrong": trial.wrong,
        **ruling,
    }
