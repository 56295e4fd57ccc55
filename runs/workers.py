"""Which processes carry runs out: each says so every few seconds, by the database's clock."""

from datetime import timedelta

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
