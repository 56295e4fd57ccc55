"""A parked step -> its question in words: what would happen, what is already done, what would be left, the answers.

A `QuestionPage` is plain data: no HTML, and nothing in it queries the database. It is read in five queries,
however long its run is (`read`), and worded from those rows alone (`word`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils import timezone

from approvals.models import Answer
from runs.access import Actor, may_answer
from runs.agentfile import AgentSpec
from runs.errors import NotFound
from runs.loading import undo_of
from runs.models import Attempt, Event, Message, Run, Step
from runs.replies import still_in_effect
from runs.states import PARKED, STEP_ENDS, StepState
from runs.views.calls import (
    Argument,
    UndoWords,
    arguments_of,
    exact_json,
    in_order,
    result_text,
    sentence_of,
    spec_of,
    undo_words,
)
from runs.views.looks import ANSWERED, QUESTION_LOOKS, Look, look_of_run, look_of_step

AROUND = 6  # steps of the run shown before and after this one; the run's own page shows all
ANSWER_WORDS = {
    "approve": "approve",
    "skip": "skip this step",
    "cancel_all": "cancel all",
    "happened": "it happened",
    "did_not_happen": "it did not happen",
    "send_again": "send again",
    "retry": "retry",
    "done_by_hand": "done by hand",
    "abandon": "abandon",
}


@dataclass(frozen=True)
class PlanRow:
    """One step of the run, as this question's page shows it."""

    number: int
    sentence: str
    look: Look
    at: datetime | None
    detail: str
    undo: UndoWords | None
    is_this: bool = False


@dataclass(frozen=True)
class Undone:
    """A write that would be undone, and by which tool."""

    sentence: str
    by: str


@dataclass(frozen=True)
class Left:
    """What a failure would undo and what it would leave. `after` is the step that would fail, None for this one."""

    after: int | None
    undone: tuple[Undone, ...]
    stays: tuple[str, ...]
    this: str = ""  # the sentence of this step, which is called so
    kept: bool = False  # the agent's runs are kept as they are; a person takes over

    @property
    def undone_words(self) -> str:
        """`If step 3 fails: “Charge 40.00 to order 4411” is undone by refund_card`."""
        when = f"If step {self.after} fails" if self.after else "If this step fails"
        if self.kept:
            return f"{when}: nothing is undone by itself, and the run is handed over to a person"
        if not self.undone:
            return f"{when}: nothing is undone" if self.stays else f"{when}: nothing is left, as nothing was changed"
        first, *others = [f"{self._name(item.sentence)} is undone by {item.by}" for item in self.undone]
        return f"{when}: {', then '.join([first, *others])}"

    @property
    def stays_words(self) -> str:
        """`“Send the receipt for order 4411” stays done`; '' where nothing would stay."""
        names = [self._name(sentence) for sentence in self.stays]
        if len(names) < 2:
            return f"{names[0]} stays done" if names else ""
        return f"{', '.join(names[:-1])} and {names[-1]} stay done"

    def _name(self, sentence: str) -> str:
        return "this step" if sentence == self.this else f"“{sentence}”"


@dataclass(frozen=True)
class Evidence:
    """Something the decision can rest on, where it comes from and how old it is."""

    source: str
    text: str
    by: str
    at: datetime | None


@dataclass(frozen=True)
class Choice:
    """One answer. `effect` says what it triggers; `last_look` where a second panel comes first."""

    value: str
    label: str
    effect: str
    shortcut: str
    last_look: bool = False
    needs: str = ""  # reason | reference


@dataclass(frozen=True)
class Given:
    """An answer that was given: `Answered by Ana Ferreira, 14:02 UTC: approve`."""

    by: str
    words: str
    reason: str
    at: datetime | None
    nonce: str = ""


@dataclass(frozen=True)
class Try:
    """One sending, and what came of it, word for word."""

    number: int
    sent_at: datetime
    finished_at: datetime | None
    verdict: str
    error: str


@dataclass(frozen=True)
class QuestionPage:
    """Everything that the page of a question shows."""

    step_id: int
    number: int
    kind: str
    look: Look
    title: str
    lead: str
    tool: str
    arguments: tuple[Argument, ...]
    exact: str
    warnings: tuple[str, ...]
    plan: tuple[PlanRow, ...]
    plan_hidden: int
    left: Left
    undo: UndoWords | None
    evidence: tuple[Evidence, ...]
    choices: tuple[Choice, ...]
    tries: tuple[Try, ...]
    in_effect: tuple[PlanRow, ...]
    result_fields: tuple[str, ...]
    settles_at: datetime | None
    is_early: bool
    lookup_said: str
    key: str
    error: str
    agent: str
    user: str
    thread_id: Any
    run_id: int
    run_name: str
    run_look: Look
    run_ended: bool
    ticket: str
    subject: str
    asked_at: datetime | None
    expires_at: datetime | None
    is_open: bool
    step_look: Look
    digest: str
    approver: str
    may_answer: bool
    given: Given | None

    @property
    def is_irreversible(self) -> bool:
        """Nothing undoes it: it was parked with a warning, which the page repeats word for word."""
        return bool(self.warnings)

    @property
    def grouped_digest(self) -> str:
        """The first 12 digits, in groups, to compare with somebody on the telephone."""
        return " ".join(self.digest[at : at + 4] for at in range(0, 12, 4))


@dataclass(frozen=True)
class Rows:
    """What `word` needs: the question, its run's steps, and what was said."""

    step: Step
    steps: Sequence[Step]
    turn: Message | None
    answer: Answer | None
    attempts: Sequence[Attempt] = ()
    events: Sequence[Event] = field(default=())


def read(step_id: int) -> Rows:
    """The rows of a question, open or not. Raises NotFound."""
    step = Step.objects.select_related("run__thread", "entry", "undoes").filter(pk=step_id).first()
    if step is None or not step.asks:
        raise NotFound("There is no such question.")
    steps = list(Step.objects.filter(run=step.run_id).select_related("entry").order_by("number"))
    turn = Message.objects.filter(run=step.run_id, role="user").first()
    answer = Answer.objects.filter(step=step_id, digest=step.digest).first()
    attempts = [] if step.asks == "confirm" else list(Attempt.objects.filter(step=step_id).order_by("number"))
    return Rows(step, steps, turn, answer, attempts)


def word(rows: Rows, actor: Actor) -> QuestionPage:
    """The question in words, for this person."""
    step, spec = rows.step, spec_of(rows.step.run.thread.agent)
    run, thread = step.run, step.run.thread
    plan, hidden = _plan(rows, spec)
    return QuestionPage(
        step_id=step.pk,
        number=step.number,
        kind=step.asks,
        look=QUESTION_LOOKS[step.asks],
        title=sentence_of(step, spec) if step.asks == "confirm" else step.question,
        lead=sentence_of(step.undoes or step, spec),
        tool=step.tool,
        arguments=arguments_of(step.args, spec.catalogue.get(step.tool)),
        exact=exact_json({"tool": step.tool, "args": in_order(step.args, spec.catalogue.get(step.tool))}),
        warnings=tuple(step.warnings),
        plan=plan,
        plan_hidden=hidden,
        left=_left(rows, spec),
        undo=_undo_of_this(step, spec),
        evidence=tuple(_evidence(rows, spec)),
        choices=_choices(rows, spec),
        tries=tuple(_try(attempt) for attempt in rows.attempts),
        in_effect=_in_effect(rows, spec),
        result_fields=_result_fields(step, spec),
        settles_at=step.settles_at,
        is_early=bool(step.settles_at and step.settles_at > timezone.now()),
        lookup_said=step.said.replace("_", " "),
        key=step.entry.key if step.entry else "",
        error=step.error,
        agent=thread.agent,
        user=thread.user,
        thread_id=thread.pk,
        run_id=run.pk,
        run_name=run.name,
        run_look=ANSWERED if step.state in PARKED and step.answer else look_of_run(run),
        run_ended=run.ended_at is not None,
        ticket=run.ticket,
        subject=run.subject,
        asked_at=step.asked_at,
        expires_at=step.expires_at,
        is_open=is_open(step),
        step_look=look_of_step(step),
        digest=step.digest,
        approver=step.approver,
        may_answer=may_answer(actor, step),
        given=_given(rows),
    )


def is_open(step: Step) -> bool:
    """Whether this question still waits for an answer."""
    return step.state in PARKED and not step.answer


# --- The run, and what would be left -----------------------------------------------------------------


def _plan(rows: Rows, spec: AgentSpec) -> tuple[tuple[PlanRow, ...], int]:
    """This step and those around it; and how many further ones the run has."""
    this = rows.step.undoes_id or rows.step.pk
    forward = [step for step in rows.steps if step.undoes_id is None]
    at = next((index for index, step in enumerate(forward) if step.pk == this), 0)
    shown = forward[max(0, at - AROUND) : at + AROUND + 1]
    return tuple(_row(step, spec, rows.step) for step in shown), len(forward) - len(shown)


def _row(step: Step, spec: AgentSpec, this: Step) -> PlanRow:
    tool = spec.catalogue.get(step.tool)
    writes = tool is None or tool.writes
    undo = undo_words(step, spec) if writes and not _is_over(step) else None
    return PlanRow(
        number=step.number,
        sentence=sentence_of(step, spec),
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


def _left(rows: Rows, spec: AgentSpec) -> Left:
    """What would be undone, latest first, and what would stay, if the next step failed, or this one as the last."""
    this = rows.step
    writes = [step for step in still_in_effect(rows.steps, spec) if step.pk != this.pk]
    after = next((step for step in rows.steps if _is_later(step, this)), None)
    tool = spec.catalogue.get(this.tool)
    if after and this.undoes_id is None and (tool is None or tool.writes):
        writes.append(this)
    number, name = after.number if after else None, sentence_of(this, spec)
    if this.run.mode == "keep":
        return Left(number, (), tuple(sentence_of(write, spec) for write in writes), name, kept=True)
    undone, stays = _split(writes, spec)
    return Left(number, undone, stays, name)


def _is_later(step: Step, this: Step) -> bool:
    return step.number > this.number and step.undoes_id is None and step.state not in STEP_ENDS


def _split(writes: Iterable[Step], spec: AgentSpec) -> tuple[tuple[Undone, ...], tuple[str, ...]]:
    undone: list[Undone] = []
    stays: list[str] = []
    for write in sorted(writes, key=lambda step: -step.number):
        words = undo_words(write, spec)
        if words.tool:
            undone.append(Undone(sentence_of(write, spec), words.tool))
        else:
            stays.append(sentence_of(write, spec))
    return tuple(undone), tuple(stays)


def _in_effect(rows: Rows, spec: AgentSpec) -> tuple[PlanRow, ...]:
    """The writes that still need undoing, in the order in which they would be undone."""
    if rows.step.asks != "undo":
        return ()
    writes = still_in_effect(rows.steps, spec)
    left = [step for step in writes if undo_of(step, spec.catalogue.get(step.tool), spec)]
    return tuple(_row(step, spec, rows.step) for step in sorted(left, key=lambda step: -step.number))


def _undo_of_this(step: Step, spec: AgentSpec) -> UndoWords | None:
    tool = spec.catalogue.get(step.tool)
    return undo_words(step, spec) if step.undoes_id is None and (tool is None or tool.writes) else None


def _result_fields(step: Step, spec: AgentSpec) -> tuple[str, ...]:
    """The fields of the result that the undo needs: asked for when a person says that it happened."""
    tool = spec.catalogue.get(step.tool)
    if step.asks != "outcome" or tool is None or tool.undo is None or not undo_of(step, tool, spec):
        return ()
    by = spec.tools[tool.undo.tool]
    sources = [tool.undo.args.get(name, _equal(name, step.args)) for name in by.arguments.model_fields]
    prefix = "$result."
    return tuple(s.removeprefix(prefix) for s in sources if isinstance(s, str) and s.startswith(prefix))


def _equal(name: str, args: Mapping[str, Any]) -> str:
    return f"$args.{name}" if name in args else f"$result.{name}"


# --- Why it is asked ---------------------------------------------------------------------------------


def _evidence(rows: Rows, spec: AgentSpec) -> Iterable[Evidence]:
    run, thread = rows.step.run, rows.step.run.thread
    if rows.turn:
        yield Evidence("The turn", f"“{rows.turn.text}”", thread.user, rows.turn.created_at)
        if rows.step.text and rows.step.text != rows.turn.text:
            yield Evidence("This step", f"“{rows.step.text}”", "read from the turn", None)
    else:
        yield Evidence("Proposed by", run.started_by or thread.agent, thread.agent, run.created_at)
    for step in rows.steps:
        tool = spec.catalogue.get(step.tool)
        if tool and not tool.writes and step.state == StepState.PERFORMED and step.number < rows.step.number:
            said = result_text(step, spec) or exact_json(step.entry.result if step.entry else None)
            yield Evidence(step.tool, said, "looked up", step.ended_at)


def _try(attempt: Attempt) -> Try:
    error = ": ".join(part for part in (attempt.error_class, attempt.error) if part)
    verdict = attempt.verdict.replace("_", " ") or "under way"
    return Try(attempt.number, attempt.sent_at, attempt.finished_at, verdict, error)


def _given(rows: Rows) -> Given | None:
    """The answer to the question as it is now, or to the last one of this step."""
    if rows.answer:
        words = ANSWER_WORDS[rows.answer.answer]
        return Given(rows.answer.by, words, rows.answer.reason, rows.answer.at, rows.answer.nonce)
    step = rows.step
    if step.answered_by and not is_open(step):
        return Given(step.answered_by, ANSWER_WORDS.get(step.answer, look_of_step(step).word), "", None)
    return None


# --- The answers -------------------------------------------------------------------------------------


def _choices(rows: Rows, spec: AgentSpec) -> tuple[Choice, ...]:
    return {"confirm": _confirm, "outcome": _outcome, "undo": _undo}[rows.step.asks](rows, spec)


def _confirm(rows: Rows, spec: AgentSpec) -> tuple[Choice, ...]:
    step = rows.step
    later = any(_is_later(other, step) for other in rows.steps)
    goes_on = "the run goes on" if later or step.run.opened else "the run ends"
    approve = (
        Choice("approve", "Approve…", "One more look before it runs.", "a", last_look=True)
        if step.warnings
        else Choice("approve", "Approve", "It runs now, exactly as shown.", "a")
    )
    return (
        approve,
        Choice("skip", "Skip this step", f"It does not run; {goes_on}.", "s", needs="reason"),
        Choice("cancel_all", "Cancel all", _cancel_words(rows, spec), "c", needs="reason"),
    )


def _cancel_words(rows: Rows, spec: AgentSpec) -> str:
    undone, stays = _split(still_in_effect(rows.steps, spec), spec)
    if rows.step.run.mode == "keep":
        return "The run stops and is handed over; nothing is undone."
    if not undone:
        return "The run stops; what it did stays." if stays else "The run stops; it has changed nothing yet."
    names = ", ".join(item.by for item in undone)
    return f"The run stops; {names} undoes what it did." if len(undone) == 1 else f"The run stops; undone by {names}."


def _outcome(rows: Rows, spec: AgentSpec) -> tuple[Choice, ...]:
    if rows.step.undoes_id:
        missed = "The undo is tried again."
    elif rows.step.run.mode == "keep":
        missed = "The run stops and is handed over."
    else:
        missed = "The run stops and what it did before is undone."
    return (
        Choice("happened", "It happened", "The run goes on as if the call had answered.", "a", needs="reason"),
        Choice("did_not_happen", "It did not happen", missed, "s", needs="reason"),
        Choice("send_again", "Send it again", "The same call goes out under the same key.", "c", needs="reason"),
    )


def _undo(rows: Rows, spec: AgentSpec) -> tuple[Choice, ...]:
    write = rows.step.undoes.tool if rows.step.undoes else rows.step.tool
    return (
        Choice("retry", "Retry", f"{rows.step.tool} is sent again, under the same key.", "a"),
        Choice(
            "done_by_hand",
            "Done by hand",
            f"Somebody undid {write} elsewhere; the next one follows.",
            "s",
            needs="reference",
        ),
        Choice(
            "abandon",
            "Abandon",
            "Nothing more is undone; the reply lists what is left.",
            "c",
            needs="reason",
        ),
    )
