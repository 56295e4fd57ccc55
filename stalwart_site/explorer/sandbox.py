"""The world of one case: practice services in this process, and rows that are never committed.

1. The services' own application runs on books of this case alone, and tools reach it by real requests (WSGI).
2. Between the two stands a network that loses the process, or an answer, at the first write.
3. All that the engine writes lies in one transaction, which is rolled back at the end: no row stays, no worker is
   nudged, nobody sees the run. The engine's own transactions are savepoints of it.

Elsewhere no call is made inside a transaction; here nothing leaves the process, and nothing waits.
"""

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import httpx
from django.db import transaction

from examples.services.app import create_app
from runs.tools.http import through


class Stop(StrEnum):
    """Where the process stops; the value is its part of the address."""

    BEFORE = "before-the-write"
    DURING = "during-the-call"
    AFTER = "after-the-write"


class Stopped(BaseException):
    """The process is gone. A BaseException, so that no `except Exception` lives on."""


@dataclass(frozen=True)
class Line:
    """One line of what happens. `part` is write, stop, checkpoint, resume, reconcile or end."""

    part: str
    text: str
    key: str = ""


Tell = Callable[[Line], None]


class Network(httpx.BaseTransport):
    """Carries requests to the services, tells of each, and fails once: at the first write."""

    def __init__(self, services: httpx.BaseTransport, stop: Stop, tell: Tell) -> None:
        self.writes = self.lookups = 0  # those that reached the services
        self._services, self._tell = services, tell
        self._stop: Stop | None = stop

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Raises Stopped where the process stops here, ReadTimeout where the answer is lost."""
        stop = self._stop_at(request)
        if stop is Stop.BEFORE:
            self._tell(Line("stop", "the process stops before the write has left (simulated crash)"))
            raise Stopped
        response = self._services.handle_request(request)
        response.read()
        self._told(request, response)
        if stop is Stop.DURING:
            self._tell(Line("stop", "no answer comes back: a timeout (simulated)"))
            raise httpx.ReadTimeout("no answer came back", request=request)
        if stop is Stop.AFTER:
            text = "the process stops after the write, before it was recorded (simulated crash)"
            self._tell(Line("stop", text))
            raise Stopped
        return response

    def _stop_at(self, request: httpx.Request) -> Stop | None:
        stop = self._stop if request.method == "POST" else None
        if stop:
            self._stop = None
        return stop

    def _told(self, request: httpx.Request, response: httpx.Response) -> None:
        said, path = response.json(), request.url.path
        if request.method == "POST":
            self.writes += 1
            amount = json.loads(request.content)["amount"]
            text = f"request_refund {amount}: the payment service makes the refund ({said['refund']})"
            self._tell(Line("write", text, request.headers["Idempotency-Key"]))
        elif path.startswith("/operations/"):
            self.lookups += 1
            found = said.get("result")
            what = f"found, it happened ({found['refund']})" if found else "not found, it has not happened"
            self._tell(Line("reconcile", f"asks about the key: {what}", said["key"]))


@dataclass
class World:
    """What a case happens in. `books` reads what the services have on theirs; the network does not see it."""

    books: httpx.Client
    network: Network
    lines: list[Line] = field(default_factory=list)


@contextmanager
def sandbox(stop: Stop) -> Iterator[World]:
    """A fresh world whose first write meets `stop`. Nothing of it is left behind, in a database or on a disk."""
    with _services() as services, transaction.atomic():
        lines: list[Line] = []
        network = Network(services, stop, lines.append)
        with _client(network) as tools, _client(services) as books, through(tools):
            yield World(books, network, lines)
        transaction.set_rollback(True)


@contextmanager
def _services() -> Iterator[httpx.WSGITransport]:
    with tempfile.TemporaryDirectory(prefix="stalwart-explorer-") as folder:
        app = create_app(Path(folder) / "books.sqlite3")
        try:
            yield httpx.WSGITransport(app=app)
        finally:
            app.extensions["register"].books.close()


def _client(transport: httpx.BaseTransport) -> httpx.Client:
    return httpx.Client(transport=transport, base_url="http://practice", trust_env=False)
