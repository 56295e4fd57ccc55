"""Which processes carry runs out: each says so every few seconds, by the database's clock."""

import socket
from datetime import datetime, timedelta

import psutil
from django.conf import settings
from django.db.models.functions import Now

from runs.models import Worker

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


def cause_of_death(owner: str, lease_ended: datetime) -> str:
    """Why `owner` (`host:pid:random`) holds its run no more: deploy, killed, or lost_lease where its process lives.

    A deploy is a worker of its host that was told to stop and said so after the run was last seen alive. Of
    another host's processes nothing more is known: they count as killed.
    """
    host, _, rest = owner.partition(":")
    last_seen = lease_ended - timedelta(seconds=settings.LEASE_SECONDS)
    if Worker.objects.filter(name__startswith=f"{host}:", stopped_at__gte=last_seen).exists():
        return "deploy"
    return "lost_lease" if host == socket.gethostname() and lives(rest.partition(":")[0]) else "killed"


def lives(pid: str) -> bool:
    """A zombie does not: nobody has asked yet how it ended."""
    try:
        return bool(psutil.Process(int(pid)).status() != psutil.STATUS_ZOMBIE)
    except (ValueError, psutil.Error):
        return False
