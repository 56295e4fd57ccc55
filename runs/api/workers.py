"""Workers over the API: who is alive, what each holds, what waits; pause, resume, drain."""

from typing import ClassVar

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from runs import services
from runs.api import bodies, shapes
from runs.api.auth import actor_of
from runs.api.endpoint import Endpoint, operates, sent
from runs.api.openapi import path, problems
from runs.api.reading import read_body
from runs.roster import Backlog, Held, Process, Roster, roster

WORKER = path("worker", "The id of a worker.", "12")
TOLD = OpenApiResponse(shapes.Workers, "All of them, as they are now. It hears of the order within seconds.")


def shape(there: Roster) -> shapes.Workers:
    """What is sent of all of them."""
    return shapes.Workers(
        items=[_process(process) for process in there.processes], waiting=_waiting(there.backlog)
    )


def _process(process: Process) -> shapes.Worker:
    row, order = process.worker, process.order
    return shapes.Worker(
        id=row.pk,
        name=process.name,
        kind=row.kind,
        state=process.state,
        version=row.version,
        holds=[_held(run) for run in process.holds],
        order=shapes.WorkerOrder(do=order.what, by=order.by, reason=order.reason, at=order.at)
        if order
        else None,
        started_at=row.started_at,
        seen_at=row.seen_at,
        stopped_at=row.stopped_at,
    )


def _held(run: Held) -> shapes.HeldRun:
    return shapes.HeldRun(
        run=run.name, since=run.since, lease_until=run.until, tool=run.tool or None, sent_at=run.sent_at
    )


def _waiting(waits: Backlog) -> shapes.Backlog:
    return shapes.Backlog(
        runs=waits.runs,
        oldest_run_at=waits.oldest_run,
        nudges=waits.nudges,
        oldest_nudge_at=waits.oldest_nudge,
        swept_at=waits.swept_at,
    )


class Workers(Endpoint):
    """All processes."""

    rules: ClassVar = {"GET": operates}

    @extend_schema(operation_id="workers", tags=["workers"], responses={200: shapes.Workers, **problems(403)})
    def get(self, request: Request) -> Response:
        """List the processes: which are alive, what each holds, and what waits for a worker."""
        return sent(shape(roster()))


class PauseWorker(Endpoint):
    """Pause a worker."""

    rules: ClassVar = {"POST": operates}

    @extend_schema(
        operation_id="pause_worker",
        tags=["workers"],
        parameters=[WORKER],
        request=bodies.Order,
        responses={202: TOLD, **problems(403, 404, 409, 422)},
    )
    def post(self, request: Request, worker: int) -> Response:
        """Have a worker take no new run: what is in flight is finished, recorded and given back."""
        return _order(request, "pause", worker)


class ResumeWorker(Endpoint):
    """Resume a worker."""

    rules: ClassVar = {"POST": operates}

    @extend_schema(
        operation_id="resume_worker",
        tags=["workers"],
        parameters=[WORKER],
        request=bodies.Order,
        responses={202: TOLD, **problems(403, 404, 409, 422)},
    )
    def post(self, request: Request, worker: int) -> Response:
        """Have a paused worker take runs again."""
        return _order(request, "resume", worker)


class DrainWorker(Endpoint):
    """Drain a worker."""

    rules: ClassVar = {"POST": operates}

    @extend_schema(
        operation_id="drain_worker",
        tags=["workers"],
        parameters=[WORKER],
        request=bodies.Order,
        responses={202: TOLD, **problems(403, 404, 409, 422)},
    )
    def post(self, request: Request, worker: int) -> Response:
        """Have a worker finish what is in flight, and end. Nothing takes it back."""
        return _order(request, "drain", worker)


def _order(request: Request, what: str, worker: int) -> Response:
    body = read_body(bodies.Order, request)
    services.order(actor_of(request), what, worker, body.reason)
    return sent(shape(roster()), 202)
