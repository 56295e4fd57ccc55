"""What every command for the terminal shares: exit codes, one-line errors, JSON, and the machine it runs on.

Exit codes: 0 done, 1 an error (one line on stderr), 2 usage, 3 it waits for a person.
"""

import json
import os
import re
import signal
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, ClassVar

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import Error as DatabaseError
from django.db import ProgrammingError

from runs.access import Actor, person
from runs.errors import NotFound, StalwartError
from runs.models import Run
from stalwart_site.embedded_postgres import EmbeddedPostgresError
from stalwart_site.local import LocalError, Machine
from stalwart_site.state_folder import StateFolderError

ERROR, USAGE, WAITS = 1, 2, 3
INTERRUPTED = 128 + signal.SIGINT
EXPECTED = (StalwartError, LocalError, EmbeddedPostgresError, StateFolderError)
RUN = re.compile(r"(?:[Rr]-?)?([0-9]{1,18})")


class TerminalCommand(BaseCommand):
    """A command that says what it did and ends. Write `arguments` and `run`; `run` returns the exit code."""

    requires_system_checks: list[str] = []  # noqa: RUF012 (Django's own name and type)
    database: ClassVar[bool] = True  # whether it needs one
    machine: Machine

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Those of the command, and `--json`."""
        self.arguments(parser)
        parser.add_argument("--json", action="store_true", help="print JSON")

    def arguments(self, parser: ArgumentParser) -> None:
        """The command's own arguments."""

    def run(self, options: dict[str, Any]) -> int:
        """Do it; returns the exit code."""
        raise NotImplementedError

    def handle(self, *args: Any, **options: Any) -> None:
        """Run it; every error that is expected becomes one line on stderr."""
        signal.signal(signal.SIGTERM, _leave)
        try:
            with Machine(self.stderr.write) as self.machine:
                if self.database:
                    self.machine.open_database()
                code = self.run(options)
        except EXPECTED as error:
            code = self._fail(str(error))
        except DatabaseError as error:
            code = self._fail(_about_database(error))
        except KeyboardInterrupt:
            code = self._fail("Interrupted.", INTERRUPTED)
        except BrokenPipeError:  # whoever read us has had enough
            _read_no_more()
            code = 0
        if code:
            sys.exit(code)

    def say(self, line: str = "") -> None:
        """A line of the answer."""
        self.stdout.write(line)

    def say_json(self, value: Any) -> None:
        """The answer as JSON."""
        self.stdout.write(json.dumps(value, indent=2, ensure_ascii=False))

    def _fail(self, message: str, code: int = ERROR) -> int:
        self.stderr.write(" ".join(message.split()))
        return code


def find_run(name: str) -> Run:
    """The run that a person calls R-12 or 12. Raises NotFound."""
    found = RUN.fullmatch(name)
    run = Run.objects.select_related("thread").filter(pk=int(found[1])).first() if found else None
    if run is None:
        unknown = f"There is no run called {name!r}; `stalwart runs` lists them."
        raise NotFound(unknown if found else f"{name!r} is not a run: say R-12 or 12.")
    return run


def find_person(login: str) -> Actor:
    """Who has this login, with the roles it has. Raises NotFound."""
    from django.contrib.auth.models import User

    if settings.FAULTS_ALLOWED and not User.objects.exists():
        from runs.demo import make_logins

        make_logins()  # a practice machine that was never served
    user = User.objects.filter(username=login, is_active=True).first()
    if user is None:
        raise NotFound(f"There is no login called {login!r}; an administrator of the console makes logins.")
    return person(user)


def add_person(parser: ArgumentParser) -> None:
    """`--as USER`: whose answer it is."""
    parser.add_argument("--as", dest="login", metavar="USER", required=True, help="the login of who says so")


@contextmanager
def usage(command: BaseCommand) -> Iterator[None]:
    """A ValueError inside is wrong usage: its message, and exit code 2."""
    try:
        yield
    except ValueError as error:
        command.stderr.write(str(error))
        sys.exit(USAGE)


def _about_database(error: DatabaseError) -> str:
    if isinstance(error, ProgrammingError) and getattr(error.__cause__, "sqlstate", "") == "42P01":
        return "The database has no tables yet: run `stalwart migrate` once."
    return f"The database cannot be used: {error}"


def _read_no_more() -> None:
    """Nobody reads our output: what is left of it goes nowhere, and says nothing at the exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _leave(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)
