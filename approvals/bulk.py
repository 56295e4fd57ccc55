"""Approving several calls together: only what can be undone, only what was shown and ticked.

It is no transaction over all of them. Each row is an answer of its own, with the digest that the list showed and a
nonce of its own, through the same service as a single answer; what comes of it is told row by row. The answers are
recorded by the request itself: fifty take less than a second, and an answer that waited in the queue would leave its
person, and the next one who looks, without knowing. Carrying the runs out is the workers' business, as ever.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils import timezone

from approvals import services
from approvals.models import Answer, Bulk
from approvals.questions import is_open
from approvals.services import Reply
from runs.access import Actor, asked_for, may_answer
from runs.agentfile import AgentSpec, spec_of
from runs.errors import BadInput, NotAllowed, NotFound, Problem
from runs.models import Step
from runs.views.calls import UndoWords, call_text, sentence_of, undo_words
from runs.views.looks import Look, look_of_step

MOST = 50
PATIENCE = timedelta(minutes=1)  # after that, whoever was recording them has died
NONCE = re.compile(r"[A-Za-z0-9_-]{8,40}")  # it is a part of an address
PICK = re.compile(r"([1-9][0-9]{0,17}):([0-9a-f]{64})")
ALONE = "It cannot be undone, or comes with a warning: it is answered on its own page, never together."
RESULTS = {
    "approved": Look("approved", "done", "tick"),
    "already-answered": Look("answered meanwhile", "undone", "return"),
    "digest-mismatch": Look("the call changed", "stuck", "octagon"),
    "gone": Look("withdrawn", "quiet", "skip"),
    "not-allowed": Look("not allowed", "failed", "cross"),
    "not-reached": Look("not recorded", "unknown", "unknown"),
}
REFUSED = Look("not recorded", "failed", "cross")


@dataclass(frozen=True)
class Pick:
    """A row that was ticked: its question, and the digest that the list showed."""

    step_id: int
    digest: str

    def __str__(self) -> str:
        return f"{self.step_id}:{self.digest}"


@dataclass(frozen=True)
class Line:
    """One ticked row, before it is sent: the call in a sentence and exactly. `why_not`: it will be left out."""

    pick: Pick
    step: Step
    title: str
    calls: tuple[str, ...]  # this one, and those that its question asks about too
    undo: UndoWords
    why_not: str


@dataclass(frozen=True)
class Result:
    """What came of one row. `detail` says why it was not recorded; `now` is how its call stands."""

    step: Step
    title: str
    look: Look
    detail: str
    now: Look | None


# --- What may be ticked -------------------------------------------------------------------------------
def covered_by(steps: Iterable[Step]) -> dict[int, list[Step]]:
    """The later steps that a question asks about too, by the id of its own. No query where none does."""
    asking = [step for step in steps if step.covers]
    if not asking:
        return {}
    numbers = {number for step in asking for number in step.covers}
    found = Step.objects.filter(run__in={step.run_id for step in asking}, number__in=numbers)
    later = list(found.select_related("entry"))
    return {
        step.pk: [other for other in later if other.run_id == step.run_id and other.number in step.covers]
        for step in asking
    }


def can_be_undone(step: Step, covered: Sequence[Step], spec: AgentSpec) -> bool:
    """A confirmation without a warning, whose calls are reads, or writes that something would undo."""
    return (
        step.asks == "confirm"
        and not step.warnings
        and len(covered) == len(step.covers)
        and all(_can_be_undone(one, spec) for one in (step, *covered))
    )


def _can_be_undone(step: Step, spec: AgentSpec) -> bool:
    tool = spec.catalogue.get(step.tool)
    return tool is not None and (not tool.writes or bool(undo_words(step, spec).tool))


def pick_of(actor: Actor, step: Step, covered: Sequence[Step], spec: AgentSpec) -> str:
    """What a tick of this row sends; '' where this person may not answer it together with others."""
    allowed = is_open(step) and may_answer(actor, step) and can_be_undone(step, covered, spec)
    return str(Pick(step.pk, step.digest)) if allowed else ""


def read(sent: Sequence[str]) -> tuple[Pick, ...]:
    """What was ticked. Raises BadInput: nothing, too many, one of them twice, or something that is no row of ours."""
    if not sent:
        raise BadInput("Nothing is ticked: tick what you want to approve.", field="/pick")
    if len(sent) > MOST:
        raise BadInput(f"At most {MOST} at a time: {len(sent)} are ticked.", field="/pick")
    found = [PICK.fullmatch(text) for text in sent]
    picks = tuple(Pick(int(one[1]), one[2]) for one in found if one)
    if len(picks) < len(sent) or len({pick.step_id for pick in picks}) < len(picks):
        raise BadInput("What was ticked cannot be read: open the list again.", field="/pick")
    return picks


# --- Before they are sent -----------------------------------------------------------------------------
def lines(actor: Actor, picks: Sequence[Pick]) -> list[Line]:
    """What the last page before sending shows, in the order of the list. What is not there is left out silently."""
    steps = _steps(picks)
    covered = covered_by(steps.values())
    return [
        _line(actor, pick, steps[pick.step_id], covered.get(pick.step_id, []))
        for pick in picks
        if pick.step_id in steps
    ]


def _steps(picks: Iterable[Pick]) -> dict[int, Step]:
    ids = [pick.step_id for pick in picks]
    return Step.objects.select_related("run__thread", "undoes", "entry").in_bulk(ids)


def _line(actor: Actor, pick: Pick, step: Step, covered: Sequence[Step]) -> Line:
    spec = spec_of(step.run.thread.agent)
    calls = tuple(call_text(one, spec) for one in (step, *covered))
    why_not = _why_not(actor, pick, step, covered, spec)
    return Line(pick, step, sentence_of(step, spec), calls, undo_words(step, spec), why_not)


def _why_not(actor: Actor, pick: Pick, step: Step, covered: Sequence[Step], spec: AgentSpec) -> str:
    """As far as can be seen now; what decides is the answer itself."""
    if not is_open(step):
        return "It has been answered, or withdrawn, since you ticked it."
    if step.digest != pick.digest:
        return "The call changed since you ticked it: read the new version."
    if asked_for(actor, step):
        return "You asked for this call, and a rule wants a second pair of eyes on it."
    if not may_answer(actor, step):
        return f"This question is for the role {step.approver}."
    return "" if can_be_undone(step, covered, spec) else ALONE


# --- Sending them -------------------------------------------------------------------------------------
def approve(actor: Actor, nonce: str, picks: Sequence[Pick], reason: str = "") -> Bulk:
    """Approve each of these, one after the other, and say what came of each. The same nonce again does nothing.

    Raises BadInput; then nothing is stored and nothing is sent. What one row meets stops no other row.
    """
    if not NONCE.fullmatch(nonce):
        raise BadInput("The form came without its nonce; open the list again.", field="/nonce")
    if len(reason) > 2000 or "\x00" in reason:
        raise BadInput("At most 2,000 characters, without NUL.", field="/reason")
    rows = [{"step": pick.step_id, "digest": pick.digest} for pick in picks]
    try:
        with transaction.atomic():
            bulk = Bulk.objects.create(nonce=nonce, rows=rows, by=actor.name, user_id=actor.user_id)
    except IntegrityError:
        return _first(actor, nonce, rows)
    refused = {str(pick.step_id): why for pick in picks if (why := _one(actor, bulk, pick, reason))}
    Bulk.objects.filter(pk=bulk.pk).update(refused=refused, done_at=Now())
    bulk.refresh_from_db()
    return bulk


def _first(actor: Actor, nonce: str, rows: list[dict[str, object]]) -> Bulk:
    """What the first form with this nonce did, or is doing."""
    bulk = Bulk.objects.get(nonce=nonce)
    if (bulk.rows, bulk.user_id) != (rows, actor.user_id):
        raise BadInput("This nonce was used for other rows; open the list again.", field="/nonce")
    return bulk


def _one(actor: Actor, bulk: Bulk, pick: Pick, reason: str) -> dict[str, str]:
    """Approve one; what is said where it was not recorded, {} where it was."""
    reply = Reply("approve", pick.digest, f"{bulk.nonce}-{pick.step_id}", reason=reason, bulk=bulk)
    try:
        _refuse_what_stands_alone(pick)
        services.answer(actor, pick.step_id, reply)
    except Problem as problem:
        return {"type": problem.type, "detail": str(problem)}
    return {}


def _refuse_what_stands_alone(pick: Pick) -> None:
    """The digest binds the call, its warnings and what it covers: what holds here holds for the answer that follows."""
    step = _steps([pick]).get(pick.step_id)
    if step is None:
        raise NotFound("There is no such question.")
    spec, covered = spec_of(step.run.thread.agent), covered_by([step]).get(step.pk, [])
    same = is_open(step) and step.digest == pick.digest
    if step.asks != "confirm" or (same and not can_be_undone(step, covered, spec)):
        raise NotAllowed(ALONE)


# --- What came of it ----------------------------------------------------------------------------------
def results(bulk: Bulk) -> list[Result]:
    """What came of each row, in the order of the list."""
    picks = [Pick(row["step"], row["digest"]) for row in bulk.rows]
    steps, given = _steps(picks), {one.step_id: one for one in bulk.answers.all()}
    return [
        _result(steps[pick.step_id], given.get(pick.step_id), bulk) for pick in picks if pick.step_id in steps
    ]


def _result(step: Step, given: Answer | None, bulk: Bulk) -> Result:
    title = sentence_of(step, spec_of(step.run.thread.agent))
    if given:
        return Result(step, title, RESULTS["approved"], "", look_of_step(step))
    refused: Mapping[str, str] | None = bulk.refused.get(str(step.pk))
    if refused:
        return Result(step, title, RESULTS.get(refused["type"], REFUSED), refused["detail"], None)
    is_over = bulk.done_at or timezone.now() - bulk.at > PATIENCE
    why = "It was not reached, and nothing was sent." if is_over else "It is not recorded yet: look again."
    return Result(step, title, RESULTS["not-reached"], why, None)
