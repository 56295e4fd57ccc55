"""Conversations: start one, read it, say something."""

from typing import ClassVar
from uuid import UUID

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from runs import services
from runs.access import may_see_agent
from runs.api import bodies, shapes, showing
from runs.api.auth import actor_of
from runs.api.endpoint import Endpoint, sees, sent, starts, thread_of
from runs.api.idempotency import once
from runs.api.openapi import IDEMPOTENCY_KEY, REPLAYED, path, problems
from runs.api.reading import read_body
from runs.errors import NotFound
from runs.models import Thread

THREAD = path("thread", "The thread's id, a UUID.")


def start_thread(request: Request, agent: str, user: str) -> Thread:
    """A new thread. Raises NotFound, also for an agent that this token may not see."""
    if not may_see_agent(actor_of(request), agent):
        raise NotFound(f"There is no agent called {agent!r} for this token.", field="/agent")
    return services.start_thread(actor_of(request), agent, user)


class Threads(Endpoint):
    """All conversations."""

    rules: ClassVar = {"POST": starts}

    @extend_schema(
        operation_id="start_thread",
        tags=["threads"],
        request=bodies.NewThread,
        responses={201: shapes.Thread, **problems(403, 404, 422)},
    )
    def post(self, request: Request) -> Response:
        """Start a conversation."""
        body = read_body(bodies.NewThread, request)
        thread = showing.thread(start_thread(request, body.agent, body.user))
        return sent(thread, 201, thread.links.self)


class OneThread(Endpoint):
    """One conversation."""

    rules: ClassVar = {"GET": sees}

    @extend_schema(
        operation_id="thread",
        tags=["threads"],
        parameters=[THREAD],
        responses={200: shapes.Thread, **problems(404)},
    )
    def get(self, request: Request, thread: UUID) -> Response:
        """Read a conversation: what was said last, and the run that it waits for."""
        return sent(showing.thread(thread_of(request, thread)))


class Turns(Endpoint):
    """What the user says in a conversation."""

    rules: ClassVar = {"POST": starts}

    @extend_schema(
        operation_id="say",
        tags=["threads"],
        parameters=[THREAD, IDEMPOTENCY_KEY],
        request=bodies.NewTurn,
        responses={
            200: REPLAYED,
            202: OpenApiResponse(shapes.Run, "The run that the turn started."),
            **problems(403, 404, 409, 422, 503),
        },
    )
    def post(self, request: Request, thread: UUID) -> Response:
        """Say something: one turn, one run. What is not read as a whole is refused as a whole, or its model decides."""
        said = thread_of(request, thread)
        body = read_body(bodies.NewTurn, request)
        wanted = services.RunRequest(text=body.text, message=body.message, faults=body.faults)
        run, replayed = once(request, lambda: services.start(actor_of(request), said, wanted))
        whole = showing.run(showing.whole_run(run.pk))
        return sent(whole, 200 if replayed else 202, whole.links.self, replayed=replayed)
