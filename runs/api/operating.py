"""What an operator does with a run that has ended or rests, and the whole of its record."""

from collections.abc import Iterator
from typing import ClassVar

from django.http import StreamingHttpResponse
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from runs import services
from runs.api import bodies
from runs.api.auth import actor_of
from runs.api.endpoint import Endpoint, operates, run_of, sees
from runs.api.openapi import problems
from runs.api.reading import read_body
from runs.api.runs import ACCEPTED, RUN, shown
from runs.journal import lines
from runs.models import Run

JSON_LINES = "application/jsonl"


class UndoRun(Endpoint):
    """Undo a run from outside."""

    rules: ClassVar = {"POST": operates}

    @extend_schema(
        operation_id="undo_run",
        tags=["runs"],
        parameters=[RUN],
        request=bodies.Nothing,
        responses={202: ACCEPTED, **problems(403, 404, 409, 422)},
    )
    def post(self, request: Request, run: int) -> Response:
        """Undo a run that has ended: its writes that can be undone, latest first, without asking again."""
        found = run_of(request, run)
        read_body(bodies.Nothing, request)
        services.undo(actor_of(request), found)
        return shown(run, 202)


class ResumeRun(Endpoint):
    """Wake a worker for a run."""

    rules: ClassVar = {"POST": operates}

    @extend_schema(
        operation_id="resume_run",
        tags=["runs"],
        parameters=[RUN],
        request=bodies.Nothing,
        responses={202: ACCEPTED, **problems(403, 404, 409, 422)},
    )
    def post(self, request: Request, run: int) -> Response:
        """Have a worker look at a live run now; one that a live worker holds is a 409 `run-leased`."""
        found = run_of(request, run)
        read_body(bodies.Nothing, request)
        services.resume(actor_of(request), found)
        return shown(run, 202)


class RunJournal(Endpoint):
    """The record of a run, whole."""

    rules: ClassVar = {"GET": sees}

    @extend_schema(
        operation_id="run_journal",
        tags=["runs"],
        parameters=[RUN],
        responses={
            (200, JSON_LINES): OpenApiResponse(str, "One event a line, each a JSON object."),
            **problems(404),
        },
    )
    def get(self, request: Request, run: int) -> StreamingHttpResponse:
        """Stream all events of a run as JSON Lines, oldest first."""
        return StreamingHttpResponse(_bytes(run_of(request, run)), content_type=JSON_LINES)


def _bytes(run: Run) -> Iterator[bytes]:
    for line in lines(run):
        yield f"{line}\n".encode()
