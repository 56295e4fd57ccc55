"""The handover ticket: what was done, what was not, what the customer knows, what to do next (S1).

Computed from the rows and the tools' own words alone, never by a model: a summary written by the run would be a
description of work that it did not see finish.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

from runs.agentfile import AgentSpec, spec_of
from runs.loading import closes_at, undo_named, undoable
from runs.models import Run, Step
from runs.redaction import args_of, values_of
from runs.replies import sentence
from runs.states import IN_FLIGHT, StepState
from runs.tools import windows
from runs.tools.registry import Tool, gone

NOT_DONE = frozenset(
    {
        StepState.PROPOSED,
        StepState.NEEDS_APPROVAL,
        StepState.APPROVED,
        StepState.CANCELLED,
        StepState.DECLINED,
        StepState.REFUSED,
        StepState.FAILED,
        StepState.NOT_PERFORMED,
    }
)
DONE = frozenset({StepState.PERFORMED})


@dataclass(frozen=True)
class Parts:
    """The steps of a run, as a person who takes over asks for them."""

    done: list[Step]
    not_done: list[Step]
    undone: list[Step]  # the undos
    unknown: list[Step]
    told: list[Step]  # whatever was performed, undone since or not


def ticket(run: Run) -> dict[str, Any]:
    """The ticket as JSON values: text, lists of objects, true, false. Times are those of the site's zone."""
    steps = run.steps.select_related("entry", "undoes").order_by("number")
    return ticket_of(run, steps, spec_of(run.thread.agent))


def parts_of(steps: Iterable[Step], spec: AgentSpec) -> Parts:
    """What was done, what was not, what was undone, and what nobody knows."""
    steps = [step for step in steps if step.tool]  # what its model was still deciding is no call
    writes = [step for step in steps if step.undoes_id is None and _tool(step, spec).writes]
    return Parts(
        done=[step for step in writes if step.state in DONE],
        not_done=[step for step in writes if step.state in NOT_DONE],
        undone=[step for step in steps if step.undoes_id and step.state in DONE],
        unknown=[step for step in steps if step.state in IN_FLIGHT],
        told=[step for step in steps if step.state in (StepState.PERFORMED, StepState.UNDONE)],
    )


def ticket_of(run: Run, steps: Iterable[Step], spec: AgentSpec) -> dict[str, Any]:
    """The ticket, of rows that were read before: steps with their entries, and what they undo."""
    parts = parts_of(steps, spec)
    return {
        "ticket_id": run.ticket or run.name,
        "order_id": run.subject,
        "reason": run.handover_reason,
        "completed": [_completed(step, spec, run) for step in parts.done],
        "not_done": [{"tool": step.tool, "detail": _detail(step, spec)} for step in parts.not_done],
        "undone": [_undone(step, run) for step in parts.undone],
        "unknown": [_unknown(step) for step in parts.unknown],
        "customer_told": _customer_told(parts, spec),
        "next_action": _not_read(run) or _next_action(parts.done, parts.not_done, spec),
    }


def _not_read(run: Run) -> str:
    """Of a turn that nobody read: what was asked for, and the parts that were not read."""
    if run.handover_reason != "not_read":
        return ""
    turn = " ".join(run.messages.filter(role="user").values_list("text", flat=True))
    parts = ", ".join(f"“{part}”" for part in run.unread)
    return f"Carry out what {run.thread.user} asked for: “{turn}”. Not read: {parts}."


def _tool(step: Step, spec: AgentSpec) -> Tool:
    """The tool of a step; one that is gone is taken for a write without words."""
    return spec.catalogue.get(step.tool) or gone(step.tool)


def _completed(step: Step, spec: AgentSpec, run: Run) -> dict[str, Any]:
    tool = _tool(step, spec)
    detail = sentence(tool.summary, _detail(step, spec), values_of(step, spec))
    return {
        "tool": step.tool,
        "at": _at(step.ended_at, run),
        "detail": detail,
        "reversible": _reversible(step, tool, spec, run),
    }


def _reversible(step: Step, tool: Tool, spec: AgentSpec, run: Run) -> bool | str:
    if step.replayed or not undoable(step, spec, timezone.now()):
        return False
    if not tool.reversible_until:
        return True
    closes = closes_at(step, tool)
    named = windows.asks_tool(tool.reversible_until) or closes is None
    return f"until {windows.words(tool.reversible_until) if named else _at(closes, run)}"


def _detail(step: Step, spec: AgentSpec) -> str:
    tool = _tool(step, spec)
    fallback = step.text or ", ".join(f"{name} {value}" for name, value in args_of(step, spec).items())
    return sentence(tool.detail or tool.sentence, fallback, values_of(step, spec))


def _undone(step: Step, run: Run) -> dict[str, Any]:
    write = step.undoes.tool if step.undoes else ""
    return {"tool": write, "by": step.tool, "at": _at(step.ended_at, run)}


def _unknown(step: Step) -> dict[str, Any]:
    return {"tool": step.tool, "key": step.entry_id, "asked": step.question}


def _customer_told(parts: Parts, spec: AgentSpec) -> str:
    """What tools told when they were performed, undone since or not, and what the customer has heard nothing of."""
    told = [sentence(_tool(step, spec).tells_customer, "", values_of(step, spec)) for step in parts.told]
    silent = [step for step in parts.done if not _tool(step, spec).tells_customer] + parts.not_done
    untold = [sentence(_tool(step, spec).untold, "", values_of(step, spec)) for step in silent]
    return " ".join(dict.fromkeys(part for part in told + untold if part)) or "Nothing."


def _next_action(done: list[Step], not_done: list[Step], spec: AgentSpec) -> str:
    """The hints of what was not done, or of the undos of what was."""
    hints = [sentence(_tool(step, spec).if_not_done, "", values_of(step, spec)) for step in not_done]
    for step in done:
        undo = undo_named(step, spec.catalogue.get(step.tool))
        if undo and undo.tool in spec.catalogue:
            hints.append(sentence(spec.catalogue[undo.tool].if_not_done, "", values_of(step, spec)))
    return ", or ".join(dict.fromkeys(hint for hint in hints if hint))


def _at(moment: datetime | None, run: Run) -> str:
    """The time; with its day, where that is not the day on which the ticket was opened."""
    if moment is None:
        return ""
    local, opened = (
        timezone.localtime(moment),
        timezone.localtime(run.handover_at) if run.handover_at else None,
    )
    return f"{local:%H:%M:%S}" if opened and opened.date() == local.date() else f"{local:%Y-%m-%d %H:%M:%S}"
