"""Keeps the leases of the runs that this process is carrying out, during calls longer than a lease.

One thread, one statement for all of them, every third of a lease. It renews nothing that another worker has
taken meanwhile: the owner no longer matches, and the engine finds out at its next commit.
"""

import contextlib
import logging
import os
import threading
from collections.abc import Iterator

from django.conf import settings
from django.db import Error, connection

log = logging.getLogger(__name__)

RENEW = """
UPDATE runs_run SET lease_expires_at = clock_timestamp() + %s * interval '1 second'
 WHERE id = ANY(%s) AND lease_owner = %s
"""

_lock = threading.Lock()
_held: list[tuple[int, str]] = []  # run id and owner; twice, where a second nudge came meanwhile
_awake = threading.Event()
_thread: threading.Thread | None = None


@contextlib.contextmanager
def holding(run_id: int, owner: str) -> Iterator[None]:
    """While this run is being carried out here, its lease is kept."""
    with _lock:
        _held.append((run_id, owner))
        _start()
    try:
        yield
    finally:
        with _lock, contextlib.suppress(ValueError):  # a forked child holds nothing
            _held.remove((run_id, owner))


def _start() -> None:
    global _thread
    if _thread is None or not _thread.is_alive():
        _thread = threading.Thread(target=_beat, name="heartbeat", daemon=True)
        _thread.start()
    _awake.set()


def _beat() -> None:
    while True:
        _awake.wait()
        threading.Event().wait(settings.LEASE_SECONDS / 3)
        with _lock:
            held = dict(_held)
            if not held:
                _awake.clear()
        try:
            renew(held)
        except Error as error:
            log.warning("The leases could not be renewed, and are tried again: %s", error)
        finally:
            connection.close()  # this thread's own; seconds pass until it is needed again


def renew(held: dict[int, str]) -> None:
    """Renew these leases, as far as they are still ours."""
    for owner in set(held.values()):
        runs = [run for run, held_by in held.items() if held_by == owner]
        with connection.cursor() as cursor:
            cursor.execute(RENEW, [settings.LEASE_SECONDS, runs, owner])


def _forget() -> None:
    """After a fork the child holds nothing, and has no thread."""
    global _thread, _lock, _awake
    _held.clear()
    _thread, _lock, _awake = None, threading.Lock(), threading.Event()


os.register_at_fork(after_in_child=_forget)
