"""Which processes carry runs out: each says so every few seconds, by the database's clock."""

import socket
from collections.abc import Iterable
from datetime import timedelta

from django.db.models.functions import Now

from runs.models import Run, Worker
from runs.states import RUN_BACKWARD, RUN_FORWARD

FRESH = timedelta(seconds=15)


def beat(name: str) -> None:
    """This worker is alive."""
    Worker.objects.update_or_create(name=name, defaults={"seen_at": Now(), "stopped_at": None})


def stopped(name: str) -> None:
    """This worker has stopped, and says so."""
    Worker.objects.filter(name=name).update(stopped_at=Now())


def alive() -> bool:
    """Some worker is alive."""
    return Worker.objects.filter(stopped_at=None, seen_at__gt=Now() - FRESH).exists()


def hold_runs(pids: Iterable[int]) -> bool:
    """One of these processes of this machine carries out a run: a lease is kept as long as that takes."""
    names = tuple(f"{socket.gethostname()}:{pid}:" for pid in pids)  # as engine.worker_name() has it
    held = Run.objects.filter(state__in=RUN_FORWARD | RUN_BACKWARD, lease_expires_at__gt=Now())
    return any(owner.startswith(names) for owner in held.values_list("lease_owner", flat=True))
