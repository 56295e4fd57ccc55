"""The state folder (`.stalwart`, or STALWART_HOME): what one machine keeps between starts.

serve.lock            held while `stalwart serve` runs; the kernel releases it with the process
serve.json            what runs now: {"url", "services_url", "database_url", "practice", "children"}
secret-key            made once, mode 600
postgres/             the embedded server's (embedded_postgres.py)
starting.lock, commands.lock  of the commands that share the embedded server (local.py)
services.sqlite3      the practice services' books
static/               collected static files
"""

import contextlib
import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class StateFolderError(Exception):
    """The state folder cannot be used; the message is one line and says what to do."""


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Make the folder and hold its lock.

    Raises StateFolderError when it cannot be made or written, or another `stalwart serve` holds it.
    """
    path = folder / "serve.lock"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise StateFolderError(
            f"{folder} cannot be written ({error.strerror}): set STALWART_HOME to a folder of your own"
        ) from error
    try:
        _take(lock, folder)
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(lock)


def _take(lock: int, folder: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        owner = os.pread(lock, 32, 0).decode().strip() or "unknown"
        raise StateFolderError(
            f"{folder} is already served by process {owner}: "
            "stop that one, or set STALWART_HOME to another folder"
        ) from None


def secret_key(folder: Path) -> str | None:
    """The folder's secret key, if it has one that this user may read."""
    try:
        return (folder / "secret-key").read_text().strip() or None
    except OSError:
        return None


def make_secret_key(folder: Path) -> str:
    """The folder's secret key; made, and readable by this user alone, if there is none."""
    path = folder / "secret-key"
    if found := secret_key(folder):
        return found
    new = path.with_suffix(".new")
    new.unlink(missing_ok=True)
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(secrets.token_urlsafe(50))
    new.rename(path)  # whole or absent
    return path.read_text()


def record(folder: Path) -> dict[str, Any]:
    """What the last `stalwart serve` wrote of itself; empty after a clean stop."""
    try:
        found = json.loads((folder / "serve.json").read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def write_record(folder: Path, facts: dict[str, Any]) -> None:
    """Replace the record."""
    new = folder / "serve.json.new"
    new.write_text(json.dumps(facts))
    new.rename(folder / "serve.json")


def remove_record(folder: Path) -> None:
    """A clean stop leaves none."""
    (folder / "serve.json").unlink(missing_ok=True)
