"""The one PostgreSQL that everything is measured on, and the databases that are made on it."""

import contextlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg

from stalwart_site.embedded_postgres import EmbeddedPostgres

FACTS = ("server_version", "fsync", "synchronous_commit")


class Server:
    """A PostgreSQL, with databases of this benchmark's own."""

    def __init__(self, url: str, *, local: bool) -> None:
        """`local`: its processes are this machine's, so that their CPU time can be read."""
        self.url, self.local = url, local
        self._token = secrets.token_hex(3)
        self._made: list[str] = []
        self._admin = psycopg.connect(url, autocommit=True)

    def database(self, name: str) -> str:
        """Make an empty database; returns its URL."""
        full = f"bench_{self._token}_{name}"
        self._admin.execute(f'CREATE DATABASE "{full}"'.encode())
        self._made.append(full)
        return urlunsplit(urlsplit(self.url)._replace(path=f"/{full}"))

    def facts(self) -> dict[str, str]:
        """Its version, and whether a commit is on the disk."""
        return {name: self._show(name) for name in FACTS}

    def _show(self, name: str) -> str:
        found = self._admin.execute("SELECT current_setting(%s)", [name]).fetchone()
        return str(found[0]).split(" ")[0] if found else ""

    def cpu_seconds(self) -> float:
        """CPU time so far of the sessions in this benchmark's databases; 0 where it cannot be read."""
        if not self.local:
            return 0.0
        sessions = self._admin.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = ANY(%s)", [self._made]
        )
        return sum(_cpu_seconds(pid) for (pid,) in sessions.fetchall())

    def close(self) -> None:
        """Drop what was made."""
        for name in self._made:
            self._admin.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)'.encode())
        self._admin.close()


def _cpu_seconds(pid: int) -> float:
    """To the nanosecond: the first number of schedstat. 0 where the process is gone, or this is not Linux."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


@contextlib.contextmanager
def serve() -> Iterator[Server]:
    """The server of DATABASE_URL, or one of our own, fsync on, in a folder that is gone afterwards."""
    given = os.environ.get("DATABASE_URL")
    with contextlib.closing(Server(given, local=False)) if given else _embedded() as server:
        yield server


@contextlib.contextmanager
def _embedded() -> Iterator[Server]:
    folder = Path(tempfile.mkdtemp(prefix="stalwart-bench-"))
    folder.chmod(0o711)  # as root the server runs as another account, which must be able to pass
    try:
        with (
            EmbeddedPostgres(folder / "postgres") as url,
            contextlib.closing(Server(url, local=True)) as server,
        ):
            yield server
    finally:
        shutil.rmtree(folder, ignore_errors=True)
