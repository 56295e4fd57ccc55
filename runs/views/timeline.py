"""What happened in a run, in order: the turn, each step with its answers and calls, the way back, the end.

The order is that of the record: lines of one commit have one time, and times of two clocks are not compared.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from runs.agentfile import AgentSpec
from runs.models import Attempt, Event, Run, Step
from runs.replies import found_by_lookup, reason_of
from runs.states import PARKED, RUN_ENDS, RunState, StepState
from runs.trace import LOOKED_UP
from runs.views import moments
from runs.views.calls import result_text, sentence_of
from runs.views.looks import RUN_LOOKS, Look, look_of_step

IDLE = timedelta(minutes=1)  # a longer gap is folded into one line
LAST = 1 << 62  # the place of what has not begun
OF_STEPS = ("question.answered", "step.looked_up", "step.escalated")
# The lines of the record that tell more than the rows do.
TOLD = (
    *OF_STEPS,
    "lease.taken_over",
    "run.reconciled",
    "run.held_up",
    "run.halted",
    "run.left_as_it_is",
    "run.cancel_requested",
    "run.rewound",
    "run.rewind_refused",
    "run.rolling_back",
    *(f"run.{state}" for state in RUN_ENDS),
)


@dataclass(frozen=True)
class Entry:
    """One line. `place` is its place in the record. `question` is the id of a step that waits for an answer."""

    place: int
    at: datetime | None
    title: str
    details: tuple[str, ...] = ()
    look: Look | None = None
    tint: str = "quiet"
    error: str = ""
    question: int | None = None
    is_note: bool = False


@dataclass(frozen=True)
class Story:
    """The rows that a timeline is told from. `places` says where in the record each step began."""

    run: Run
    steps: Sequence[Step]
    attempts: Iterable[Attempt]
    told: Sequence[Event]
    places: Mapping[int, int]


def timeline(story: Story, spec: AgentSpec) -> list[Entry]:
    """Every line, in the order of the record; what has not begun comes last, by its number."""
    attempts: dict[int, list[Attempt]] = {}
    for attempt in story.attempts:
        attempts.setdefault(attempt.step_id, []).append(attempt)
    said: dict[int | None, list[Event]] = {}
    for event in story.told:
        if event.kind in OF_STEPS:
            said.setdefault(event.step_id, []).append(event)
    entries = [_start(story.run, story.steps)]
    for step in story.steps:
        place = story.places.get(step.pk, LAST + step.number)
        entries.append(_step(step, place, attempts.get(step.pk, []), said.get(step.pk, []), spec))
    entries += [entry for event in story.told if (entry := _event(event))]
    return list(_with_gaps(sorted(entries, key=lambda entry: entry.place)))


def _with_gaps(entries: list[Entry]) -> Iterator[Entry]:
    before: datetime | None = None
    for entry in entries:
        if before and entry.at and entry.at - before > IDLE:
            yield Entry(entry.place, None, f"{moments.span(entry.at - before)} later", is_note=True)
        yield entry
        before = entry.at or before


def _start(run: Run, steps: Sequence[Step]) -> Entry:
    forward = sum(1 for step in steps if step.undoes_id is None)
    details = [f"started by {run.started_by}"] if run.started_by else []
    details += [f"practice fault: {tool} {fault.replace('_', ' ')}" for tool, fault in run.faults.items()]
    words = "Started with 1 step" if forward == 1 else f"Started with {forward} steps"
    if run.unread:
        words = f"Started; {run.model} decides" if run.model else "Started; a person takes it over"
        details.insert(0, f"not read: {', '.join(f'“{part}”' for part in run.unread)}")
    return Entry(0, run.created_at, words, tuple(details))


def _step(step: Step, place: int, attempts: list[Attempt], said: list[Event], spec: AgentSpec) -> Entry:
    look = look_of_step(step)
    is_done = step.state in (StepState.PERFORMED, StepState.UNDONE)
    return Entry(
        place=place,
        at=_began(step, attempts),
        title=f"{step.number}. {sentence_of(step, spec)}",
        details=tuple(_details(step, attempts, said, result_text(step, spec) if is_done else "")),
        look=look,
        tint=_tint(step, look),
        error="" if is_done else ": ".join(part for part in (step.error_class, step.error) if part),
        question=step.pk if step.state in PARKED and not step.answer else None,
    )


def _tint(step: Step, look: Look) -> str:
    if step.state == StepState.UNDONE:
        return "done"  # it was done at that time; its undo has a line of its own
    return "undone" if step.undoes_id and step.state == StepState.PERFORMED else look.tint


def _began(step: Step, attempts: list[Attempt]) -> datetime | None:
    first = attempts[0].sent_at if attempts else None
    return first or step.sent_at or step.asked_at or step.ended_at


def _details(step: Step, attempts: list[Attempt], said: list[Event], result: str) -> Iterator[str]:
    if step.undoes:
        yield f"undoes step {step.undoes.number}"
    yield from _escalations(event for event in said if event.kind == "step.escalated")
    yield from _answer_words(event for event in said if event.kind == "question.answered")
    yield from _look_words([event for event in said if event.kind == "step.looked_up"])
    if found_by_lookup(step):
        yield "settled by the lookup; no answer was needed"
    if step.replayed:
        yield "already done under this key; not sent again"
    yield from _call_words(attempts)
    if result:
        yield result


def _look_words(looks: list[Event]) -> Iterator[str]:
    if looks:
        last = looks[-1]
        often = "looked up" if len(looks) == 1 else f"looked up {len(looks)} times, last"
        yield f"{often} at {moments.clock(last.at)}: {LOOKED_UP.get(last.data['said'], last.data['said'])}"


def _answer_words(answers: Iterable[Event]) -> Iterator[str]:
    words = {"approve": "approved", "skip": "skipped", "cancel_all": "cancelled"}
    for event in answers:
        said = str(event.data.get("answer", ""))
        reason = event.data.get("reason") or event.data.get("reference")
        done = words.get(said, f"answered {said.replace('_', ' ')}")
        text = f"{done} by {event.actor} at {moments.clock(event.at)}"
        if event.data.get("together", 1) > 1:
            text += f", one of {event.data['together']} together"
        yield f"{text}: “{reason}”" if reason else text


def _escalations(events: Iterable[Event]) -> Iterator[str]:
    for event in events:
        yield f"not answered in time: escalated to {event.data.get('to')} at {moments.clock(event.at)}"


def _call_words(attempts: list[Attempt]) -> Iterator[str]:
    if attempts:
        last = attempts[-1]
        calls = "1 call" if len(attempts) == 1 else f"{len(attempts)} calls"
        yield f"{calls}, {moments.duration(last.finished_at - last.sent_at)}" if last.finished_at else calls


def _event(event: Event) -> Entry | None:
    """The lines that no step tells."""
    place, at, reason = event.pk, event.at, event.data.get("reason", "")
    match event.kind:
        case "run.rolling_back" if event.before != RunState.STUCK:
            return Entry(place, at, "The run stopped; the model is not called again", is_note=True)
        case "run.rewind_refused":
            return Entry(place, at, "Memory not rewound", ("something is left to undo",))
        case "run.rewound":
            return Entry(place, at, "Memory rewound, one summary added", ("the record keeps every line",))
        case "run.cancel_requested":
            return Entry(place, at, f"Cancel requested by {event.actor}", (f"“{reason}”",) if reason else ())
        case "lease.taken_over":
            return Entry(place, at, "Taken over by another worker", (str(event.data.get("owner", "")),))
        case "run.reconciled":
            said = (f"“{event.data['detail']}”",) if event.data.get("detail") else ()
            return Entry(place, at, f"Its agent’s reconcile function: {event.data.get('outcome')}", said)
        case "run.held_up":
            return Entry(place, at, "Held up, and tried again by itself", error=event.data.get("cause", ""))
        case "run.halted" | "run.left_as_it_is":
            why = reason_of(event.data["why"])
            return Entry(place, at, "Left as it is, for a person to take over", error=why)
    if event.kind.startswith("run.") and event.after in RUN_ENDS:
        look = RUN_LOOKS[RunState(event.after)]
        return Entry(place, at, f"The run ended: {look.word}", tint=look.tint)
    return None
