"""The other side of tests/crash/carry_out.py: starts processes that carry runs out, and sees how they end."""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import IO, Self

from stalwart_site.processes import dying_with_parent
from tests.processes import written

KILLED = (-signal.SIGKILL, 137)


class Carriers:
    """Processes that carry out one run each, one after the other. A context manager: it leaves none behind."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed at the exit)
        self.pid: int | None = None  # of the process under way
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.carry_out"],
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            bufsize=0,  # `select` must see what is there to read
            preexec_fn=dying_with_parent(signal.SIGKILL),  # noqa: PLW1509 (it runs C alone)
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.kill()
        self._server.kill()
        self._server.wait()
        self.errors.close()

    def start(self, run: int, point: str) -> int:
        """A new process carries this run out; the pid."""
        assert self._server.stdin is not None
        assert self.pid is None, "one process at a time"
        self._server.stdin.write(json.dumps({"run": run, "point": point}).encode() + b"\n")
        self._server.stdin.flush()
        self.pid = self._read()["pid"]
        return self.pid

    def ended(self, seconds: float) -> int | None:
        """Wait so long; the exit status once the process is gone: negative, the signal that ended it."""
        assert self._server.stdout is not None
        if not select.select([self._server.stdout], [], [], seconds)[0]:
            return None
        status = self._read()["exit"]
        self.pid = None
        return status

    def kill(self) -> None:
        """However it is: afterwards the process under way is gone."""
        if self.pid is not None:
            os.kill(self.pid, signal.SIGKILL)
            assert self.ended(10) is not None

    def said(self) -> str:
        """What they wrote to stderr, all of them."""
        return written(self.errors)

    def _read(self) -> dict[str, int]:
        assert self._server.stdout is not None
        line = self._server.stdout.readline()
        assert line, f"the carriers ended: {self.said()}"
        answer: dict[str, int] = json.loads(line)
        return answer
