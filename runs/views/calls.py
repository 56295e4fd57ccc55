"""A call in words: its sentence, its arguments, and what undoes it. Nothing here queries the database."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from runs import redaction
from runs.agentfile import AgentSpec
from runs.loading import closes_at, undo_named, undo_of
from runs.models import Step
from runs.replies import sentence
from runs.states import StepState
from runs.tools import windows
from runs.tools.bindings import Unbindable, bind, promised
from runs.tools.registry import Tool, Undo
from runs.views.moments import clock

# A step that is no call: its model is deciding, or decided on none.
NO_CALL = {
    StepState.DECIDING: "Its model decides what comes next",
    StepState.FAILED: "No call: its model failed",
    StepState.CANCELLED: "No further call",
}


@dataclass(frozen=True)
class Argument:
    """One argument, exactly as it would be sent; `is_data` where it is a list or an object, shown as JSON.

    `marks` say in words which of it others wrote (runs/marks.py).
    """

    name: str
    text: str
    is_data: bool = False
    marks: tuple[str, ...] = ()


@dataclass(frozen=True)
class UndoWords:
    """What undoes a write, and until when. `why_not` where nothing does, in words; then `tool` is ''."""

    tool: str = ""
    arguments: tuple[Argument, ...] = ()
    why_not: str = ""
    until: str = ""  # the time, or what ends it: collection


def in_order(args: Mapping[str, Any], tool: Tool | None) -> dict[str, Any]:
    """The arguments in the order of the tool's parameters: the database keeps none."""
    known = [name for name in tool.arguments.model_fields if name in args] if tool else []
    return {name: args[name] for name in [*known, *(name for name in args if name not in known)]}


def exact_json(value: Any) -> str:
    """A value as JSON, to be read by people; every digit as it is stored."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def arguments_of(
    args: Mapping[str, Any], tool: Tool | None = None, marks: Sequence[Mapping[str, Any]] = ()
) -> tuple[Argument, ...]:
    """Every argument, in the order of its tool, with the marks that are stored of it."""
    said: dict[str, list[str]] = {}
    for mark in marks:
        said.setdefault(mark["argument"].split("/")[1], []).append(marked(mark))
    found = in_order(args, tool).items()
    return tuple(Argument(name, *_text(value), tuple(said.get(name, ()))) for name, value in found)


def marked(mark: Mapping[str, Any]) -> str:
    """`from the result of read_mail, step 2: “refund 500 to ACCT-9”`."""
    place = (
        "a customer’s message"
        if mark["step"] is None
        else f"the result of {mark['tool']}, step {mark['step']}"
    )
    if mark["whole"]:
        return f"{'taken out of' if mark['loose'] else 'also in'} {place}"
    return f"from {place}: “{mark['part']}”"


def _text(value: Any) -> tuple[str, bool]:
    if isinstance(value, str):
        return value, False
    if isinstance(value, dict | list):
        return exact_json(value), True
    return json.dumps(value), False


def call_text(step: Step, spec: AgentSpec, *, reveal: bool = False) -> str:
    """`charge_card(order 4411, amount 40.00)`."""
    args = redaction.args_of(step, spec, reveal=reveal)
    items = arguments_of(args, spec.catalogue.get(step.tool))
    return f"{step.tool}({', '.join(f'{item.name} {item.text}' for item in items)})"


def sentence_of(step: Step, spec: AgentSpec, *, reveal: bool = False) -> str:
    """What the call does, in the words of its tool: `Charge 40.00 to order 4411`. `reveal`: see runs/redaction.py."""
    if not step.tool:
        return NO_CALL.get(StepState(step.state), "")
    tool, args = spec.catalogue.get(step.tool), redaction.args_of(step, spec, reveal=reveal)
    return sentence(tool.sentence if tool else "", call_text(step, spec, reveal=reveal), args)


def result_text(step: Step, spec: AgentSpec) -> str:
    """What a performed call returned, in the words of its tool; '' where it says nothing of it."""
    tool = spec.catalogue.get(step.tool)
    return sentence(tool.summary if tool else "", "", redaction.values_of(step, spec))


def undo_words(step: Step, spec: AgentSpec, *, reveal: bool = False) -> UndoWords:
    """What undoes this write, with its arguments bound as far as the write's result is known."""
    tool = spec.catalogue.get(step.tool)
    undo = undo_named(step, tool)
    if tool is None and not step.named:
        return UndoWords(why_not=f"{step.tool} is no longer a tool of {spec.name}")
    if step.note:
        return UndoWords(why_not=f"it cannot be undone: {step.note}")
    if undo is None:
        return UndoWords(why_not="nothing undoes it")
    if not undo_of(step, tool, spec):
        return UndoWords(why_not=f"{undo.tool} would undo it, and is not a tool of {spec.name}")
    closes = closes_at(step, tool)
    if closes and timezone.now() >= closes and step.state != StepState.UNDONE:
        return UndoWords(why_not=f"it could be undone until {clock(closes)}")
    until = clock(closes) if closes else windows.words(tool.reversible_until) if tool else ""
    by = spec.tools.get(undo.tool)
    try:
        args = _bound(step, undo, by)
    except Unbindable as error:
        return UndoWords(why_not=f"it {'cannot' if _is_known(step) else 'could not'} be undone: {error}")
    hidden = redaction.hidden_of_undo(undo, by, args, redaction.hidden_of(step, spec))
    shown = args if reveal else redaction.without(args, hidden)
    return UndoWords(undo.tool, tuple(_argument(name, value) for name, value in shown.items()), until=until)


def _is_known(step: Step) -> bool:
    """What it returned is known."""
    return step.entry is not None and step.state in (StepState.PERFORMED, StepState.UNDONE)


def _bound(step: Step, undo: Undo, by: Tool | None) -> dict[str, Any]:
    """The arguments of the undo, as far as they are known. Raises Unbindable."""
    if step.entry is None or not _is_known(step):
        return promised(undo, by, step.args)
    return in_order(bind(undo, by, step.args, step.entry.result), by)


def _argument(name: str, value: Any) -> Argument:
    later = isinstance(value, str) and value.startswith("$result")
    return Argument(name, "from its result") if later else Argument(name, *_text(value))
