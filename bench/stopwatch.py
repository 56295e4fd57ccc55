"""What is watched while a case works: time, or the traffic on its connection.

Wall time, and CPU time on both sides: where others use the machine, CPU time is the steadier of the two.
"""

import contextlib
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from bench.server import Server


class Watch(Protocol):
    """What a case is given: what it does inside `running()` counts."""

    def running(self) -> AbstractContextManager[None]:
        """Count."""


@dataclass(frozen=True)
class Cost:
    """Of one write, in milliseconds. `client` and `server` are CPU time."""

    wall: float
    client: float
    server: float

    @property
    def cpu(self) -> float:
        """On both sides."""
        return self.client + self.server


class Stopwatch:
    """Measures time."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._wall = self._client = self._served = 0.0

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """This process works."""
        served = self._server.cpu_seconds()
        client, wall = time.process_time(), time.perf_counter()
        yield
        self._wall += time.perf_counter() - wall
        self._client += time.process_time() - client
        self._served += self._server.cpu_seconds() - served

    @contextlib.contextmanager
    def elsewhere(self) -> Iterator[list[float]]:
        """Another process works, and says for itself: [wall seconds, CPU seconds]."""
        served = self._server.cpu_seconds()
        said: list[float] = []
        yield said
        self._wall += said[0]
        self._client += said[1]
        self._served += self._server.cpu_seconds() - served

    def per(self, writes: int) -> Cost:
        """The cost of one of this many writes."""
        return Cost(*(seconds / writes * 1000 for seconds in (self._wall, self._client, self._served)))
