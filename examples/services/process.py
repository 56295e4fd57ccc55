"""The services as a child process, for tests and benches."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 15.0


@dataclass(frozen=True)
class Services:
    """A running `python -m examples.services`. `url` has no slash at its end."""

    port: int
    database: Path
    process: subprocess.Popen[bytes]
    stderr: IO[bytes]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def kill(self) -> None:
        """kill -9, and wait until the port is free again."""
        self.process.kill()
        self.process.wait()
        _until(lambda: not _listening(self.port), "the port to be free")

    def stop(self) -> int:
        """SIGTERM, then kill -9 if it does not follow within seconds; the exit status."""
        self.process.terminate()
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            return self.process.returncode

    def printed(self) -> str:
        """What it has written to stderr; nothing, unless something went wrong."""
        return os.pread(self.stderr.fileno(), 1_000_000, 0).decode()


@contextmanager
def running(database: Path, *, port: int | None = None, faults: bool = True) -> Iterator[Services]:
    """Start the services on a free port (or `port`), yield them once they answer, and end them by their pid.

    The database stays, so a second `running` on it is a restart. RuntimeError with what was printed when
    they do not start.
    """
    with tempfile.TemporaryFile() as stderr:
        services = _start(database.resolve(), port or _free_port(), faults, stderr)
        try:
            _until(lambda: _answers(services), "the services to answer")
            yield services
        finally:
            if services.process.poll() is None:
                services.stop()


def _start(database: Path, port: int, faults: bool, stderr: IO[bytes]) -> Services:
    command = [sys.executable, "-m", "examples.services", "--port", str(port), "--database", str(database)]
    environment = os.environ | {"STALWART_FAULTS": "1" if faults else "0"}
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=stderr, stderr=stderr)
    return Services(port, database, process, stderr)


def _answers(services: Services) -> bool:
    if services.process.poll() is not None:
        raise RuntimeError(services.printed() or "The services ended without a word.")
    probe = HTTPConnection("127.0.0.1", services.port, timeout=2)
    try:
        probe.request("GET", "/health")
        return probe.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        probe.close()


def _listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"Waited {PATIENCE:.0f} s for {what}.")
        time.sleep(0.02)
