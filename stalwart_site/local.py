"""What a command needs beside itself: the database, and the practice services.

A command uses what runs already: the server of DATABASE_URL, or what `stalwart serve` or another command has
started on this state folder. What does not run it starts, and stops at its end:

    starting.lock    held while a command looks whether the database runs, and starts it
    commands.lock    shared by the commands that use the embedded database; whoever started it stops it only
                     once nobody else holds the lock
"""

import contextlib
import fcntl
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, Request, build_opener

import psycopg
from django.conf import settings
from django.db import connections

from stalwart_site import ports, preparation, state_folder
from stalwart_site.embedded_postgres import EmbeddedPostgres, url_of
from stalwart_site.processes import Child, describe

START_SECONDS = 60.0
PATIENCE = 2.0  # before a command says what it waits for
_opener = build_opener(ProxyHandler({}))  # what we ask is on this machine: no proxy has business with it


class LocalError(Exception):
    """What a command needs cannot be had; the message is one line and says what to do."""


class Machine:
    """What one command uses of its machine. A context manager: what it started, it stops."""

    def __init__(self, say: Callable[[str], None]) -> None:
        """`say` tells a person, in one line, why they wait."""
        self.say = say
        self.folder: Path = settings.STATE_DIR
        self.alone = False  # we started the database: nobody else can have been carrying out runs
        self._postgres: EmbeddedPostgres | None = None
        self._services: Child | None = None
        self._services_url, self._port = "", 0
        self._user_lock: int | None = None

    def __enter__(self) -> Self:
        _follow_serve(self.folder)
        return self

    def __exit__(self, *exc: object) -> None:
        """The services first; then the database, once no other command uses it."""
        connections.close_all()
        if self._services is not None:
            self._services.stop()
        with contextlib.suppress(KeyboardInterrupt):
            self._wait_for_other_commands()
        if self._postgres is not None:
            self._postgres.stop()
        if self._user_lock is not None:
            os.close(self._user_lock)

    # --- The database ---------------------------------------------------------------------------------------
    def open_database(self, *, migrate: bool = False, services: bool = False) -> None:
        """Have a database with its tables. Raises LocalError or EmbeddedPostgresError.

        `migrate`: bring the one of DATABASE_URL up to date too. `services`: should the database have to be
        started, then the practice services will be needed as well, and start meanwhile.
        """
        if os.environ.get("DATABASE_URL"):
            if migrate:
                preparation.migrate_if_needed()
            return
        self._user_lock = self._open_lock("commands.lock")
        fcntl.flock(self._user_lock, fcntl.LOCK_SH)
        with self._starting():
            if not self._database_answers():
                self._start_database(services)

    def _start_database(self, services: bool) -> None:
        if services:
            self._start_services()
        self._postgres = EmbeddedPostgres(self.folder / "postgres")
        self._postgres.start()
        self.alone = True
        preparation.migrate_if_needed()

    def _database_answers(self) -> bool:
        """Whether it runs; one that another process is just starting or stopping is waited for."""
        deadline = time.monotonic() + START_SECONDS
        while True:
            with contextlib.suppress(psycopg.OperationalError):
                psycopg.connect(url_of(self.folder / "postgres"), connect_timeout=2).close()
                return True
            if not _is_locked(self.folder / "postgres" / "owner.lock"):
                return False
            if time.monotonic() > deadline:
                raise LocalError(f"the PostgreSQL in {self.folder / 'postgres'} does not answer")
            time.sleep(0.05)

    def _wait_for_other_commands(self) -> None:
        """Ctrl-C ends the waiting, and the other commands' connections."""
        if self._postgres is None or self._user_lock is None:
            return
        started, said = time.monotonic(), False
        while not _lock_now(self._user_lock):
            if not said and time.monotonic() - started > PATIENCE:
                self.say("Another command still uses the database; this one stops it after that.")
                said = True
            time.sleep(0.05)

    @contextlib.contextmanager
    def _starting(self) -> Iterator[None]:
        lock = self._open_lock("starting.lock")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def _open_lock(self, name: str) -> int:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            return os.open(self.folder / name, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise LocalError(
                f"{self.folder} cannot be written ({error.strerror}): "
                "set STALWART_HOME to a folder of your own"
            ) from error

    # --- The practice services ------------------------------------------------------------------------------
    def services(self) -> str:
        """The address of practice services that answer; started here if none do. Raises LocalError."""
        if not self._services_url:
            self._services_url = self._answering_services() or self._wait_for_services()
            os.environ["STALWART_SERVICES_URL"] = settings.SERVICES_URL = self._services_url
        return self._services_url

    def ask_services(self, method: str, path: str) -> Any:
        """The JSON that the practice services answer with. Raises LocalError."""
        url = self.services() + path
        try:
            with _opener.open(Request(url, method=method), timeout=30) as answer:
                return json.load(answer)
        except HTTPError as answer:
            raise LocalError(f"the practice services answered {answer.code} to {method} {path}") from None
        except (URLError, OSError, ValueError) as error:
            raise LocalError(f"the practice services at {url} cannot be asked: {error}") from error

    def _answering_services(self) -> str:
        """Those we were told of, or those of a running `stalwart serve`. Never whoever has the usual port."""
        for url in (
            os.environ.get("STALWART_SERVICES_URL"),
            state_folder.record(self.folder).get("services_url"),
        ):
            if url and self._services is None and ports.status_of(f"{url.rstrip('/')}/health") == 200:
                return str(url.rstrip("/"))
        return ""

    def _start_services(self) -> Child:
        """Start them on the books of this state folder, without waiting for them."""
        if self._services is None:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._port = ports.free_port()
            command = [sys.executable, "-m", "examples.services", "--port", str(self._port)]
            faults = "1" if settings.FAULTS_ALLOWED else "0"
            self._services = Child(
                "services",
                [*command, "--database", str(self.folder / "services.sqlite3")],
                os.environ | {"STALWART_FAULTS": faults},
                drain=5.0,
            )
            self._services.start()
        return self._services

    def _wait_for_services(self) -> str:
        child = self._start_services()
        url, deadline = f"http://127.0.0.1:{self._port}", time.monotonic() + START_SECONDS
        while ports.status_of(f"{url}/health") != 200:
            if (code := child.ended) is not None:
                raise LocalError(f"the practice services did not start ({describe(code)})")
            if time.monotonic() > deadline:
                raise LocalError(f"the practice services did not answer within {START_SECONDS:.0f} s")
            time.sleep(0.02)
        return url


def _follow_serve(folder: Path) -> None:
    """A machine of its own is for practice unless it was told otherwise, as `stalwart serve` has it."""
    if "STALWART_FAULTS" in os.environ:
        return
    serve = state_folder.record(folder)
    if serve or not os.environ.get("DATABASE_URL"):
        settings.FAULTS_ALLOWED = bool(serve.get("practice", True))


def _lock_now(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_locked(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        return not _lock_now(descriptor)
    finally:
        os.close(descriptor)
