"""Real `stalwart` processes on the database of the running test."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from django.db import connection

from stalwart_site.embedded_postgres import url_of
from stalwart_site.ports import free_port, status_of
from stalwart_site.processes import dying_with_parent
from tests.early import EMBEDDED, POSTGRES_FOLDER

PATIENCE = 20.0
# Seconds apart in production; here, as short as a busy machine allows.
SHORT_TIMES = {
    "STALWART_DELIVERY_RETRY_SECONDS": "0.2",
    "STALWART_LEASE_SECONDS": "1",
    "STALWART_CALL_TIMEOUT_SECONDS": "2",
    "STALWART_RETRY_SECONDS": "0.1",
    "STALWART_SWEEP_SECONDS": "0.1",
    "STALWART_RENUDGE_SECONDS": "0.5",
    "STALWART_DRAIN_SECONDS": "10",
    "STALWART_WORKERS": "1",
}


def until(condition: Callable[[], object], what: str, seconds: float = PATIENCE) -> None:
    """Wait until the condition is true; AssertionError after so many seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds:.0f} s for {what}"
        time.sleep(0.02)


def written(output: IO[bytes]) -> str:
    """All that processes have written to the file. Their place in it is ours: we may not move it."""
    return os.pread(output.fileno(), os.fstat(output.fileno()).st_size, 0).decode(errors="replace")


@dataclass
class Started:
    """One process of ours, in a process group of its own."""

    process: subprocess.Popen[bytes]
    output: IO[bytes]

    @property
    def pid(self) -> int:
        return self.process.pid

    def stop(self, number: int = signal.SIGTERM, seconds: float = PATIENCE) -> int:
        """Send the signal and wait; the exit code. AssertionError when it does not end."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"process {self.pid} did not end; it said: {self.said()}") from None

    def kill(self) -> None:
        """kill -9 to it and to all that it started in its group."""
        self.process.kill()
        self.process.wait()
        self._kill_group()

    def said(self) -> str:
        """What it has written to stdout and stderr so far."""
        return written(self.output)

    def end(self) -> None:
        """However it is: afterwards it is gone."""
        try:
            self.stop()
        finally:
            self.kill()
            self.output.close()

    def _kill_group(self) -> None:
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass


class Processes:
    """Starts processes, and ends them all. Each takes settings by name: `worker(STALWART_WORKERS="2")`."""

    def __init__(self, services_url: str, home: Path) -> None:
        self._home = home
        self._environment = {
            **os.environ,
            **SHORT_TIMES,
            "DATABASE_URL": test_database_url(),
            "STALWART_HOME": str(home),
            "STALWART_SERVICES_URL": services_url,
            "STALWART_FAULTS": "1",
        }
        self._started: list[Started] = []

    def worker(self, **settings: str) -> Started:
        """`stalwart worker`: carries out runs."""
        return self.start("worker", **settings)

    def sweep(self, **settings: str) -> Started:
        """`stalwart sweep`."""
        return self.start("sweep", **settings)

    def web(self, **settings: str) -> str:
        """`stalwart web` on a free port, once it answers; returns its address."""
        self._collect_static_files()
        port = free_port()
        web = self.start("web", "--port", str(port), **settings)
        url = f"http://127.0.0.1:{port}"
        until(lambda: web.process.poll() is not None or status_of(f"{url}/health") == 200, "the web server")
        assert web.process.poll() is None, web.said()
        return url

    def _collect_static_files(self) -> None:
        """Once. In a process of its own: here the settings name static files without their manifest."""
        if not (self._home / "static" / "staticfiles.json").exists():
            assert self.start("collectstatic", "--noinput", "--verbosity", "0").process.wait(PATIENCE) == 0

    def start(self, *arguments: str, **settings: str) -> Started:
        """`stalwart <arguments>`."""
        return self.python("stalwart_site.cli", *arguments, **settings)

    def python(self, module: str, *arguments: str, **settings: str) -> Started:
        """`python -m module <arguments>`."""
        output = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `end`)
        process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            env=self._environment | settings,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            preexec_fn=dying_with_parent(),  # noqa: PLW1509 (it runs C alone)
        )
        self._started.append(Started(process, output))
        return self._started[-1]

    def end_all(self) -> None:
        """Ask all of them to stop, then see to it."""
        for started in self._started:
            if started.process.poll() is None:
                started.process.terminate()
        for started in self._started:
            started.end()


def test_database_url() -> str:
    name = str(connection.settings_dict["NAME"])
    if EMBEDDED:
        return url_of(POSTGRES_FOLDER, name)
    before, _, query = os.environ["DATABASE_URL"].partition("?")
    return f"{before.rsplit('/', 1)[0]}/{name}" + (f"?{query}" if query else "")
