"""What stands around every page: the rail with its counts, and who is signed in."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Min
from django.http import HttpResponse
from django.shortcuts import render

from runs.access import may_operate
from runs.models import Step


@dataclass(frozen=True)
class Tally:
    """How many wait, and since when the oldest."""

    label: str
    kind: str
    count: int = 0
    oldest: datetime | None = None


LABELS = {
    "confirm": ("confirmation", "confirmations"),
    "outcome": ("unknown outcome", "unknown outcomes"),
    "undo": ("stuck undo", "stuck undos"),
    "handover": ("handover", "handovers"),
}
# Counts that another app keeps, each with the time of its oldest: the people's side counts its open handovers.
COUNTED: dict[str, Callable[[], tuple[int, datetime | None]]] = {}


def tallies() -> list[Tally]:
    """The four counts of what needs a person. Two queries, each on a partial index."""
    rows = Step.objects.asking().order_by().values_list("asks").annotate(Count("pk"), Min("asked_at"))
    found = {asks: (count, oldest) for asks, count, oldest in rows}
    found |= {kind: count() for kind, count in COUNTED.items()}
    return [_tally(kind, *found.get(kind, (0, None))) for kind in LABELS]


def _tally(kind: str, count: int, oldest: datetime | None) -> Tally:
    one, many = LABELS[kind]
    return Tally(one if count == 1 else many, kind, count, oldest)


def render_page(
    request: Any, template: str, context: dict[str, Any] | None = None, *, status: int = 200, area: str = ""
) -> HttpResponse:
    """A whole page. `area` is the entry of the rail that it belongs to."""
    counts = tallies()
    shell = {
        "area": area,
        "tallies": counts,
        "waiting_total": sum(tally.count for tally in counts),
        "person": request.user.get_full_name() or request.user.get_username(),
        "roles": _role_words(request),
        "operates": (actor := getattr(request, "actor", None)) is not None and may_operate(actor),
    }
    return render(request, template, shell | (context or {}), status=status)


def _role_words(request: Any) -> str:
    roles = getattr(request, "actor", None) and request.actor.roles
    for role in ("admin", "operator", "lead", "support"):
        if roles and role in roles:
            return role.capitalize()
    return "No role"
