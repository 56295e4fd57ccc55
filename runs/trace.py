"""A run as lines that people read, computed from its record alone.

1  approval  approved by Ana Ferreira
1  write     charge_card key 797fbb5bbb9f8a7e -> timeout
1  reconcile charge_card key 797fbb5bbb9f8a7e -> found: it happened
2  undo      refund_card (undoes step 1) key 1f9d2528fdce4b31 -> done
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from runs.agentfile import AgentSpec, agents, spec_of
from runs.errors import StalwartError
from runs.models import Event, Run, Step
from runs.redaction import args_of
from runs.replies import reason_of
from runs.states import PARKED, RUN_ENDS, RunState, StepState

KEY_DIGITS = 16
ANSWERS = {
    "approve": "approved by",
    "skip": "skipped by",
    "cancel_all": "all cancelled by",
    "happened": "it happened, says",
    "did_not_happen": "it did not happen, says",
    "send_again": "send it again, says",
    "retry": "try it again, says",
    "done_by_hand": "done by hand, says",
    "abandon": "abandoned by",
}
DEATHS = {
    "deploy": "process stopped by a deploy",
    "killed": "process killed",
    "lost_lease": "process lost its lease",
}
LOOKED_UP = {
    "happened": "found: it happened",
    "did_not_happen": "not found",
    "cannot_say": "it cannot say",
    "failed": "the lookup failed",
}
WINDOWS = {
    "open": "it can still be undone",
    "closed": "nothing undoes it any more",
    "failed": "until when it can be undone is not known",
}


@dataclass(frozen=True)
class Line:
    """One line of a trace. `step` is the number within the thread, or None where it is about the run."""

    step: int | None
    kind: str  # approval, answer, decide, read, write, undo, reconcile, check, question, note, stop
    text: str
    at: str

    def __str__(self) -> str:
        number = "" if self.step is None else str(self.step)
        return f"{number:>3}  {self.kind:<9} {self.text}"


def short(key: str) -> str:
    """The part of a key that people read; the services' journal shows the same."""
    return key[:KEY_DIGITS]


def call_of(step: Step, spec: AgentSpec) -> str:
    """A step in a few words: the tool and what it was called with."""
    text = " ".join([step.tool, *(str(value) for value in args_of(step, spec).values())])
    return text if len(text) <= 80 else f"{text[:79]}…"


class Trace:
    """The lines of one run, and the order in which its tools ran."""

    def __init__(self, run: Run, reads: Iterable[str] = (), after: int = 0) -> None:
        """`reads`: the names of the tools that only read. With `after`, what the record says since that event."""
        self.run, self.reads, self.spec = run, frozenset(reads), spec_of(run.thread.agent)
        self.steps = {step.pk: step for step in run.steps.select_related("entry", "undoes")}
        self.events = list(run.events.filter(pk__gt=after).order_by("pk"))

    @property
    def order(self) -> list[str]:
        """The tools in the order in which they ran; one that was sent twice is there twice."""
        return [
            self.steps[event.step_id].tool for event in self.events if event.step_id and _is_sending(event)
        ]

    def lines(self) -> list[Line]:
        """Every line, in the order in which things happened; at the end what is under way, or waits."""
        lines, under_way = [], dict[int, Event]()
        for event in self.events:
            step = self.steps.get(event.step_id) if event.step_id else None
            if step and _is_sending(event):
                under_way[step.pk] = event
            elif step and _ends_sending(event):
                under_way.pop(step.pk, None)
            lines += [
                Line(number, kind, text, _time(event)) for number, kind, text in self._told(event, step)
            ]
        for pk, event in under_way.items():
            step = self.steps[pk]
            lines.append(
                Line(step.number, self._kind(step), f"{_named(step)} -> no answer yet", _time(event))
            )
        return lines + list(self._questions())

    def _told(self, event: Event, step: Step | None) -> Iterator[tuple[int | None, str, str]]:
        told = self._of_run(event) if step is None else self._of_step(event, step)
        yield from ((step.number if step else None, kind, text) for kind, text in told)

    def _of_step(self, event: Event, step: Step) -> Iterator[tuple[str, str]]:
        data = event.data or {}
        if data.get("found") == StepState.DECIDING:
            yield (
                "note",
                f"the process stopped while the model was asked ({data['cause']}): it is asked again",
            )
            return
        if _ends_sending(event):
            yield self._kind(step), f"{_named(step)} -> {_outcome(data, event.kind)}"
        if data.get("settled_by") == "lookup":
            yield "note", _settled(data)
        match event.kind:
            case "question.look_up_requested":
                yield "note", f"{event.actor} has {step.tool} looked up"
            case "question.answered":
                kind = "approval" if data["answer"] in ("approve", "skip", "cancel_all") else "answer"
                yield kind, _answered(data, event.actor)
            case "step.escalated":
                yield "note", f"nobody answered in time ({data['approver']}): escalated to {data['to']}"
            case "step.looked_up":
                said = LOOKED_UP.get(data["said"], data["said"])
                detail = f" ({data['error']})" if data.get("error") else ""
                yield "reconcile", f"{_named(step)} -> {said}{detail}"
            case "step.window":
                until = f", until {data['until']}" if data.get("until") else ""
                yield "reconcile", f"{_named(step)} -> {WINDOWS[data['said']]}{until}"
            case "step.refused":
                yield "check", _refusal(step, data)
            case "step.undo_stuck" | "step.unknown" if data.get("rule"):
                yield "check", _refusal(step, data)
            case "step.undo_not_possible":
                yield "note", f"{step.tool} cannot be undone: {data['why']}"
            case "model.answered":
                yield "decide", f"request {data['request']} -> {_decided(data)}"
            case "step.cancelled" if step.tool and not step.undoes_id:
                yield "note", f"{step.tool} was not sent"
            case "step.late_outcome":
                yield "note", f"{_named(step)} -> {_outcome(data, event.kind)}, late"

    def _of_run(self, event: Event) -> Iterator[tuple[str, str]]:
        data = event.data or {}
        if isinstance(data.get("why"), dict):
            yield "stop", reason_of(data["why"]).rstrip(".")
        match event.kind:
            case "lease.taken_over":
                yield "note", f"taken over from {data['previous_owner']}"
            case "run.cancel_requested":
                yield "note", f"{event.actor} asks to cancel the run"
            case "run.rewound":
                yield "note", "the model's memory was rewound"
            case "run.rewind_refused":
                yield "note", f"the model's memory was not rewound: {data['reason']}"
            case "run.reconciled":
                detail = f" ({data['detail']})" if data.get("detail") else ""
                yield "reconcile", f"{data['outcome']}{detail}"
            case "run.held_up":
                yield "note", f"held up: {data['cause']}"
            case "run.gave_up":
                yield "note", f"not resumed: its recovery is {data['recovery']}"
            case "handover.opened":
                yield "note", f"handed over to a person: {data['reason']}"
        if event.after in RUN_ENDS and event.kind == f"run.{event.after}":
            yield "stop", ended(event.after)

    def _questions(self) -> Iterator[Line]:
        for step in sorted(self.steps.values(), key=lambda step: step.number):
            if step.state in PARKED and not step.answer and step.asked_at:
                what = step.question or f"may {call_of(step, self.spec)} run?"
                text = f"{what} (question {step.pk}, for {step.approver})"
                yield Line(step.number, "question", text, step.asked_at.isoformat())

    def _kind(self, step: Step) -> str:
        if step.undoes_id:
            return "undo"
        return "read" if step.tool in self.reads else "write"


def reads_of(run: Run) -> Iterable[str]:
    """The tools that only read, as far as the agent's file still says so."""
    try:
        spec = agents().get(run.thread.agent)
    except StalwartError:
        return ()
    return [tool.name for tool in spec.catalogue.values() if not tool.writes] if spec else ()


def ended(state: str) -> str:
    """How a run stands, in words: `done` where it succeeded."""
    return "done" if state == RunState.SUCCEEDED else state.replace("_", " ")


def _is_sending(event: Event) -> bool:
    data = event.data or {}
    return event.kind in ("step.sent", "step.sent_again") and "attempt" in data


def _ends_sending(event: Event) -> bool:
    data = event.data or {}
    return ("verdict" in data and not data.get("late")) or event.kind == "step.interrupted"


def _named(step: Step) -> str:
    undoes = f" (undoes step {step.undoes.number})" if step.undoes else ""
    return f"{step.tool}{undoes} key {short(step.entry.key) if step.entry else '?'}"


def _outcome(data: dict[str, Any], kind: str) -> str:
    if kind == "step.interrupted":
        return f"no answer ({DEATHS.get(data.get('cause', ''), 'process stopped')})"
    cause, error = data.get("error_class", ""), data.get("error", "")
    if data["verdict"] == "performed":
        return "done"
    if data["verdict"] == "in_doubt":
        return {"Timeout": "timeout", "ConnectionLost": "connection lost"}.get(cause, f"{cause}: {error}")
    if data["verdict"] == "raised":
        return f"{cause}: {error}" if error else cause
    return f"{data['verdict']} ({cause}): {error}" if error else f"{data['verdict']} ({cause})"


def _decided(data: dict[str, Any]) -> str:
    """What a model said, and what that took."""
    said = f"{data['error_class']}: {data['error']}" if data.get("error_class") else ", ".join(data["calls"])
    cost = "" if data["cost"] is None else f", ${data['cost']}"
    took = f"{data['input_tokens']} tokens in, {data['output_tokens']} out{cost}"
    return f"{said or 'nothing more to call'} ({took})"


def _refusal(step: Step, data: dict[str, Any]) -> str:
    """By which rule, and why; an older record has the rule on the step alone."""
    cause = f": {data['cause']}" if data.get("cause") else ""
    return f"{step.tool} refused ({data.get('rule') or step.error_class}){cause}"


def _settled(data: dict[str, Any]) -> str:
    if "instead_of" not in data:
        return "the lookup settled the question; no answer is needed"
    said = f"{ANSWERS[data['instead_of']]} {data['answered_by']}"
    return f"the lookup settled the question; not carried out: {said}"


def _answered(data: dict[str, Any], actor: str) -> str:
    said = f"{ANSWERS.get(data['answer'], data['answer'])} {actor}"
    why = data.get("reason") or data.get("reference")
    return f"{said} ({why})" if why else said


def _time(event: Event) -> str:
    return event.at.isoformat()
