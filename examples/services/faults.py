"""Fault switches: a request asks for its own fault, in a header. Never a global switch.

    X-Stalwart-Fault: <fault>       X-Stalwart-Fault-Seconds: N     (default 5)

    down                  503, nothing done
    refused               422, nothing done
    unavailable           503 and nothing done, the first time for a key
    error_500             500 and nothing done, the first time for a key
    timeout_before_write  N s without an answer and nothing done, then hung up; the first time for a key
    timeout_after_write   done, then N s without an answer, then hung up; the first time for a key
    drop_before           hung up at once and nothing done, the first time for a key
    drop_after            done, then hung up without an answer; the first time for a key
    slow                  done, and answered after N s; until then the key is in progress
    slow_before           as a call that stays on the wire: N s pass, then it is done, even if the client left

"The first time for a key" is kept on the books, so a restart does not forget it. A fault that waits never
waits inside a transaction.
"""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

from flask import current_app, request

from examples.services.books import Books
from examples.services.problems import Problem

HEADER, SECONDS_HEADER = "X-Stalwart-Fault", "X-Stalwart-Fault-Seconds"
EVERY_TIME = frozenset({"down", "refused", "slow", "slow_before"})
ONCE_PER_KEY = frozenset(
    {"unavailable", "error_500", "timeout_before_write", "timeout_after_write", "drop_before", "drop_after"}
)
LONGEST = 600.0

stopping = threading.Event()
"""Set when this process was told to exit: whoever waits in a fault is hung up on."""


class HungUp(Exception):
    """The connection is closed; nobody reads an answer."""


@dataclass(frozen=True)
class Fault:
    """What one request asked to go wrong; `name` is None when nothing is to, or no longer."""

    name: str | None
    seconds: float
    books: Books

    def before(self) -> None:
        """What happens before the effect. Raises Problem or HungUp where there is to be none."""
        match self.name:
            case "down" | "unavailable":
                raise Problem(503, "down", "Service down", "Nothing was done. Send it again later.")
            case "refused":
                raise Problem(422, "refused", "Refused", "Nothing was done. Do not send it again.")
            case "error_500":
                raise Problem(500, "internal-error", "Internal error", "Look the key up before resending.")
            case "timeout_before_write":
                _wait_then_hang_up(self.seconds)
            case "drop_before":
                hang_up()
            case "slow_before":
                self._stay_on_the_wire()

    def while_in_progress(self) -> None:
        """What happens after the effect, while its key still counts as in progress."""
        if self.name == "slow":
            wait(self.seconds)

    def after(self) -> None:
        """What happens to the answer."""
        if self.name == "timeout_after_write":
            _wait_then_hang_up(self.seconds)
        if self.name == "drop_after":
            hang_up()

    def _stay_on_the_wire(self) -> None:
        resets = self.books.resets
        wait(self.seconds)
        if self.books.resets != resets:  # a call of an earlier practice run must not land in this one
            hang_up()


def asked_for(books: Books, key: str) -> Fault:
    """The fault this request asks for, spent where it strikes once per key.

    400 `/faults-off` when faults are not switched on, `/unknown-fault`, `/fault-seconds`.
    """
    name, seconds = wanted(), _seconds()
    if name in ONCE_PER_KEY and not _first_time(books, key, name):
        name = None
    return Fault(name, seconds, books)


def wanted() -> str | None:
    """The name in the header, checked; None without one."""
    name = request.headers.get(HEADER)
    if name is None:
        return None
    if not current_app.config["FAULTS"]:
        detail = "Start the services with STALWART_FAULTS=1 (or app.config FAULTS), or leave the header out."
        raise Problem(400, "faults-off", "Fault switches are off", detail)
    if name not in EVERY_TIME | ONCE_PER_KEY:
        known = ", ".join(sorted(EVERY_TIME | ONCE_PER_KEY))
        raise Problem(400, "unknown-fault", "Unknown fault", f"{name!r} is not one of: {known}.")
    return name


def _seconds() -> float:
    try:
        seconds = float(request.headers.get(SECONDS_HEADER, "5"))
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= LONGEST:
        detail = f"Give {SECONDS_HEADER} as a number from 0 to {LONGEST:.0f}."
        raise Problem(400, "fault-seconds", "Not a number of seconds", detail)
    return seconds


def _first_time(books: Books, key: str, name: str) -> bool:
    with books.writing() as db:
        return db.execute("INSERT OR IGNORE INTO faults_met VALUES (?, ?)", (key, name)).rowcount == 1


def wait(seconds: float) -> None:
    """Let time pass, outside any transaction; hung up when the process is told to exit meanwhile."""
    if stopping.wait(seconds):
        hang_up()


def _wait_then_hang_up(seconds: float) -> NoReturn:
    wait(seconds)
    hang_up()


def hang_up() -> NoReturn:
    """Close the connection without an answer. Always raises HungUp."""
    connection: socket.socket | None = request.environ.get("gunicorn.socket")
    if connection is not None:
        with suppress(OSError):  # the client was faster
            connection.shutdown(socket.SHUT_RDWR)
    raise HungUp
