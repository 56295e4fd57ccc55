"""Handovers over the API: list them, read one, claim it, note, release it, resolve it."""

from typing import Any, ClassVar, cast

from django.db.models import Q, QuerySet
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from approvals import handover_shapes, handovers
from approvals.handover_shapes import HandoverOut, Handovers, HandoversQuery, NewNote, Resolution
from approvals.handover_words import word
from approvals.handovers import STATES, State
from runs.api.auth import actor_of
from runs.api.bodies import Nothing
from runs.api.endpoint import Endpoint, handles, run_of, sees, sent
from runs.api.openapi import parameters, problems
from runs.api.reading import read_body, read_query
from runs.api.runs import RUN

NOW = OpenApiResponse(HandoverOut, "The handover, as it is now.")


def shown(run_id: int) -> Response:
    """The handover as it is now. Raises NotFound."""
    return sent(handover_shapes.whole(word(handovers.read(run_id))))


class AllHandovers(Endpoint):
    """All handovers."""

    rules: ClassVar = {"GET": sees}

    @extend_schema(
        operation_id="handovers",
        tags=["handovers"],
        parameters=parameters(HandoversQuery),
        responses={200: Handovers, **problems(422)},
    )
    def get(self, request: Request) -> Response:
        """List handovers, the open ones first."""
        query = read_query(HandoversQuery, request)
        rows = handovers.ranked(query.state)
        if agent := actor_of(request).agent:
            rows = rows.filter(thread__agent=agent)
        found = list(_after(rows, query.cursor).order_by("rank", "pk")[: query.limit + 1])
        shown = found[: query.limit]
        items = [handover_shapes.summary(item) for item in handovers.with_claims(shown)]
        return sent(Handovers(items=items, next=_cursor(shown[-1]) if len(found) > query.limit else None))


def _after(rows: "QuerySet[Any, Any]", cursor: str | None) -> "QuerySet[Any, Any]":
    """The rows after a cursor, which names the state and the run of the last one: `open-1042`."""
    if cursor is None:
        return rows
    state, _, pk = cursor.partition("-")
    rank = STATES.index(cast(State, state))
    return rows.filter(Q(rank__gt=rank) | Q(rank=rank, pk__gt=int(pk)))


def _cursor(run: Any) -> str:
    return f"{STATES[run.rank]}-{run.pk}"


class OneHandover(Endpoint):
    """One handover."""

    rules: ClassVar = {"GET": sees}

    @extend_schema(
        operation_id="handover",
        tags=["handovers"],
        parameters=[RUN],
        responses={200: HandoverOut, **problems(404)},
    )
    def get(self, request: Request, run: int) -> Response:
        """Read the handover of a run: what was done, what was not, what the customer was told, what is next."""
        run_of(request, run)
        return shown(run)


class ClaimHandover(Endpoint):
    """Take care of a handover."""

    rules: ClassVar = {"POST": handles}

    @extend_schema(
        operation_id="claim_handover",
        tags=["handovers"],
        parameters=[RUN],
        request=Nothing,
        responses={200: NOW, **problems(403, 404, 409, 422)},
    )
    def post(self, request: Request, run: int) -> Response:
        """Claim a handover. Who comes second is told who has it, and since when."""
        found = run_of(request, run)
        read_body(Nothing, request)
        handovers.claim(actor_of(request), found)
        return shown(run)


class ReleaseHandover(Endpoint):
    """Give a handover back."""

    rules: ClassVar = {"POST": handles}

    @extend_schema(
        operation_id="release_handover",
        tags=["handovers"],
        parameters=[RUN],
        request=Nothing,
        responses={200: NOW, **problems(403, 404, 409, 422)},
    )
    def post(self, request: Request, run: int) -> Response:
        """Release a handover that you have claimed; an operator releases anybody's."""
        found = run_of(request, run)
        read_body(Nothing, request)
        handovers.release(actor_of(request), found)
        return shown(run)


class HandoverNotes(Endpoint):
    """The notes of a handover."""

    rules: ClassVar = {"POST": handles}

    @extend_schema(
        operation_id="note_handover",
        tags=["handovers"],
        parameters=[RUN],
        request=NewNote,
        responses={200: NOW, **problems(403, 404, 422)},
    )
    def post(self, request: Request, run: int) -> Response:
        """Write a note beside a handover, whoever has it."""
        found = run_of(request, run)
        body = read_body(NewNote, request)
        handovers.note(actor_of(request), found, body.text)
        return shown(run)


class ResolveHandover(Endpoint):
    """The end of a handover."""

    rules: ClassVar = {"POST": handles}

    @extend_schema(
        operation_id="resolve_handover",
        tags=["handovers"],
        parameters=[RUN],
        request=Resolution,
        responses={200: NOW, **problems(403, 404, 409, 422)},
    )
    def post(self, request: Request, run: int) -> Response:
        """Resolve a handover that you have claimed, with what was done."""
        found = run_of(request, run)
        body = read_body(Resolution, request)
        handovers.resolve(actor_of(request), found, body.done)
        return shown(run)
