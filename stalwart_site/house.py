"""The house: everything that one machine needs, started in order, watched, and stopped in order.

    open    lock -> leftovers -> ports -> secret key -> services -> PostgreSQL -> tables -> static files -> web
            -> demo data -> both answer -> worker, sweep; then, beside all that, the practice queue
    watch   a child that dies is started again, after a pause that doubles; a worker that was drained is not
    close   practice queue -> web -> sweep -> worker (which finishes the call in flight) -> services -> PostgreSQL

The order of closing: nobody new gets in, nothing new is woken, what is being sent is recorded, and only then
go the services and the database that it needs.
"""

import contextlib
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Self

from django.conf import settings

from stalwart_site import ports, preparation, state_folder
from stalwart_site.at_start import IN_HOUSE
from stalwart_site.embedded_postgres import EmbeddedPostgres
from stalwart_site.processes import Child, StopSignals, describe, end_leftovers

START_SECONDS = 60.0
QUICK_DRAIN = 5.0  # of the children that hold nothing worth waiting for


class HouseError(Exception):
    """The house cannot be opened; the message is one line and says what to do."""


@dataclass(frozen=True)
class Plan:
    """What to open, and where."""

    host: str
    port: int
    services_port: int
    workers: int

    @property
    def url(self) -> str:
        """Where people go."""
        host = "localhost" if self.host in {"127.0.0.1", "::1", "0.0.0.0", "::"} else self.host
        return f"http://{host}:{self.port}"

    @property
    def services_url(self) -> str:
        """Where the practice services answer."""
        return f"http://127.0.0.1:{self.services_port}"


class House:
    """One machine's processes. A context manager: whatever was opened is closed, in order."""

    def __init__(self, plan: Plan, signals: StopSignals, say: Callable[[str], None]) -> None:
        self.plan, self.signals, self.say = plan, signals, say
        self.folder: Path = settings.STATE_DIR
        self.postgres = None if os.environ.get("DATABASE_URL") else EmbeddedPostgres(self.folder / "postgres")
        self.children: list[Child] = []
        self._practice: Child | None = None  # it ends by itself, and is not started again
        self._lock = contextlib.ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def open(self) -> bool:
        """Start everything, each as soon as what it needs is there; False when a stop signal came meanwhile.

        Raises HouseError, StateFolderError or EmbeddedPostgresError; what was started is stopped by `close`.
        """
        self._lock.enter_context(state_folder.locked(self.folder))
        end_leftovers(state_folder.record(self.folder).get("children", []))
        self._check_ports()
        web, sweep, worker, services = self.children = self._make_children(self._environment())
        services.start()  # beside what follows
        if self.postgres is not None:
            self.postgres.start()
        preparation.migrate_if_needed()
        preparation.collect_static_if_needed()
        web.start()
        self._write_record()
        if settings.FAULTS_ALLOWED:
            preparation.add_demo_data()
        if not self._wait_until_answering():
            return False
        # Last: whoever opens the console need not wait for them, and they are there before anybody has signed in.
        worker.start()
        sweep.start()
        self._write_record()
        return True

    def fill_practice_queue(self) -> None:
        """In the background; where there are runs already, nothing is added."""
        command = [sys.executable, "-m", "stalwart_site.cli", "practice"]
        self._practice = Child("practice", command, self._environment(), QUICK_DRAIN)
        self._practice.start()
        self._write_record()

    def watch(self) -> None:
        """Keep PostgreSQL and every child alive until a stop signal comes.

        Raises EmbeddedPostgresError when the database has ended and cannot be started again.
        """
        while not self.signals.wait(0.2):
            if self.postgres is not None and not self.postgres.is_running:
                self.say("PostgreSQL ended; it starts again")
                self.postgres.start()
            for child in self.children:
                before = child.process
                if line := child.revive():
                    self.say(line)
                if child.process is not before:
                    self._write_record()

    def close(self) -> None:
        """Stop everything in order; a second signal makes it hurry. Harmless when nothing runs."""
        for child in self._processes():
            child.stop(hurry=lambda: self.signals.count > 1)
        if self.postgres is not None:
            self.postgres.stop()
        if self.children:
            state_folder.remove_record(self.folder)
        self._lock.close()

    def _processes(self) -> list[Child]:
        return [self._practice, *self.children] if self._practice else self.children

    def _check_ports(self) -> None:
        for host, port, option in (
            (self.plan.host, self.plan.port, "--port"),
            ("127.0.0.1", self.plan.services_port, "--services-port"),
        ):
            try:
                free = ports.is_free(host, port)
            except OSError as error:
                raise HouseError(f"cannot listen on {host}:{port}: {error}") from error
            if not free:
                raise HouseError(
                    f"port {port} is taken: stop what listens there, or choose another with {option}"
                )

    def _environment(self) -> dict[str, str]:
        """What the children see beside our own environment."""
        ours = {
            "DATABASE_URL": self.postgres.url if self.postgres else os.environ["DATABASE_URL"],
            "STALWART_SECRET_KEY": os.environ.get("STALWART_SECRET_KEY")
            or state_folder.make_secret_key(self.folder),
            "STALWART_SERVICES_URL": self.plan.services_url,
            "STALWART_HOME": str(self.folder),
            "STALWART_WORKERS": str(self.plan.workers),
            "STALWART_FAULTS": "1" if settings.FAULTS_ALLOWED else "0",
            IN_HOUSE: "1",
        }
        return os.environ | ours

    def _make_children(self, environment: dict[str, str]) -> list[Child]:
        """In the order in which they are stopped."""
        stalwart = [sys.executable, "-m", "stalwart_site.cli"]
        address = ["--host", self.plan.host, "--port", str(self.plan.port)]
        books = str(self.folder / "services.sqlite3")
        services = [sys.executable, "-m", "examples.services", "--port", str(self.plan.services_port)]
        return [
            Child("web", [*stalwart, "web", *address], environment, QUICK_DRAIN),
            Child("sweep", [*stalwart, "sweep"], environment, QUICK_DRAIN),
            Child(
                "worker",
                [*stalwart, "worker"],
                environment,
                settings.DRAIN_SECONDS + QUICK_DRAIN,
                may_end=True,  # it was drained
            ),
            Child("services", [*services, "--database", books], environment, QUICK_DRAIN),
        ]

    def _write_record(self) -> None:
        state_folder.write_record(
            self.folder,
            {
                "url": self.plan.url,
                "services_url": self.plan.services_url,
                "database_url": self.postgres.url
                if self.postgres
                else "",  # ours alone: another may hold a password
                "practice": settings.FAULTS_ALLOWED,
                "children": [child.identity for child in self._processes() if child.identity],
            },
        )

    def _wait_until_answering(self) -> bool:
        waiting = [f"{self.plan.services_url}/health", f"http://{self.plan.host}:{self.plan.port}/health"]
        deadline = time.monotonic() + START_SECONDS
        while waiting:
            if self.signals.wait(0.05):
                return False
            self._check_children()
            status = ports.status_of(waiting[0])
            if status == HTTPStatus.OK:
                waiting.pop(0)
            elif status is not None or time.monotonic() > deadline:
                problem = f"answered {status}" if status else f"did not answer within {START_SECONDS:.0f} s"
                raise HouseError(f"{waiting[0]} {problem}")
        return True

    def _check_children(self) -> None:
        """While the house opens, a child that ends is an error, and its own words are on stderr."""
        for child in self.children:
            if (code := child.ended) is not None:
                raise HouseError(f"{child.name} did not start ({describe(code)}): see its own message above")
