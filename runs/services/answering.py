"""Answering a question: one guarded update decides, bound to what the person saw. And having it looked up."""

from typing import Any

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from runs import queue
from runs.access import Actor, asked_for, may_answer
from runs.agentfile import agent
from runs.errors import (
    AlreadyAnswered,
    BadInput,
    DigestMismatch,
    Gone,
    NotFound,
    NotSettledYet,
    RunClosed,
)
from runs.loading import lookup_of
from runs.models import Event, Run, Step
from runs.services.refusals import require
from runs.states import PARKED, RUN_ENDS, StepState

ANSWERS = {
    "confirm": ("approve", "skip", "cancel_all"),
    "outcome": ("happened", "did_not_happen", "send_again"),
    "undo": ("retry", "done_by_hand", "abandon"),
}


def resolve(actor: Actor, step_id: int, answer: str, digest: str, data: dict[str, Any] | None = None) -> Step:
    """Write a person's answer on a parked step, bound to what they saw, and wake a worker.

    One guarded update decides between two people. Runs in the caller's transaction where there is one.
    Raises NotFound, NotAllowed, BadInput, DigestMismatch (409), AlreadyAnswered (409), Gone (410), NotSettledYet (409),
    RunClosed (409).
    """
    step = _question_for(actor, step_id)
    if answer not in ANSWERS[step.asks]:
        raise BadInput(f"The answers are: {', '.join(ANSWERS[step.asks])}.", field="/answer")
    with transaction.atomic():
        # The run's row is locked first, as the engine does, so that an answer and a commit of it take turns.
        Run.objects.filter(pk=step.run_id).update(version=F("version") + 1)
        parked = Step.objects.filter(pk=step_id, state__in=PARKED, digest=digest, answer="")
        if not parked.update(answer=answer, answered_by=actor.name, answer_data=data or {}):
            raise _why_not(step_id, digest)
        _to_one_that_has_ended(step, answer)
        if answer in ("did_not_happen", "send_again"):
            _refuse_if_early(step)
        Event.objects.create(
            run_id=step.run_id,
            step_id=step.pk,
            kind="question.answered",
            actor=actor.name,
            data={"answer": answer, "digest": digest, **(data or {})},
        )
        queue.nudge(step.run_id)
    step.refresh_from_db()
    return step


def _to_one_that_has_ended(step: Step, answer: str) -> None:
    """What nobody knew when the run was ended as it was (runs/halts.py): the engine reads the answer all the same."""
    ended = Run.objects.filter(pk=step.run_id, state__in=RUN_ENDS)
    if ended.update(late=True) and answer == "send_again":
        raise RunClosed(f"{step.run.name} has ended: nothing is sent again. Say whether it happened.")


def _question_for(actor: Actor, step_id: int) -> Step:
    step = Step.objects.select_related("run__thread", "undoes").filter(pk=step_id).first()
    if step is None or not step.asks:
        raise NotFound("There is no such question.")
    require(
        not asked_for(actor, step), "You asked for this call, and a rule wants a second pair of eyes on it."
    )
    require(
        may_answer(actor, step), f"This question is for the role {step.approver}; ask somebody who has it."
    )
    return step


def look_up(actor: Actor, step_id: int) -> Step:
    """Have a worker ask the service now what became of an unknown call. What it says is recorded, or settles it.

    Asking again before that changes nothing. Raises NotFound, NotAllowed, BadInput (nothing can look it up),
    AlreadyAnswered (409), RunClosed (409), Gone (410).
    """
    step = _question_for(actor, step_id)
    spec = agent(step.run.thread.agent)
    if not lookup_of(step, spec.catalogue.get(step.tool), spec):
        raise BadInput("Nothing can look this up: find out where the call went, and answer.")
    if step.run.state in RUN_ENDS and step.state == StepState.UNKNOWN and not step.answer:
        raise RunClosed(
            f"{step.run.name} has ended: look where the call went yourself, and say whether it happened."
        )
    with transaction.atomic():
        Run.objects.filter(pk=step.run_id).update(version=F("version") + 1)
        alive = Step.objects.exclude(run__state__in=RUN_ENDS)
        open_question = alive.filter(pk=step_id, state=StepState.UNKNOWN, answer="")
        if open_question.filter(look_asked_at=None).update(look_asked_at=Now()):
            kind = "question.look_up_requested"
            Event.objects.create(run_id=step.run_id, step_id=step.pk, kind=kind, actor=actor.name)
        elif not open_question.exists():
            raise _why_not(step_id, step.digest)
        queue.nudge(step.run_id)
    step.refresh_from_db()
    return step


def _refuse_if_early(step: Step) -> None:
    """Until then the call can still be on the wire (docs/engine.md); the database's clock says when."""
    early = Step.objects.filter(pk=step.pk, settles_at__gt=Now()).first()
    if early and early.settles_at:
        when = timezone.localtime(early.settles_at)
        raise NotSettledYet(
            f"The call can still arrive until {when:%H:%M:%S %Z}; say it after that.",
            settles_at=early.settles_at.isoformat(),
        )


def _why_not(step_id: int, digest: str) -> Exception:
    """Who answered what and when; or what changed; or that the question was withdrawn."""
    step = Step.objects.select_related("run").get(pk=step_id)
    states = [state.replace("_", " ") for state in (step.state, step.run.state)]
    stands = f"{step.tool} is {states[0]}, and {step.run.name} is {states[1]}."
    if settled := settled_by_lookup(step):
        return Gone(f"{settled} Now {stands}")
    answers = Event.objects.filter(step=step, kind="question.answered", data__digest=digest)
    answered = answers.order_by("-pk").first()
    if answered:
        said, when = str(answered.data["answer"]), timezone.localtime(answered.at)
        return AlreadyAnswered(
            f"Answered by {answered.actor}, {when:%H:%M %Z}: {said.replace('_', ' ')}.",
            answered_by=answered.actor,
            answer=said,
            answered_at=answered.at.isoformat(),
        )
    if step.state in PARKED and step.digest != digest:
        return DigestMismatch(digest=step.digest)
    return Gone(f"This question was withdrawn: {stands}")


def settled_by_lookup(step: Step) -> str:
    """How a lookup settled what this step asked last, in a sentence; '' where it did not, or the step asks now."""
    left = Event.objects.filter(step=step, before=StepState.UNKNOWN).order_by("-pk").first()
    if step.state in PARKED or left is None or (left.data or {}).get("settled_by") != "lookup":
        return ""
    what = "it happened" if left.after == StepState.PERFORMED else "it did not happen"
    return f"A lookup settled this question, {timezone.localtime(left.at):%H:%M %Z}: {what}."
