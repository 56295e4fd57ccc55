"""`stalwart serve` as a person runs it: real processes, its own PostgreSQL, a state folder of its own.

The tests share one folder and run in order: the first start makes everything, the later ones are quick.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from stalwart_site.ports import free_port, status_of
from stalwart_site.processes import dying_with_parent
from tests.processes import until, written

START_SECONDS = 60.0


class Serve:
    """A running `stalwart serve`."""

    def __init__(self, home: Path, port: int, services_port: int) -> None:
        self.url, self.services_url = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{services_port}"
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `end`)
        self.process = subprocess.Popen(
            _command(port, services_port),
            env=_environment(home),
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=self._output,
            start_new_session=True,
            preexec_fn=dying_with_parent(),  # noqa: PLW1509 (it runs C alone)
        )

    def said(self) -> str:
        return written(self._output)

    def wait_until_open(self) -> "Serve":
        until(lambda: self.process.poll() is not None or "Ctrl-C" in self.said(), "serve", START_SECONDS)
        assert self.process.poll() is None, self.said()
        return self

    def family(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def child(self, word: str) -> psutil.Process:
        """The child of serve whose command has the word."""
        children = psutil.Process(self.process.pid).children()
        alive = [child for child in children if child.status() != psutil.STATUS_ZOMBIE]
        return next(child for child in alive if word in child.cmdline())

    def stop(self, number: int) -> int:
        self.process.send_signal(number)
        return self.process.wait(30)

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        self._output.close()


def _command(port: int, services_port: int) -> list[str]:
    options = ["--port", str(port), "--services-port", str(services_port), "--workers", "1", "--empty"]
    return [sys.executable, "-m", "stalwart_site.cli", "serve", *options]


def _environment(home: Path) -> dict[str, str]:
    kept = {
        name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "STALWART_FAULTS"}
    }
    return kept | {"STALWART_HOME": str(home)}


def _refused(home: Path, port: int, services_port: int) -> str:
    """What a `serve` says that must not start: one line on stderr, exit code 1."""
    done = subprocess.run(
        _command(port, services_port),
        env=_environment(home),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    return done.stderr


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("a home with spaces")


@pytest.fixture
def serve(home: Path) -> Iterator[Serve]:
    started = Serve(home, free_port(), free_port())
    family = []
    try:
        family = started.wait_until_open().family()
        yield started
    finally:
        started.end()
        psutil.wait_procs(family, timeout=15)


def test_it_answers_says_where_and_ctrl_c_stops_everything(serve: Serve) -> None:
    assert status_of(f"{serve.url}/health") == 200
    assert status_of(f"{serve.services_url}/health") == 200
    assert serve.url.rsplit(":", 1)[1] in serve.said()
    assert "olga" in serve.said()
    family = serve.family()
    assert serve.stop(signal.SIGINT) == 0
    assert psutil.wait_procs(family, timeout=1)[1] == []
    assert serve.said().count("run `stalwart verify`") == 1  # and not again by its web server and its worker


def test_a_second_serve_of_the_same_folder_is_refused_and_sigterm_stops_the_first(
    serve: Serve, home: Path
) -> None:
    said = _refused(home, free_port(), free_port())
    assert f"is already served by process {serve.process.pid}" in said
    assert serve.stop(signal.SIGTERM) == 0


def test_a_worker_that_was_drained_is_not_started_again(serve: Serve, home: Path) -> None:
    workers = [sys.executable, "-m", "stalwart_site.cli", "workers"]
    listed = subprocess.run(
        [*workers, "drain", "--as", "olga", "--reason", "the machine is moved"],
        env=_environment(home),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert listed.stdout.startswith("drained   worker")
    until(lambda: "worker has ended, as it was asked to" in serve.said(), "serve to notice")
    assert serve.stop(signal.SIGTERM) == 0
    assert "starts again" not in serve.said()


def test_a_child_that_is_killed_is_started_again(serve: Serve) -> None:
    for word in ("web", "examples.services", "-D"):  # the last is PostgreSQL
        serve.child(word).kill()
    for notice in ("web ended (SIGKILL)", "services ended (SIGKILL)", "PostgreSQL ended"):
        until(lambda: notice in serve.said(), notice)  # noqa: B023 (called at once)
    until(lambda: status_of(f"{serve.url}/health") == 200, "the web server")
    until(lambda: status_of(f"{serve.services_url}/health") == 200, "the services")
    assert serve.stop(signal.SIGTERM) == 0


def test_after_kill_9_nothing_is_left_and_the_next_start_works(serve: Serve, home: Path) -> None:
    family = serve.family()
    ports = [int(url.rsplit(":", 1)[1]) for url in (serve.url, serve.services_url)]
    os.kill(serve.process.pid, signal.SIGKILL)
    again = Serve(home, *ports)  # at once, on the same ports, while the old children may still be leaving
    try:
        again.wait_until_open()
        assert psutil.wait_procs(family, timeout=0)[1] == []
        assert again.stop(signal.SIGTERM) == 0
    finally:
        again.end()


def test_a_taken_port_is_said_before_anything_is_started(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"port {port} is taken" in _refused(tmp_path, port, free_port())
        assert "--services-port" in _refused(tmp_path, free_port(), port)
    assert not (tmp_path / "postgres").exists()


def test_a_state_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "STALWART_HOME" in _refused(tmp_path / "file" / "home", free_port(), free_port())
