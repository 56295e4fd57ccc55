"""The list of handovers: the open ones, mine, those of others, the resolved ones; a page at a time."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Prefetch, QuerySet

from approvals.handover_words import LOOKS, facts_of, reason_of
from approvals.handovers import STATES, Handover, of_person, of_state, with_claims
from runs.access import Actor
from runs.agentfile import spec_of
from runs.models import Run, Step
from runs.views.looks import Look

PAGE = 50
KINDS = {"open": "Open", "mine": "Mine", "claimed": "Claimed", "resolved": "Resolved"}


@dataclass(frozen=True)
class Row:
    """One handover of the list."""

    run: Run
    look: Look
    title: str
    reason: str
    tools: str
    held_by: str
    resolved_at: datetime | None


@dataclass(frozen=True)
class Listing:
    """One page of them; `after` is the cursor of the next one, '' on the last."""

    kind: str
    rows: tuple[Row, ...]
    after: str
    is_first: bool


def listing(kind: str, actor: Actor, after: str = "") -> Listing:
    """The handovers of a kind, the one that waits longest first; the resolved ones newest first. Four queries."""
    kind = kind if kind in KINDS else "open"
    state = next((state for state in STATES if state == kind), None)
    rows = of_state(state) if state else of_person(actor)
    steps = Step.objects.only("run_id", "number", "tool", "state", "undoes_id").order_by("number")
    rows = rows.prefetch_related(Prefetch("steps", steps, to_attr="listed_steps"))
    found = list(_from(rows, after, newest_first=kind == "resolved")[: PAGE + 1])
    shown = found[:PAGE]
    more = _cursor(shown[-1]) if len(found) > PAGE else ""
    return Listing(kind, tuple(_row(item) for item in with_claims(shown)), more, not after)


def _row(handover: Handover) -> Row:
    run: Any = handover.run
    title, tools = facts_of(run, run.listed_steps, spec_of(run.thread.agent))
    return Row(
        run=run,
        look=LOOKS[handover.state],
        title=title,
        reason=reason_of(run),
        tools=tools,
        held_by=handover.claim.by if handover.claim else "",
        resolved_at=handover.claim.resolved_at if handover.claim else None,
    )


def _from(rows: "QuerySet[Any, Any]", after: str, *, newest_first: bool) -> "QuerySet[Any, Any]":
    """The rows after a cursor; one that is none of ours starts at the top."""
    rows = rows.order_by("-handover_at", "-pk") if newest_first else rows.order_by("handover_at", "pk")
    moment, _, pk = after.rpartition("_")
    try:
        opened = datetime.fromisoformat(moment)
    except ValueError:
        return rows
    if opened.tzinfo is None or not (pk.isascii() and pk.isdigit() and len(pk) < 19):
        return rows
    if newest_first:
        return rows.filter(handover_at__lte=opened).exclude(handover_at=opened, pk__gte=int(pk))
    return rows.filter(handover_at__gte=opened).exclude(handover_at=opened, pk__lte=int(pk))


def _cursor(run: Run) -> str:
    return f"{run.handover_at.isoformat()}_{run.pk}" if run.handover_at else ""
