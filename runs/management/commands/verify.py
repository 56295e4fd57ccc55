"""`stalwart verify`: what is said of tools, agents and rules before launch."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from runs import sarif
from runs.errors import ConfigurationError
from runs.rulebook.words import as_lines
from runs.tools.lints import MENDS
from runs.verify import Located, rulebooks, verify
from stalwart_site.terminal import ERROR, TerminalCommand, usage


class Command(TerminalCommand):
    """Reads only. Exit code 0 whatever is found; with `--strict`, 1 where anything is."""

    help = (
        "Say what recovery lacks: undos, keys, confirmations, routes, rules. Fails nothing, unless --strict."
    )
    database = False  # opened here, unless the record is not asked

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("agent", metavar="AGENT", nargs="?", default="", help="one agent (default: all)")
        parser.add_argument("--strict", action="store_true", help="exit code 1 where anything is found")
        parser.add_argument("--sarif", metavar="FILE", help="write SARIF 2.1.0 to a file; - is stdout, alone")
        parser.add_argument(
            "--no-record",
            dest="record",
            action="store_false",
            help="leave out undo_never_run, which asks the database",
        )

    def run(self, options: dict[str, Any]) -> int:
        with usage(self):
            if options["json"] and options["sarif"] == "-":
                raise ValueError(
                    "Only one of --json and --sarif - can have stdout: name a file for the SARIF."
                )
        if options["record"]:
            self.machine.open_database()
        found = verify(options["agent"], record=options["record"])
        if options["sarif"]:
            self._write_sarif(options["sarif"], found)
        if options["json"]:
            self.say_json([_as_json(item) for item in found])
        elif options["sarif"] != "-":
            self._list(found)
            self._show_rules(options["agent"])
        return ERROR if found and options["strict"] else 0

    def _list(self, found: list[Located]) -> None:
        for item in found:
            self.say(f"{item.place}: {item.finding.tool}: {item.finding.lint}: {item.finding.words}")
        if not found:
            self.say("Nothing found.")
            return
        self.say()
        for lint in MENDS:
            if any(item.finding.lint == lint for item in found):
                self.say(f"{lint}: {MENDS[lint]}")
        self.say()
        self.say(f"{len(found)} finding(s). None of them stops anything.")

    def _show_rules(self, name: str) -> None:
        """What each rulebook says, in words: whether that is right is for a person to see."""
        for specs in rulebooks(name):
            rulebook = specs[0].rulebook
            self.say()
            self.say(f"{', '.join(spec.name for spec in specs)}: {len(rulebook.rules)} rule(s)")
            for line in as_lines(rulebook):
                self.say(line)

    def _write_sarif(self, target: str, found: list[Located]) -> None:
        text = json.dumps(sarif.report(found), indent=2, ensure_ascii=False)
        if target == "-":
            self.say(text)
            return
        try:
            Path(target).write_text(f"{text}\n", encoding="utf-8")
        except OSError as error:
            raise ConfigurationError(f"{target} cannot be written ({error.strerror}).") from None


def _as_json(item: Located) -> dict[str, Any]:
    finding = item.finding
    return {
        "lint": finding.lint,
        "tool": finding.tool,
        "message": finding.message,
        "agents": list(finding.agents),
        "route": list(finding.route),
        "mend": finding.mend,
        "file": str(item.place.path),
        "line": item.place.line,
    }
