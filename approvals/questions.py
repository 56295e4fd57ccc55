"""A parked step -> its question in words: what would happen, what is already done, what would be left, the answers.

A `QuestionPage` is plain data: no HTML, and nothing in it queries the database. It is read in a handful of queries,
however long its run is (`read`), and worded from those rows alone (`word`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from approvals.choices import choices_of, if_looked_up, is_later
from approvals.models import Answer
from approvals.question_page import (
    ANSWER_WORDS,
    SAID_WORDS,
    Evidence,
    Given,
    LookedUp,
    Lookup,
    PlanRow,
    QuestionPage,
    Try,
)
from runs import redaction
from runs.access import Actor, asked_for, may_answer
from runs.agentfile import AgentSpec, spec_of
from runs.errors import NotFound
from runs.left import Left, left_if_it_fails
from runs.loading import lookup_of, undo_named, undo_of, undoable
from runs.models import Attempt, Event, Message, Step
from runs.replies import still_in_effect
from runs.services import settled_by_lookup
from runs.states import PARKED, RUN_ENDS, STEP_ENDS, RunState, StepState
from runs.tools.bindings import Unbindable, bind
from runs.views.calls import (
    UndoWords,
    arguments_of,
    exact_json,
    in_order,
    result_text,
    sentence_of,
    undo_words,
)
from runs.views.looks import ANSWERED, QUESTION_LOOKS, look_of_escalation, look_of_run, look_of_step

RESTS = (RunState.OPEN, RunState.WAITING, RunState.STUCK)
TOLD = ("user", "customer")  # whose messages the agent is told
AROUND = 6  # steps of the run shown before and after this one; the run's own page shows all
LOOKS = 5  # answers of a lookup that are shown; the record has all


@dataclass(frozen=True)
class Rows:
    """What `word` needs: the question, its run's steps, and what was said."""

    step: Step
    steps: Sequence[Step]
    turn: Message | None
    answer: Answer | None
    attempts: Sequence[Attempt] = ()
    looks: Sequence[Event] = ()  # what the lookup said, the newest first
    settled: str = ""
    message: Message | None = None  # a customer's


def read(step_id: int) -> Rows:
    """The rows of a question, open or not. Raises NotFound."""
    step = Step.objects.select_related("run__thread", "entry", "undoes").filter(pk=step_id).first()
    if step is None or not step.asks:
        raise NotFound("There is no such question.")
    steps = list(Step.objects.filter(run=step.run_id).select_related("entry", "undoes").order_by("number"))
    said = {message.role: message for message in Message.objects.filter(run=step.run_id, role__in=TOLD)}
    answer = Answer.objects.filter(step=step_id, digest=step.digest).first()
    attempts = [] if step.asks == "confirm" else list(Attempt.objects.filter(step=step_id).order_by("number"))
    looks = Event.objects.filter(step=step_id, kind="step.looked_up").order_by("-pk")
    outcome = step.asks == "outcome"
    return Rows(
        step,
        steps,
        said.get("user"),
        answer,
        attempts,
        list(looks[:LOOKS]) if outcome else [],
        settled_by_lookup(step) if outcome else "",
        said.get("customer"),
    )


def word(rows: Rows, actor: Actor) -> QuestionPage:
    """The question in words, for this person."""
    step, spec = rows.step, spec_of(rows.step.run.thread.agent)
    run, thread = step.run, step.run.thread
    answered = step.state in PARKED and bool(step.answer)
    plan, hidden = _plan(rows, spec, actor)
    reveal = _reveals(step, actor)
    args = redaction.args_of(step, spec, reveal=reveal)
    return QuestionPage(
        step_id=step.pk,
        number=step.number,
        kind=step.asks,
        look=QUESTION_LOOKS[step.asks],
        title=sentence_of(step, spec, reveal=reveal) if step.asks == "confirm" else step.question,
        tool=step.tool,
        arguments=arguments_of(args, spec.catalogue.get(step.tool), _marks(step)),
        exact=exact_json({"tool": step.tool, "args": in_order(args, spec.catalogue.get(step.tool))}),
        warnings=tuple(step.warnings),
        plan=plan,
        plan_hidden=hidden,
        left=_left(rows, spec),
        undo=_undo_of_this(step, spec, reveal=reveal),
        evidence=tuple(_evidence(rows, spec)),
        choices=choices_of(step, rows.steps, spec),
        tries=tuple(_try(attempt) for attempt in rows.attempts),
        in_effect=_in_effect(rows, spec),
        result_fields=_result_fields(step, spec),
        settles_at=step.settles_at,
        is_early=bool(step.settles_at and step.settles_at > timezone.now()),
        lookup=_lookup(rows, spec),
        lookup_said=SAID_WORDS.get(step.said, "nothing yet"),
        settled=rows.settled,
        key=step.entry.key if step.entry else "",
        error=step.error,
        agent=thread.agent,
        user=thread.user,
        thread_id=thread.pk,
        run_id=run.pk,
        run_name=run.name,
        run_look=ANSWERED if answered else look_of_run(run),
        run_rests=run.state in RUN_ENDS or (run.state in RESTS and not answered),
        ticket=run.ticket,
        subject=run.subject,
        asked_at=step.asked_at,
        expires_at=step.expires_at,
        escalation=look_of_escalation(step),
        is_open=is_open(step),
        step_look=look_of_step(step),
        digest=step.digest,
        approver=step.approver,
        not_by=tuple(step.not_by),
        may_answer=may_answer(actor, step),
        asked_for_it=asked_for(actor, step),
        given=_given(rows),
    )


def _reveals(step: Step, actor: Actor) -> bool:
    """Whoever may answer sees exactly what they answer for, values included that nobody else is shown."""
    return is_open(step) and may_answer(actor, step)


def is_open(step: Step) -> bool:
    """Whether this question still waits for an answer."""
    return step.state in PARKED and not step.answer


# --- The run, and what would be left -----------------------------------------------------------------


def _plan(rows: Rows, spec: AgentSpec, actor: Actor) -> tuple[tuple[PlanRow, ...], int]:
    """This step and those around it; and how many further ones the run has."""
    asked = {rows.step.number, *rows.step.covers} if _reveals(rows.step, actor) else set()
    this = rows.step.undoes_id or rows.step.pk
    forward = [step for step in rows.steps if step.undoes_id is None]
    at = next((index for index, step in enumerate(forward) if step.pk == this), 0)
    shown = forward[max(0, at - AROUND) : at + AROUND + 1]
    found = tuple(_row(step, spec, rows.step, reveal=step.number in asked) for step in shown)
    return found, len(forward) - len(shown)


def _row(step: Step, spec: AgentSpec, this: Step, *, reveal: bool = False) -> PlanRow:
    tool = spec.catalogue.get(step.tool)
    writes = tool is None or tool.writes
    undo = undo_words(step, spec, reveal=reveal) if writes and not _is_over(step) else None
    return PlanRow(
        number=step.number,
        sentence=sentence_of(step, spec, reveal=reveal),
        look=look_of_step(step),
        at=step.ended_at if step.state in STEP_ENDS else None,
        detail=_detail(step, spec, undo, writes),
        undo=undo if undo and undo.tool else None,
        is_this=step.pk == this.pk,
    )


def _is_over(step: Step) -> bool:
    """It left nothing in the world."""
    return step.state in STEP_ENDS and step.state != StepState.PERFORMED


def _detail(step: Step, spec: AgentSpec, undo: UndoWords | None, writes: bool) -> str:
    tool = spec.catalogue.get(step.tool)
    if step.state in (StepState.FAILED, StepState.REFUSED):
        return ": ".join(part for part in (step.error_class, step.error) if part)
    if not writes:
        return result_text(step, spec) or "reads only; changes nothing"
    if undo and not undo.tool:
        why = "stays as it is, whatever happens later" if tool and tool.irreversible else undo.why_not
        return f"{why}; will be asked" if step.state == StepState.PROPOSED and tool and tool.confirm else why
    if step.state == StepState.PROPOSED and tool:
        return "will be asked" if tool.confirm else "will run without being asked"
    return ""


def _left(rows: Rows, spec: AgentSpec) -> tuple[Left, ...]:
    """What would be left if this step failed, and if the next one did."""
    this, kept = rows.step, rows.step.run.mode == "keep"
    writes = [step for step in still_in_effect(rows.steps, spec) if step.pk != this.pk]
    here = left_if_it_fails(writes, spec, kept=kept, this=this.number)
    after = next((step for step in rows.steps if is_later(step, this)), None)
    if after is None or this.undoes_id:
        return (here,)
    tool = spec.catalogue.get(this.tool)
    writes += [this] if tool is None or tool.writes else []
    return here, left_if_it_fails(writes, spec, kept=kept, fails=after.number, this=this.number)


def _in_effect(rows: Rows, spec: AgentSpec) -> tuple[PlanRow, ...]:
    """The writes that still need undoing, in the order in which they would be undone."""
    if rows.step.asks != "undo":
        return ()
    writes = still_in_effect(rows.steps, spec)
    left = [step for step in writes if undoable(step, spec, timezone.now())]
    return tuple(_row(step, spec, rows.step) for step in sorted(left, key=lambda step: -step.number))


def _undo_of_this(step: Step, spec: AgentSpec, *, reveal: bool) -> UndoWords | None:
    tool = spec.catalogue.get(step.tool)
    return (
        undo_words(step, spec, reveal=reveal)
        if step.undoes_id is None and (tool is None or tool.writes)
        else None
    )


def _result_fields(step: Step, spec: AgentSpec) -> tuple[str, ...]:
    """The fields of the result that the undo needs: asked for when a person says that it happened."""
    tool = spec.catalogue.get(step.tool)
    undo = undo_named(step, tool)
    if step.asks != "outcome" or undo is None or not undo_of(step, tool, spec):
        return ()
    by = spec.tools.get(undo.tool)
    names = by.arguments.model_fields if by else undo.args
    sources = [undo.args.get(name, _equal(name, step.args)) for name in names]
    prefix = "$result."
    return tuple(s.removeprefix(prefix) for s in sources if isinstance(s, str) and s.startswith(prefix))


def _equal(name: str, args: Mapping[str, Any]) -> str:
    return f"$args.{name}" if name in args else f"$result.{name}"


def why_not_undoable(step: Step, result: dict[str, Any]) -> str:
    """Why the undo of this write could not be bound to the result that a person gave; '' where it can."""
    spec = spec_of(step.run.thread.agent)
    tool = spec.catalogue.get(step.tool)
    undo = undo_named(step, tool)
    if undo is None or not undo_of(step, tool, spec):
        return ""
    try:
        bind(undo, spec.tools.get(undo.tool), step.args, result)
    except Unbindable as error:
        return str(error).rstrip(".")
    return ""


def _marks(step: Step) -> Sequence[Mapping[str, Any]]:
    """They are evidence of a confirmation, and bound to its answer."""
    return step.marks if step.asks == "confirm" else ()


# --- Why it is asked ---------------------------------------------------------------------------------


def _evidence(rows: Rows, spec: AgentSpec) -> Iterable[Evidence]:
    run, thread = rows.step.run, rows.step.run.thread
    if rows.turn:
        yield Evidence("The turn", f"“{rows.turn.text}”", thread.user, rows.turn.created_at)
        if rows.step.text and rows.step.text != rows.turn.text:
            yield Evidence("This step", f"“{rows.step.text}”", "read from the turn", None)
    else:
        yield Evidence("Proposed by", run.started_by or thread.agent, thread.agent, run.created_at)
    if run.model:
        yield Evidence("Proposed by", run.model, "a model: no phrase reads the whole turn", None)
    if rows.message:
        yield Evidence(
            "A customer wrote", f"“{rows.message.text}”", "data, no request", rows.message.created_at
        )
    for step in rows.steps:
        tool = spec.catalogue.get(step.tool)
        if tool and not tool.writes and step.state == StepState.PERFORMED and step.number < rows.step.number:
            said = result_text(step, spec) or exact_json(redaction.result_of(step, spec))
            yield Evidence(step.tool, said, "looked up", step.ended_at)


def _try(attempt: Attempt) -> Try:
    error = ": ".join(part for part in (attempt.error_class, attempt.error) if part)
    verdict = attempt.verdict.replace("_", " ") or "under way"
    return Try(attempt.number, attempt.sent_at, attempt.finished_at, verdict, error)


def _lookup(rows: Rows, spec: AgentSpec) -> Lookup | None:
    """Where something can say what became of the call, or could, and said it."""
    step = rows.step
    tool = lookup_of(step, spec.catalogue.get(step.tool), spec)
    if not (tool or rows.looks):
        return None
    answers = tuple(
        LookedUp(look.at, SAID_WORDS.get(look.data["said"], ""), look.data.get("error", ""))
        for look in rows.looks
    )
    looks_on = is_open(step) and step.run.state not in RUN_ENDS
    asked = looks_on and step.look_asked_at is not None
    return Lookup(
        tool if looks_on else "", answers, step.due_at if looks_on else None, asked, if_looked_up(step)
    )


def _given(rows: Rows) -> Given | None:
    """The answer to the question as it is now, or to the last one of this step."""
    if rows.answer:
        words = ANSWER_WORDS[rows.answer.answer]
        return Given(rows.answer.by, words, rows.answer.reason, rows.answer.at, rows.answer.nonce)
    step = rows.step
    if step.answered_by and not is_open(step):
        return Given(step.answered_by, ANSWER_WORDS.get(step.answer, look_of_step(step).word), "", None)
    return None
