"""From rows to the shapes that are sent."""

from collections.abc import Iterable

from django.db.models import Prefetch, QuerySet
from django.urls import reverse
from django.utils import timezone

from runs import models, redaction
from runs.agentfile import AgentSpec, spec_of
from runs.api import shapes
from runs.loading import lookup_of, undoable
from runs.replies import sentence, still_in_effect, summary_of
from runs.services import ANSWERS, settled_by_lookup
from runs.states import PARKED, RUN_BACKWARD, RUN_ENDS, RUN_FORWARD

LAST_MESSAGES = 100


def address(name: str, **parts: object) -> str:
    """The path of an endpoint, such as /api/v1/runs/R-1042."""
    return reverse(f"api:{name}", kwargs=parts)


# --- Runs ---------------------------------------------------------------------------------------------
def whole_run(run_id: int) -> models.Run:
    """A run with all that is shown of it, in as many queries whatever its length."""
    steps = models.Step.objects.select_related("entry", "undoes").order_by("number")
    said = models.Message.objects.filter(role="agent").order_by("id")
    return (
        models.Run.objects.select_related("thread")
        .prefetch_related(
            Prefetch("steps", steps, to_attr="shown_steps"), Prefetch("messages", said, to_attr="replies")
        )
        .get(pk=run_id)
    )


def short_runs(runs: QuerySet[models.Run]) -> QuerySet[models.Run]:
    """Runs with all that a summary shows."""
    steps = models.Step.objects.filter(state__in=PARKED).select_related("undoes").order_by("number")
    said = models.Message.objects.filter(role="agent").order_by("id")
    return runs.select_related("thread").prefetch_related(
        Prefetch("steps", steps, to_attr="shown_steps"), Prefetch("messages", said, to_attr="replies")
    )


def run(row: models.Run) -> shapes.Run:
    """`row` comes from `whole_run`."""
    steps: list[models.Step] = row.shown_steps  # type: ignore[attr-defined]
    spec = spec_of(row.thread.agent)
    return shapes.Run(**summary(row).model_dump(), steps=[step(item, spec) for item in steps])


def summary(row: models.Run) -> shapes.RunSummary:
    """`row` comes from `short_runs` or `whole_run`."""
    steps: list[models.Step] = row.shown_steps  # type: ignore[attr-defined]
    said: list[models.Message] = row.replies  # type: ignore[attr-defined]
    return shapes.RunSummary(
        id=row.name,
        thread=row.thread_id,
        agent=row.thread.agent,
        user=row.thread.user,
        state=row.state,
        version=row.version,
        open=row.opened and not row.model and row.closed_at is None and row.state in RUN_FORWARD,
        task=row.task,
        ticket=row.ticket,
        subject=row.subject,
        reply=said[-1].text if said and row.state in RUN_ENDS else None,
        stop=row.stop,
        held_up=row.trouble or None,
        waiting=[waiting(item, spec_of(row.thread.agent)) for item in steps if is_open(item)],
        model=_model(row),
        started_by=row.started_by,
        created_at=row.created_at,
        ended_at=row.ended_at if row.state in RUN_ENDS else None,
        links=_run_links(row),
    )


def _model(row: models.Run) -> shapes.ModelUse | None:
    if not row.model:
        return None
    return shapes.ModelUse(
        name=row.model,
        requests=row.requests,
        input_tokens=row.input_tokens,
        output_tokens=row.output_tokens,
        cost=format(row.cost.normalize(), "f"),
        unpriced=row.unpriced,
    )


def _run_links(row: models.Run) -> shapes.RunLinks:
    return shapes.RunLinks(
        self=run_address(row),
        thread=address("thread", thread=row.thread_id),
        events=address("run-events", run=row.pk),
    )


def run_address(row: models.Run) -> str:
    """Where the run is."""
    return address("run", run=row.pk)


def step(row: models.Step, spec: AgentSpec) -> shapes.Step:
    """One step, with what is known of its change."""
    return shapes.Step(
        number=row.number,
        id=row.pk,
        tool=row.tool,
        args=redaction.args_of(row, spec),
        state=row.state,
        undoes=row.undoes.number if row.undoes else None,
        result=redaction.result_of(row, spec),
        key=row.entry.key if row.entry else None,
        calls=row.calls,
        error_class=row.error_class or None,
        error=row.error or None,
        asks=row.asks or None,
        replayed=row.replayed,
        note=row.note or None,
    )


def event(row: models.Event, spec: AgentSpec) -> shapes.Event:
    """One line of the record."""
    return shapes.Event(
        id=row.pk,
        kind=row.kind,
        at=row.at,
        actor=row.actor,
        step=row.step.number if row.step else None,
        before=row.before or None,
        after=row.after or None,
        data=redaction.data_of(row, spec),
    )


def thread(row: models.Thread) -> shapes.Thread:
    """A conversation, with what it waits for and what was said last."""
    busy = row.runs.filter(state__in=RUN_FORWARD | RUN_BACKWARD).first()
    last = list(row.messages.order_by("-id")[:LAST_MESSAGES])
    return shapes.Thread(
        id=row.pk,
        agent=row.agent,
        user=row.user,
        open_run=busy.name if busy else None,
        messages=[_message(item) for item in reversed(last)],
        created_at=row.created_at,
        links=shapes.ThreadLinks(
            self=address("thread", thread=row.pk),
            runs=f"{address('runs')}?thread={row.pk}",
            turns=address("turns", thread=row.pk),
        ),
    )


def _message(row: models.Message) -> shapes.Message:
    run_name = f"R-{row.run_id}" if row.run_id else None
    return shapes.Message(role=row.role, text=row.text, run=run_name, at=row.created_at)


# --- Questions ----------------------------------------------------------------------------------------
def is_open(row: models.Step) -> bool:
    """The step is a question that nobody has answered."""
    return row.state in PARKED and not row.answer


def waiting(row: models.Step, spec: AgentSpec, *, reveal: bool = False) -> shapes.Waiting:
    """A question, short."""
    return shapes.Waiting(
        kind=row.asks,
        step=row.number,
        id=row.pk,
        digest=row.digest,
        tool=row.tool,
        text=question_text(row, spec, reveal=reveal),
        warnings=row.warnings,
        approver=row.approver,
        not_by=row.not_by,
        asked_at=row.asked_at,
    )


def question_text(row: models.Step, spec: AgentSpec, *, reveal: bool = False) -> str:
    """What is asked; a confirmation's text is the call in a sentence."""
    tool, args = spec.catalogue.get(row.tool), redaction.args_of(row, spec, reveal=reveal)
    return row.question or sentence(tool.sentence if tool else "", row.tool, args)


def last_looks(rows: Iterable[models.Step]) -> dict[int, models.Event]:
    """What a lookup said last of each of these questions, by the question's id; in one query."""
    asked = [row.pk for row in rows if row.asks == "outcome"]
    looks = models.Event.objects.filter(step__in=asked, kind="step.looked_up").order_by("step_id", "-pk")
    return {event.step_id: event for event in looks.distinct("step_id") if event.step_id} if asked else {}


def question(
    row: models.Step,
    steps: Iterable[models.Step],
    last_look: models.Event | None,
    *,
    reveal: bool = False,
) -> shapes.Question:
    """The whole question. `steps` are the run's, with their entries; `row` has its run and thread.

    `reveal`: it is shown to one who may answer it (runs/redaction.py).
    """
    spec = spec_of(row.run.thread.agent)
    answered = not is_open(row)
    lookup = _lookup(row, last_look, spec)
    return shapes.Question(
        **waiting(row, spec, reveal=reveal).model_dump(),
        run=row.run.name,
        thread=row.thread_id,
        agent=row.run.thread.agent,
        user=row.run.thread.user,
        open=not answered,
        state=row.state,
        args=redaction.args_of(row, spec, reveal=reveal),
        undoes=row.undoes.number if row.undoes else None,
        undone_by=_undone_by(row, spec),
        already_done=_done(steps, spec),
        answers=ANSWERS[row.asks],
        expires_at=row.expires_at,
        escalated_at=row.escalated_at,
        escalated_to=row.escalated_to or None,
        answer=row.answer or None,
        answered_by=row.answered_by or None,
        marks=[shapes.Mark(**mark) for mark in row.marks] if row.asks == "confirm" else [],
        lookup=lookup,
        settled=(settled_by_lookup(row) or None) if answered else None,
        links=shapes.QuestionLinks(
            self=address("question", step=row.pk),
            answer=address("answer", step=row.pk),
            look_up=address("look-up", step=row.pk) if lookup else None,
            run=run_address(row.run),
        ),
    )


def _lookup(row: models.Step, last: models.Event | None, spec: AgentSpec) -> shapes.Lookup | None:
    tool = lookup_of(row, spec.catalogue.get(row.tool), spec)
    if not tool:
        return None
    said = last and shapes.LookedUp(at=last.at, said=last.data["said"], error=last.data.get("error"))
    return shapes.Lookup(
        tool=tool,
        last=said,
        requested=is_open(row) and row.look_asked_at is not None,
        next_at=row.due_at if is_open(row) else None,
    )


def _undone_by(row: models.Step, spec: AgentSpec) -> str | None:
    if row.undoes_id:
        return None
    return undoable(row, spec, timezone.now()) or None


def _done(steps: Iterable[models.Step], spec: AgentSpec) -> list[shapes.Done]:
    return [
        shapes.Done(
            step=item.number, tool=item.tool, summary=summary_of(item, spec), undone_by=_undone_by(item, spec)
        )
        for item in still_in_effect(steps, spec)
    ]
