"""The embedded PostgreSQL: what it survives."""

import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from stalwart_site.embedded_postgres import EmbeddedPostgres, EmbeddedPostgresError, binary, url_of
from stalwart_site.ports import free_port
from tests.early import HOME
from tests.processes import until

NOBODY = 65534
# Whether every user reaches PostgreSQL's programs: not so in a checkout that only root may enter.
OPEN = all(parent.stat().st_mode & 0o001 for parent in binary("postgres").parents)


def _ask(url: str, query: str = "SELECT current_database()") -> object:
    with psycopg.connect(url) as connection:
        row = connection.execute(query.encode()).fetchone()
    return row[0] if row else None


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Deep, with a space: a socket's path would be too long."""
    return tmp_path / "a folder" / ("deep" * 30) / "postgres"


@pytest.fixture
def server(folder: Path) -> Iterator[EmbeddedPostgres]:
    made = EmbeddedPostgres(folder)
    made.start()
    yield made
    made.stop()


def _postmaster(server: EmbeddedPostgres) -> int:
    return int((server.data / "postmaster.pid").read_text().split("\n", 1)[0])


def test_it_starts_stops_and_starts_again_with_its_data(server: EmbeddedPostgres) -> None:
    assert server.start() == server.url
    assert _ask(server.url) == "stalwart"
    assert _ask(server.url, "SELECT current_setting('fsync')") == "on"
    server.stop()
    server.stop()
    with pytest.raises(psycopg.OperationalError):
        _ask(server.url)
    assert _ask(server.start()) == "stalwart"


def test_a_killed_server_is_started_again(server: EmbeddedPostgres) -> None:
    postmaster = psutil.Process(_postmaster(server))
    postmaster.kill()
    until(lambda: postmaster.status() == psutil.STATUS_ZOMBIE, "its end")
    assert _ask(server.start()) == "stalwart"


@pytest.mark.parametrize("pid", ["", "0", "1", str(os.getpid())], ids=["none", "zero", "init", "reused"])
def test_a_stale_pid_file_does_not_stop_it(server: EmbeddedPostgres, pid: str) -> None:
    server.stop()
    (server.data / "postmaster.pid").write_text(f"{pid}\n{server.data}\n1\n5432\n/tmp\n\n1 2\nready\n")
    assert _ask(server.start()) == "stalwart"


def test_a_half_made_data_folder_is_put_aside(server: EmbeddedPostgres) -> None:
    server.stop()
    (server.data / "global" / "pg_control").unlink()
    (server.folder / "data.new-1").mkdir()
    assert _ask(server.start()) == "stalwart"
    assert not (server.folder / "data.new-1").exists()
    assert len(list(server.folder.glob("data.half-made-*"))) == 1


def test_a_second_owner_is_refused_in_one_line(server: EmbeddedPostgres) -> None:
    with pytest.raises(EmbeddedPostgresError, match=rf"belongs to process {os.getpid()}, which runs"):
        EmbeddedPostgres(server.folder).start()
    assert _ask(server.url) == "stalwart"


@pytest.mark.skipif(os.geteuid() == 0 and not OPEN, reason="nobody but root reaches PostgreSQL")
def test_a_server_that_somebody_started_by_hand_is_left_alone() -> None:
    server = EmbeddedPostgres(HOME / "by hand")  # where the account that owns the data may pass
    server.start()
    server.stop()
    account = server.data.stat()
    listen = ["-k", "", "-h", "127.0.0.1", "-p", str(free_port())]
    command = [str(binary("postgres")), "-D", str(server.data), *listen]
    user = account.st_uid if os.geteuid() == 0 else None
    by_hand = subprocess.Popen(command, stderr=subprocess.DEVNULL, user=user)
    try:
        until(lambda: (server.data / "postmaster.pid").exists(), "the other server")
        with pytest.raises(EmbeddedPostgresError, match=f"kill -INT {by_hand.pid}"):
            server.start()
        assert by_hand.poll() is None
    finally:
        by_hand.send_signal(signal.SIGINT)
        by_hand.wait()


def test_the_server_ends_with_an_owner_that_is_killed(folder: Path) -> None:
    command = [sys.executable, "-m", "stalwart_site.embedded_postgres", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline().decode().strip() == url_of(folder)
        owner.kill()
    with EmbeddedPostgres(folder) as url:
        assert _ask(url) == "stalwart"


def _as_nobody(action: Callable[[], object]) -> str:
    """What the action returns when an ordinary user runs it, or the error's line."""
    here, there = multiprocessing.Pipe(duplex=False)

    def run() -> None:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        try:
            there.send(str(action()))
        except EmbeddedPostgresError as error:
            there.send(str(error))

    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    process.join(60)
    return str(here.recv()) if here.poll(0) else f"exit code {process.exitcode}"


@pytest.mark.skipif(
    os.geteuid() != 0 or not OPEN, reason="only root can become a user who reaches PostgreSQL"
)
def test_an_ordinary_user_runs_it_and_is_told_when_the_folder_is_not_theirs() -> None:
    theirs = HOME / "ordinary user"
    theirs.mkdir()
    os.chown(theirs, NOBODY, NOBODY)

    def use(folder: Path) -> object:
        with EmbeddedPostgres(folder) as url:
            return _ask(url)

    assert _as_nobody(lambda: use(theirs / "postgres")) == "stalwart"
    with EmbeddedPostgres(theirs / "postgres") as url:  # root goes on as the owner of the data
        assert _ask(url) == "stalwart"
    assert _as_nobody(lambda: use(theirs / "postgres")) == "stalwart"
    with EmbeddedPostgres(HOME / "roots"):
        pass
    assert "is not writable" in _as_nobody(lambda: use(HOME / "roots"))
