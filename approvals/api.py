"""Questions over the API: read them, and answer them. A GET never decides."""

from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from approvals import models, services
from runs import services as run_services
from runs.access import may_answer, may_see_agent
from runs.api import bodies, shapes, showing
from runs.api.auth import actor_of
from runs.api.endpoint import Endpoint, answers, sees, sent
from runs.api.openapi import parameters, path, problems
from runs.api.pages import oldest_first
from runs.api.reading import read_body, read_query
from runs.errors import NotFound
from runs.models import Step

STEP = path("step", "The question's id: the id of its step.", "1207")


def question_of(request: Request, step_id: int) -> Step:
    """This question. Raises NotFound, also where it is another agent's, or where the step never asked."""
    steps = Step.objects.select_related("run__thread", "undoes", "entry").exclude(asks="")
    step = steps.filter(pk=step_id).first()
    if step is None or not may_see_agent(actor_of(request), step.run.thread.agent):
        raise NotFound("There is no such question.")
    return step


class Questions(Endpoint):
    """All open questions."""

    rules: ClassVar = {"GET": sees}

    @extend_schema(
        operation_id="questions",
        tags=["questions"],
        parameters=parameters(bodies.QuestionsQuery),
        responses={200: shapes.Questions, **problems(422)},
    )
    def get(self, request: Request) -> Response:
        """List what waits for a person, oldest step first."""
        query = read_query(bodies.QuestionsQuery, request)
        wanted = {"asks": query.kind, "run__thread__agent": actor_of(request).agent or None}
        steps = Step.objects.asking().select_related("run__thread", "undoes")
        found, following = oldest_first(
            steps.filter(**{name: value for name, value in wanted.items() if value is not None}), query
        )
        of_runs, looks = _steps_of({step.run_id for step in found}), showing.last_looks(found)
        items = [showing.question(step, of_runs[step.run_id], looks.get(step.pk)) for step in found]
        return sent(shapes.Questions(items=items, next=following))


def _steps_of(runs: set[int]) -> dict[int, list[Step]]:
    """The steps of these runs, by number, in one query."""
    steps: dict[int, list[Step]] = {run: [] for run in runs}
    for step in Step.objects.filter(run__in=runs).select_related("entry", "undoes").order_by("number"):
        steps[step.run_id].append(step)
    return steps


class OneQuestion(Endpoint):
    """One question."""

    rules: ClassVar = {"GET": sees}

    @extend_schema(
        operation_id="question",
        tags=["questions"],
        parameters=[STEP],
        responses={200: shapes.Question, **problems(404)},
    )
    def get(self, request: Request, step: int) -> Response:
        """Read a question, also after it was answered."""
        return sent(_shown(request, question_of(request, step)))


def _shown(request: Request, step: Step) -> shapes.Question:
    """Whoever may answer it sees all that they would answer for."""
    look, actor = showing.last_looks([step]).get(step.pk), actor_of(request)
    reveal = showing.is_open(step) and may_answer(actor, step)
    return showing.question(step, _steps_of({step.run_id})[step.run_id], look, reveal=reveal)


class LookUp(Endpoint):
    """What became of the call that a question asks about."""

    rules: ClassVar = {"POST": answers}

    @extend_schema(
        operation_id="look_up",
        tags=["questions"],
        parameters=[STEP],
        request=bodies.Nothing,
        responses={202: shapes.Question, **problems(403, 404, 409, 410, 422)},
    )
    def post(self, request: Request, step: int) -> Response:
        """Have a worker ask the service now. What it says stands in the question, or settles it."""
        question_of(request, step)
        read_body(bodies.Nothing, request)
        run_services.look_up(actor_of(request), step)
        return sent(_shown(request, question_of(request, step)), 202)


class Answers(Endpoint):
    """The answer to a question."""

    rules: ClassVar = {"POST": answers}

    @extend_schema(
        operation_id="answer",
        tags=["questions"],
        parameters=[STEP],
        request=bodies.NewAnswer,
        responses={200: shapes.Answer, **problems(403, 404, 409, 410, 422)},
    )
    def post(self, request: Request, step: int) -> Response:
        """Answer a question, once. The same nonce again returns what was stored, and does nothing."""
        question_of(request, step)
        body = read_body(bodies.NewAnswer, request)
        reply = services.Reply(
            answer=body.answer,
            digest=body.digest,
            nonce=body.nonce,
            reason=body.reason,
            reference=body.reference,
            result=body.result,
        )
        return sent(_shape(services.answer(actor_of(request), step, reply)))


def _shape(row: models.Answer) -> shapes.Answer:
    return shapes.Answer(
        question=row.step_id,
        run=row.step.run.name,
        answer=row.answer,
        digest=row.digest,
        by=row.by,
        at=row.at,
        reason=row.reason or None,
        reference=row.data.get("reference"),
        result=row.data.get("result"),
        links=shapes.AnswerLinks(
            question=showing.address("question", step=row.step_id), run=showing.run_address(row.step.run)
        ),
    )
