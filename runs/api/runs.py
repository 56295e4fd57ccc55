"""Runs: start, follow, add to, close and cancel them."""

from typing import ClassVar

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from runs import services
from runs.agentfile import spec_of
from runs.api import bodies, shapes, showing
from runs.api.auth import actor_of
from runs.api.endpoint import Endpoint, operates, run_of, sees, sent, starts, thread_of
from runs.api.idempotency import once
from runs.api.openapi import IDEMPOTENCY_KEY, REPLAYED, parameters, path, problems
from runs.api.pages import newest_first, oldest_first
from runs.api.polling import wait_for_change
from runs.api.reading import read_body, read_query
from runs.api.threads import start_thread
from runs.models import Event, Run

RUN = path("run", "The run's id; its number alone will do.", "R-1042")
ACCEPTED = OpenApiResponse(shapes.Run, "Accepted; a worker carries it out.")


def shown(run_id: int, status: int = 200, *, replayed: bool = False) -> Response:
    """The run as it is now; where this request made or moved it, with its Location."""
    run = showing.run(showing.whole_run(run_id))
    return sent(run, status, run.links.self if status != 200 else "", replayed=replayed)


class Runs(Endpoint):
    """All runs."""

    rules: ClassVar = {"GET": sees, "POST": starts}

    @extend_schema(
        operation_id="runs",
        tags=["runs"],
        parameters=parameters(bodies.RunsQuery),
        responses={200: shapes.Runs, **problems(422)},
    )
    def get(self, request: Request) -> Response:
        """List runs, newest first."""
        query = read_query(bodies.RunsQuery, request)
        wanted = {
            "state": query.state,
            "thread": query.thread,
            "ticket": query.ticket,
            "thread__agent": actor_of(request).agent or None,
        }
        runs = Run.objects.filter(**{name: value for name, value in wanted.items() if value is not None})
        found, following = newest_first(showing.short_runs(runs), query)
        return sent(shapes.Runs(items=[showing.summary(run) for run in found], next=following))

    @extend_schema(
        operation_id="start_run",
        tags=["runs"],
        parameters=[IDEMPOTENCY_KEY],
        request=bodies.NewRun,
        responses={
            200: REPLAYED,
            201: OpenApiResponse(shapes.Run, "Started; a worker carries it out."),
            **problems(403, 404, 409, 422, 503),
        },
    )
    def post(self, request: Request) -> Response:
        """Start a run. Send an Idempotency-Key, so that it can be sent again when no answer came."""
        body = read_body(bodies.NewRun, request)
        run, replayed = once(request, lambda: _start(request, body))
        return shown(run.pk, 200 if replayed else 201, replayed=replayed)


def _start(request: Request, body: bodies.NewRun) -> Run:
    """Inside the transaction of `once`: a thread that was made for a run that is refused goes with it."""
    if body.thread:
        thread = thread_of(request, body.thread, "/thread")
    else:
        thread = start_thread(request, body.agent, body.user)
    wanted = services.RunRequest(
        text=body.text,
        message=body.message,
        steps=[services.Proposal(step.tool, step.args, step.text) for step in body.steps],
        opened=body.open,
        task=body.task,
        ticket=body.ticket,
        subject=body.subject,
        faults=body.faults,
    )
    return services.start(actor_of(request), thread, wanted)


class OneRun(Endpoint):
    """One run."""

    rules: ClassVar = {"GET": sees}

    @extend_schema(
        operation_id="run",
        tags=["runs"],
        parameters=[RUN, *parameters(bodies.WaitQuery)],
        responses={200: shapes.Run, **problems(404, 422)},
    )
    def get(self, request: Request, run: int) -> Response:
        """Read a run; with `wait`, once it changed, waits for somebody, has ended, or the time is over."""
        query = read_query(bodies.WaitQuery, request)
        run_of(request, run)
        wait_for_change(run, query.after, query.wait)
        return shown(run)


class RunEvents(Endpoint):
    """The record of a run."""

    rules: ClassVar = {"GET": sees}

    @extend_schema(
        operation_id="run_events",
        tags=["runs"],
        parameters=[RUN, *parameters(bodies.Page)],
        responses={200: shapes.Events, **problems(404, 422)},
    )
    def get(self, request: Request, run: int) -> Response:
        """List the events of a run, oldest first."""
        query = read_query(bodies.Page, request)
        of = run_of(request, run)
        found, following = oldest_first(Event.objects.filter(run=of).select_related("step__undoes"), query)
        spec = spec_of(of.thread.agent)
        return sent(shapes.Events(items=[showing.event(item, spec) for item in found], next=following))


class RunSteps(Endpoint):
    """The calls of an open run."""

    rules: ClassVar = {"POST": starts}

    @extend_schema(
        operation_id="propose_step",
        tags=["runs"],
        parameters=[RUN, IDEMPOTENCY_KEY],
        request=bodies.NewStep,
        responses={200: REPLAYED, 202: ACCEPTED, **problems(403, 404, 409, 422)},
    )
    def post(self, request: Request, run: int) -> Response:
        """Propose the next call of an open run."""
        found = run_of(request, run)
        body = read_body(bodies.NewStep, request)
        call = services.Proposal(body.tool, body.args, body.text)

        def propose() -> Run:
            return services.propose(actor_of(request), found, call).run

        changed, replayed = once(request, propose)
        return shown(changed.pk, 200 if replayed else 202, replayed=replayed)


class CloseRun(Endpoint):
    """The end of an open run."""

    rules: ClassVar = {"POST": starts}

    @extend_schema(
        operation_id="close_run",
        tags=["runs"],
        parameters=[RUN],
        request=bodies.Nothing,
        responses={202: ACCEPTED, **problems(403, 404, 409, 422)},
    )
    def post(self, request: Request, run: int) -> Response:
        """Close an open run: its agent has nothing more to propose."""
        found = run_of(request, run)
        read_body(bodies.Nothing, request)
        services.close(actor_of(request), found)
        return shown(run, 202)


class CancelRun(Endpoint):
    """Stop a run from outside."""

    rules: ClassVar = {"POST": operates}

    @extend_schema(
        operation_id="cancel_run",
        tags=["runs"],
        parameters=[RUN],
        request=bodies.Cancel,
        responses={202: ACCEPTED, **problems(403, 404, 409, 422)},
    )
    def post(self, request: Request, run: int) -> Response:
        """Cancel a live run: it stops, and what it did is undone. A call in flight is not killed."""
        found = run_of(request, run)
        body = read_body(bodies.Cancel, request)
        services.cancel(actor_of(request), found, body.reason)
        return shown(run, 202)
