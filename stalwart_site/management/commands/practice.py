"""`stalwart practice`: fill the practice queue."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings

from runs.errors import NotAllowed
from runs.models import Run
from stalwart_site import practice
from stalwart_site.terminal import TerminalCommand


class Command(TerminalCommand):
    """Does nothing where there are runs already, unless --more is said. Live workers carry the runs out."""

    help = "Fill the practice queue with runs in every state, by really running the examples with faults."

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--more", action="store_true", help="also where there are runs already")

    def run(self, options: dict[str, Any]) -> int:
        if not settings.FAULTS_ALLOWED:
            raise NotAllowed("The practice queue is for practice: set STALWART_FAULTS=1 to allow it.")
        needed = options["more"] or not Run.objects.exists()
        runs = practice.fill(self.stderr.write) if needed else 0
        if options["json"]:
            self.say_json({"runs": runs})
        elif runs:
            self.say(f"The practice queue is ready: {runs} runs.")
        return 0
