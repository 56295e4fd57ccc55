"""The record of a run as JSON Lines: one event a line, oldest first, however many there are."""

import json
from collections.abc import Iterator
from typing import Any

from runs.agentfile import AgentSpec, spec_of
from runs.models import Event, Run
from runs.redaction import data_of

CHUNK = 1000  # rows read at a time


def lines(run: Run) -> Iterator[str]:
    """One JSON object a line, without its line break; rows are read as they are asked for."""
    spec = spec_of(run.thread.agent)
    events = run.events.select_related("step__undoes").order_by("pk")
    for event in events.iterator(chunk_size=CHUNK):
        yield json.dumps(as_json(event, spec), ensure_ascii=False)


def as_json(event: Event, spec: AgentSpec) -> dict[str, Any]:
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
        "data": data_of(event, spec),
    }
