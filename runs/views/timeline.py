"""What happened in a run, in order: the turn, each step with its answers and calls, the way back, the end."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from runs.agentfile import AgentSpec
from runs.models import Attempt, Event, Run, Step
from runs.states import RUN_ENDS, RunState, StepState
from runs.views import moments
from runs.views.calls import call_text, result_text, sentence_of
from runs.views.looks import Look, look_of_run, look_of_step

IDLE = timedelta(minutes=1)  # a longer gap is folded into one line


@dataclass(frozen=True)
class Entry:
    """One line. `question` is the id of a step that waits for an answer."""

    at: datetime | None
    title: str
    details: tuple[str, ...] = ()
    look: Look | None = None
    tint: str = "quiet"
    call: str = ""
    error: str = ""
    question: int | None = None
    is_note: bool = False


def timeline(
    run: Run, steps: Sequence[Step], attempts: Iterable[Attempt], events: Sequence[Event], spec: AgentSpec
) -> list[Entry]:
    """`events` are the few that tell more than the rows: answers, the rollback, the rewind, take-overs."""
    by_step: dict[int, list[Attempt]] = {}
    for attempt in attempts:
        by_step.setdefault(attempt.step_id, []).append(attempt)
    answers: dict[int | None, list[Event]] = {}
    for event in events:
        if event.kind == "question.answered":
            answers.setdefault(event.step_id, []).append(event)
    entries = [_start(run, steps)]
    entries += [_step(step, by_step.get(step.pk, []), answers.get(step.pk, []), spec) for step in steps]
    entries += [entry for event in events if (entry := _event(event))]
    if run.ended_at and run.state in RUN_ENDS:
        look = look_of_run(run)
        entries.append(Entry(run.ended_at, f"The run ended: {look.word}", tint=look.tint))
    return list(_with_gaps(_in_order(entries)))


def _in_order(entries: list[Entry]) -> list[Entry]:
    """By time; what has not begun comes last, in the order of its number."""
    begun = [entry for entry in entries if entry.at]
    return sorted(begun, key=lambda entry: entry.at or datetime.max) + [e for e in entries if not e.at]


def _with_gaps(entries: list[Entry]) -> Iterator[Entry]:
    before: datetime | None = None
    for entry in entries:
        if before and entry.at and entry.at - before > IDLE:
            yield Entry(None, f"{moments.span(entry.at - before)} later", is_note=True)
        yield entry
        before = entry.at or before


def _start(run: Run, steps: Sequence[Step]) -> Entry:
    forward = sum(1 for step in steps if step.undoes_id is None)
    many = f"{forward} step" if forward == 1 else f"{forward} steps"
    details = [f"started by {run.started_by}"] if run.started_by else []
    details += [f"practice fault: {tool} {fault.replace('_', ' ')}" for tool, fault in run.faults.items()]
    return Entry(run.created_at, f"Started with {many}", tuple(details))


def _step(step: Step, attempts: list[Attempt], answers: list[Event], spec: AgentSpec) -> Entry:
    look = look_of_step(step)
    title = f"{step.number}. {sentence_of(step, spec)}"
    details = [*_answer_words(answers), *_call_words(step, attempts)]
    if step.state in (StepState.PERFORMED, StepState.UNDONE) and (said := result_text(step, spec)):
        details.append(said)
    if step.undoes_id:
        details.insert(0, f"undoes step {step.undoes.number}" if step.undoes else "")
    failed = step.state not in (StepState.PERFORMED, StepState.UNDONE)
    error = ": ".join(part for part in (step.error_class, step.error) if part) if failed else ""
    waits = step.pk if step.state in (StepState.NEEDS_APPROVAL, StepState.UNKNOWN, StepState.UNDO_STUCK) else None
    return Entry(
        at=_began(step, attempts),
        title=title,
        details=tuple(details),
        look=look,
        tint="undone" if step.undoes_id and look.tint == "done" else _dot(step, look),
        call=call_text(step.tool, step.args),
        error=error,
        question=None if step.answer else waits,
    )


def _dot(step: Step, look: Look) -> str:
    return "done" if step.state == StepState.UNDONE else look.tint


def _began(step: Step, attempts: list[Attempt]) -> datetime | None:
    first = attempts[0].sent_at if attempts else None
    return first or step.sent_at or step.asked_at or step.ended_at


def _answer_words(answers: list[Event]) -> Iterator[str]:
    words = {"approve": "approved", "skip": "skipped", "cancel_all": "cancelled"}
    for event in answers:
        said = str(event.data.get("answer", ""))
        reason = event.data.get("reason") or event.data.get("reference")
        text = f"{words.get(said, 'answered ' + said.replace('_', ' '))} by {event.actor} at {moments.clock(event.at)}"
        yield f"{text}: “{reason}”" if reason else text


def _call_words(step: Step, attempts: list[Attempt]) -> Iterator[str]:
    if step.replayed:
        yield "already done under this key; not sent again"
    if not attempts:
        return
    last = attempts[-1]
    calls = "1 call" if len(attempts) == 1 else f"{len(attempts)} calls"
    yield f"{calls}, {moments.duration(last.finished_at - last.sent_at)}" if last.finished_at else calls
    if step.entry:
        yield f"key {step.entry.key[:8]}…"


def _event(event: Event) -> Entry | None:
    """The lines that no step tells."""
    if event.kind == f"run.{RunState.ROLLING_BACK}" and event.before not in RUN_ENDS and event.before != RunState.STUCK:
        return Entry(event.at, "The run stopped; the model is not called again", is_note=True)
    if event.kind == "run.rewound":
        return Entry(event.at, "Memory rewound, one summary added", ("the record keeps every line",))
    if event.kind == "run.cancel_requested":
        reason = event.data.get("reason", "")
        return Entry(event.at, f"Cancel requested by {event.actor}", (f"“{reason}”",) if reason else ())
    if event.kind == "lease.taken_over":
        return Entry(event.at, "Taken over by another worker", (str(event.data.get("owner", "")),))
    return None
