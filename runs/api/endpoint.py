"""The base of every endpoint: a token, a rule, strict JSON, no caching.

Each endpoint says which of these rules each of its methods asks for. A rule looks at the caller alone; what
depends on the agent or the question (may_see_agent, may_start, may_answer) is asked where that is known.

| rule | who passes | of runs/access.py |
| --- | --- | --- |
| everybody | anybody, without a token | |
| sees | every token | may_see |
| starts | an agent's token | may_start |
| answers | the token of a person | Actor.may_answer_at_all, then may_answer |
| handles | the token of a person | may_handle |
| operates | an operator's token | may_operate |
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar
from uuid import UUID

from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import NotAuthenticated
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.permissions import BasePermission
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from runs.access import Actor, may_handle, may_operate, may_see, may_see_agent, may_start
from runs.api import shapes
from runs.api.auth import BearerToken, actor_of
from runs.api.problems import handle
from runs.api.reading import StrictJSON
from runs.errors import NotAllowed, NotFound
from runs.models import Run, Thread

Rule = Callable[[Actor], bool]


def everybody(actor: Actor | None) -> bool:
    """No token is needed."""
    return True


def sees(actor: Actor) -> bool:
    """Look at what its agent may see; a person's token sees all."""
    return may_see(actor)


def starts(actor: Actor) -> bool:
    """Start runs and propose calls."""
    return may_start(actor, actor.agent)


def answers(actor: Actor) -> bool:
    """Answer a question."""
    return actor.may_answer_at_all


def handles(actor: Actor) -> bool:
    """Take care of a handover."""
    return may_handle(actor)


def operates(actor: Actor) -> bool:
    """Cancel, undo and resume a run; see, pause, resume and drain workers."""
    return may_operate(actor)


WHY: Mapping[Rule, str] = {
    sees: "This token may not look at this.",
    starts: "Only an agent's token starts runs and proposes calls.",
    answers: "An agent's token can never answer; a person's token does.",
    handles: "A handover is for a person: an agent's token never claims, notes or resolves it.",
    operates: "Only an operator's token does this.",
}


class ItsRule(BasePermission):
    """The rule that the endpoint names for this method; a method without a rule is a 405 later."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        """Raises NotAuthenticated (401), NotAllowed (403)."""
        assert isinstance(view, Endpoint)
        method = "GET" if request.method == "HEAD" else str(request.method)
        rule = view.rules.get(method)
        if rule is everybody or (rule is None and everybody in view.rules.values()):
            return True
        if request.auth is None:
            raise NotAuthenticated
        if rule is not None and not rule(actor_of(request)):
            raise NotAllowed(WHY[rule])
        return True


class JSONAlone(BaseContentNegotiation):
    """JSON is all there is, whatever Accept says (RFC 9110, 12.4.1)."""

    def select_parser(self, request: Request, parsers: Any) -> BaseParser | None:
        """The parser of the body's media type; None is a 415."""
        media_type = str(request.content_type).partition(";")[0].strip().lower()
        return next((parser for parser in parsers if parser.media_type == media_type), None)

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        """The first."""
        return renderers[0], renderers[0].media_type


class Endpoint(APIView):
    """One address of the API."""

    rules: ClassVar[Mapping[str, Rule]] = {}
    authentication_classes: Sequence[type[BaseAuthentication]] = (BearerToken,)
    permission_classes = (ItsRule,)
    parser_classes = (StrictJSON,)
    renderer_classes: Sequence[type[BaseRenderer]] = (JSONRenderer,)
    content_negotiation_class = JSONAlone
    metadata_class = None  # OPTIONS is a 405

    def get_exception_handler(self) -> Any:
        """Every error is a problem document."""
        return handle

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        """Nothing of it is kept by a cache."""
        final = super().finalize_response(request, response, *args, **kwargs)
        final["Cache-Control"] = "no-store"
        return final


class NoSuchAddress(Endpoint):
    """Every other address under /api/v1: a problem document too."""

    schema = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Any method, with or without a token. Raises NotFound."""
        raise NotFound("There is nothing at this address.")


def sent(body: shapes.Out, status: int = 200, location: str = "", *, replayed: bool = False) -> Response:
    """An answer. `replayed` says that an earlier request with the same Idempotency-Key did it."""
    headers = {"Location": location} if location else {}
    if replayed:
        headers["Idempotency-Replayed"] = "true"
    return Response(body.model_dump(mode="json"), status=status, headers=headers)


def run_of(request: Request, number: int) -> Run:
    """This run, with its thread. Raises NotFound, also where it is another agent's."""
    run = Run.objects.select_related("thread").filter(pk=number).first()
    if run is None or not may_see_agent(actor_of(request), run.thread.agent):
        raise NotFound(f"There is no run R-{number}.")
    return run


def thread_of(request: Request, thread_id: UUID, field: str = "") -> Thread:
    """This thread. Raises NotFound, also where it is another agent's."""
    thread = Thread.objects.filter(pk=thread_id).first()
    if thread is None or not may_see_agent(actor_of(request), thread.agent):
        raise NotFound("There is no such thread.", field=field)
    return thread
