"""The runs of a search as a file: streamed, so that a long one needs no memory and begins at once."""

import csv
import json
from collections.abc import Iterator
from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery
from django.http import StreamingHttpResponse

from runs.models import Message, Run

COLUMNS = ("run", "state", "agent", "user", "ticket", "subject", "task", "started_at", "ended_at", "reply")
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet would calculate a cell that begins so


def as_csv(runs: "QuerySet[Run, Run]") -> StreamingHttpResponse:
    """One line a run, under a line of names."""
    return _file(_csv_lines(runs), "text/csv; charset=utf-8", "runs.csv")


def as_json(runs: "QuerySet[Run, Run]") -> StreamingHttpResponse:
    """One array of objects, a line each."""
    return _file(_json_lines(runs), "application/json", "runs.json")


def _file(lines: Iterator[str], kind: str, name: str) -> StreamingHttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingHttpResponse(lines, content_type=kind, headers=headers)


class _Line:
    """What csv writes to: it keeps nothing."""

    def write(self, line: str) -> str:
        return line


def _csv_lines(runs: "QuerySet[Run, Run]") -> Iterator[str]:
    writer = csv.writer(_Line())
    yield writer.writerow(COLUMNS)
    for row in _rows(runs):
        yield writer.writerow([_cell(row[name]) for name in COLUMNS])


def _cell(value: str | None) -> str:
    text = value or ""
    return f"'{text}" if text.startswith(FORMULA) else text


def _json_lines(runs: "QuerySet[Run, Run]") -> Iterator[str]:
    before = "[\n"
    for row in _rows(runs):
        yield before + json.dumps(row, ensure_ascii=False)
        before = ",\n"
    yield "[]\n" if before == "[\n" else "\n]\n"


def _rows(runs: "QuerySet[Run, Run]") -> Iterator[dict[str, Any]]:
    """Newest first. Times are ISO 8601 with their zone; what is not known is null."""
    said = Message.objects.filter(run=OuterRef("pk"), role="agent").order_by("-pk")
    found = runs.order_by("-pk").select_related("thread").annotate(reply=Subquery(said.values("text")[:1]))
    for run in found.iterator(chunk_size=500):
        yield {
            "run": run.name,
            "state": run.state,
            "agent": run.thread.agent,
            "user": run.thread.user,
            "ticket": run.ticket,
            "subject": run.subject,
            "task": run.task,
            "started_at": run.created_at.isoformat(),
            "ended_at": run.ended_at.isoformat() if run.ended_at else None,
            "reply": run.reply,
        }
