"""The record of a run as JSON Lines: one event a line, oldest first, however many there are."""

import json
from collections.abc import Iterator
from typing import Any

from runs.models import Event, Run

CHUNK = 1000  # rows read at a time


def lines(run: Run) -> Iterator[str]:
    """One JSON object a line, without its line break; rows are read as they are asked for."""
    for event in run.events.select_related("step").order_by("pk").iterator(chunk_size=CHUNK):
        yield json.dumps(as_json(event), ensure_ascii=False)


def as_json(event: Event) -> dict[str, Any]:
    """One event; what does not exist is null."""
    return {
        "id": event.pk,
        "run": f"R-{event.run_id}",
        "kind": event.kind,
        "at": event.at.isoformat(),
        "actor": event.actor,
        "step": event.step.number if event.step else None,
        "before": event.before or None,
        "after": event.after or None,
        "data": event.data,
    }
