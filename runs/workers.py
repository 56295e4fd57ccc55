"""Which processes there are: each says so every few seconds, by the database's clock.

A process and all that it forks are a family. So the owner of a lease, `host:pid:family:random`, says which worker it
belongs to, though it is another process than the supervisor that the worker's row is named after, `host:pid:family`.
"""

import functools
import importlib.metadata
import logging
import os
import secrets
import socket
import threading
from contextlib import suppress
from datetime import datetime, timedelta

import psutil
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models.functions import Now

from runs.models import Worker

log = logging.getLogger(__name__)
FRESH = timedelta(seconds=15)
BEAT_SECONDS = 5.0
WORKS, FINISHES, RESTS = "works", "finishes", "rests"  # what a worker says that it does
PAUSED, DRAINED = "paused", "drained"  # what people want of it

_family = secrets.token_hex(4)


def own_name() -> str:
    """`host:pid:family` of this process."""
    return f"{socket.gethostname()}:{os.getpid()}:{_family}"


def family_of(name: str) -> str:
    """The family of a process, or of the owner of a lease; '' of a name that is none of ours."""
    return name.split(":")[2] if name.count(":") >= 2 else ""


@functools.cache
def version() -> str:
    """Of the product, as it is installed here."""
    try:
        return importlib.metadata.version("stalwart")
    except importlib.metadata.PackageNotFoundError:
        return ""


def beat(name: str, *, kind: str = "worker", doing: str = WORKS) -> str:
    """This process is alive. Returns what people want of it: PAUSED, DRAINED, or ''."""
    said = {"seen_at": Now(), "stopped_at": None, "kind": kind, "doing": doing, "version": version()}
    worker, _ = Worker.objects.update_or_create(name=name, defaults=said)
    return worker.wanted


def stopped(name: str) -> None:
    """This process has stopped, and says so."""
    Worker.objects.filter(name=name).update(stopped_at=Now())


class Heartbeat:
    """Beats for this process in a thread of its own, while the process does something else."""

    def __init__(self, kind: str) -> None:
        self._kind, self._stop = kind, threading.Event()
        self._thread = threading.Thread(target=self._beat, name="beat", daemon=True)

    def start(self) -> None:
        """Begin; returns at once."""
        self._thread.start()

    def stop(self) -> None:
        """Say that this process has stopped."""
        self._stop.set()
        self._thread.join(2)
        with suppress(DatabaseError):
            stopped(own_name())

    def _beat(self) -> None:
        while not self._stop.is_set():
            try:
                beat(own_name(), kind=self._kind)
            except DatabaseError as error:
                log.warning("The heartbeat could not be written, and is tried again: %s", error)
            finally:
                connection.close()  # this thread's own; seconds pass until it is needed again
            self._stop.wait(BEAT_SECONDS)


def alive() -> bool:
    """Some worker is alive. One that is paused lives too: what waits for it is not to be done by others."""
    return Worker.objects.carrying().filter(seen_at__gt=Now() - FRESH).exists()


def all_paused() -> bool:
    """There are workers, and nobody takes a run before one of them is resumed."""
    living = Worker.objects.carrying().filter(seen_at__gt=Now() - FRESH)
    return living.exists() and not living.exclude(wanted=PAUSED).exists()


def cause_of_death(owner: str, lease_ended: datetime) -> str:
    """Why `owner` (`host:pid:…`) holds its run no more: deploy, killed, or lost_lease where its process lives.

    A deploy is a worker of its host that was told to stop and said so after the run was last seen alive. Of
    another host's processes nothing more is known: they count as killed.
    """
    host, _, rest = owner.partition(":")
    last_seen = lease_ended - timedelta(seconds=settings.LEASE_SECONDS)
    of_host = Worker.objects.filter(kind="worker", name__startswith=f"{host}:")
    if of_host.filter(stopped_at__gte=last_seen).exists():
        return "deploy"
    return "lost_lease" if host == socket.gethostname() and lives(rest.partition(":")[0]) else "killed"


def lives(pid: str) -> bool:
    """A zombie does not: nobody has asked yet how it ended."""
    try:
        return bool(psutil.Process(int(pid)).status() != psutil.STATUS_ZOMBIE)
    except (ValueError, psutil.Error):
        return False
