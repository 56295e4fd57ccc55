"""`stalwart doctor`: what is wrong here, and what to do about it."""

from dataclasses import asdict
from typing import Any

from django.db import Error as DatabaseError

from stalwart_site.doctor import BAD, Finding, examine_database, examine_settings
from stalwart_site.embedded_postgres import EmbeddedPostgresError
from stalwart_site.local import LocalError
from stalwart_site.state_folder import StateFolderError
from stalwart_site.terminal import ERROR, TerminalCommand

UNREACHED = (DatabaseError, EmbeddedPostgresError, LocalError, StateFolderError)


class Command(TerminalCommand):
    """Changes nothing. One line for each finding: ok, warn or bad. Exit code 1 where something is bad."""

    help = "Look at the database, workers, queue, stuck work and unsafe settings, and say what to do."
    database = False  # one that cannot be reached is a finding

    def run(self, options: dict[str, Any]) -> int:
        findings = [*self._database(), *examine_settings()]
        bad = sum(finding.state == BAD for finding in findings)
        if options["json"]:
            self.say_json([asdict(finding) for finding in findings])
        else:
            for finding in findings:
                self.say(str(finding))
        return (
            self._fail(f"{bad} of {len(findings)} findings are bad; each says what to do.", ERROR)
            if bad
            else 0
        )

    def _database(self) -> list[Finding]:
        try:
            self.machine.open_database()
            return examine_database(alone=self.machine.alone)
        except UNREACHED as error:
            why = " ".join(str(error).split())
            return [
                Finding(
                    BAD, "database", f"it cannot be used ({why})", "see DATABASE_URL, or `stalwart serve`"
                )
            ]
