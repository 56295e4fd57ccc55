"""From rows to the frozen snapshot that the core decides on."""

from datetime import datetime
from typing import cast

from django.conf import settings

from runs import rows
from runs.agentfile import AgentSpec
from runs.decoding import refuse_damage
from runs.models import LedgerEntry, Run, Step
from runs.states import HALTS, STEP_ENDS, RunState, StepState
from runs.tools import windows
from runs.tools.bindings import Unbindable, bind
from runs.tools.registry import Tool, Undo, parse_undo
from runs.transitions import Held
from runs.view import RunView, StepView

STEPS = """
SELECT {columns}
  FROM runs_step LEFT JOIN runs_ledgerentry ON runs_ledgerentry.key = runs_step.entry_id
 WHERE runs_step.run_id = $1 ORDER BY runs_step.number
"""


def load_steps(held: Held) -> list[Step]:
    """The run's steps with their ledger entries, by number. Raises Damaged."""
    steps = []
    for step, entry in rows.fetch(STEPS, [held.run.pk], Step, LedgerEntry):
        if entry:
            step.entry = entry
        steps.append(step)
    refuse_damage(held.run, steps)
    by_key = {step.pk: step for step in steps}
    for step in steps:
        if step.undoes_id:
            step.undoes = by_key[step.undoes_id]
    return steps


def is_halted(run: Run) -> bool:
    """It ends, or ended, `failed` with a ticket, and nothing is undone by itself."""
    return run.stop is not None and run.stop.get("kind") in HALTS


def run_view(held: Held, spec: AgentSpec) -> RunView:
    """The snapshot. Unchanged steps are taken from memory, so that a long run costs what a short one does."""
    run = held.run
    _move_settled(held)
    return RunView(
        state=RunState(run.state),
        now=held.now,
        steps=_step_views(held, spec),
        mode=run.mode,
        rollback=run.rollback,
        keys=run.keys,
        opened=run.opened and run.closed_at is None,
        decides=bool(run.model) and run.closed_at is None,
        exhausted=run.requests >= settings.MODEL_REQUESTS,
        unread=bool(run.unread) and not run.model,
        cancelled=run.cancel_requested_at is not None,
        undo_requested=run.undo_requested_at is not None,
        rewound=run.rewound_at is not None,
        gave_up=run.gave_up,
        halted=is_halted(run),
        settled=held.settled,
    )


def step_view(held: Held, step: Step, spec: AgentSpec) -> StepView:
    """One step as the core sees it."""
    index = held.places[step.number]
    found = held.views[index]
    if found is None or index in held.stale:
        found = held.views[index] = _step_view(held, step, spec)
        held.stale.discard(index)
    return found


def _step_views(held: Held, spec: AgentSpec) -> tuple[StepView, ...]:
    for index in tuple(held.stale):
        step_view(held, held.steps[index], spec)
    return tuple(cast("list[StepView]", held.views))


def _step_view(held: Held, step: Step, spec: AgentSpec) -> StepView:
    tool = spec.catalogue.get(step.tool)
    ruling = held.rulings.get(step.number)
    return StepView(
        number=step.number,
        state=StepState(step.state),
        tool=step.tool,
        # A tool that is gone is taken for the worse; what undoes a write is a write; without a tool it is no call yet.
        writes=bool(step.tool) and (tool is None or tool.writes or step.undoes_id is not None),
        irreversible=tool is not None and tool.irreversible,
        undo=undo_of(step, tool, spec),
        undoes=step.undoes.number if step.undoes else None,
        retry_safe=tool is not None and tool.retry_safe,
        lookup=bool(lookup_named(step, tool, spec)),
        check=ruling.verdict if ruling else "",
        calls=step.calls,
        budget=step.budget,
        doubt=step.doubt,
        said=step.said,
        lookups=step.lookups,
        look_asked_at=step.look_asked_at,
        settles_at=step.settles_at,
        resend_until=step.resend_until,
        due_at=step.due_at,
        answer=step.answer,
        replayed=step.replayed,
        reason=step.reason,
        closes_at=closes_at(step, tool),
        window="" if step.number in held.timed or not _asks_until_when(tool) else "ask",
    )


def closes_at(step: Step, tool: Tool | None) -> datetime | None:
    """When the window closes in which this write can be undone, as far as that is known."""
    if tool is None or not tool.reversible_until:
        return None
    result, sent_at = (step.entry.result, step.entry.first_sent_at) if step.entry else (None, None)
    return windows.closes_at(tool.reversible_until, step.args, result, sent_at, step.closes_at)


def _asks_until_when(tool: Tool | None) -> bool:
    return tool is not None and windows.asks_tool(tool.reversible_until)


def undo_of(step: Step, tool: Tool | None, spec: AgentSpec) -> str:
    """The tool that undoes this step; '' where none does: none named, not the agent's, or not to be bound.

    It may be too late for it: see `undoable`.
    """
    undo = undo_named(step, tool)
    if undo is None or step.note:
        return ""
    return undo.tool if step.named or undo.tool in spec.tools else ""


def undo_named(step: Step, tool: Tool | None) -> Undo | None:
    """What undoes this step: as its program named it with the step, or as its tool says."""
    if step.named:
        return parse_undo(step.tool, step.named["undo"])
    return tool.undo if tool else None


def undoable(step: Step, spec: AgentSpec, now: datetime) -> str:
    """The tool that would undo this step now; '' where none can, or no longer can."""
    tool = spec.catalogue.get(step.tool)
    closed = closes_at(step, tool)
    if (closed and now >= closed) or not _can_be_bound(step, tool, spec):
        return ""
    return undo_of(step, tool, spec)


def _can_be_bound(step: Step, tool: Tool | None, spec: AgentSpec) -> bool:
    """Whether a write that took effect names all that its undo takes; of any other its result is not known."""
    undo = undo_named(step, tool)
    if undo is None or step.entry is None or step.state != StepState.PERFORMED:
        return True
    try:
        bind(undo, spec.tools.get(undo.tool), step.args, step.entry.result)
    except Unbindable:
        return False
    return True


def lookup_named(step: Step, tool: Tool | None, spec: AgentSpec) -> str:
    """The tool that says what became of a call of this step; '' where none does, or it is not to be had here."""
    said = step.named["lookup"] if step.named else tool.lookup if tool else None
    return said if said and said in spec.catalogue else ""


def lookup_of(step: Step, tool: Tool | None, spec: AgentSpec) -> str:
    """The tool that says what became of a step whose outcome is asked about; '' where none can."""
    return lookup_named(step, tool, spec) if step.asks == "outcome" else ""


def _move_settled(held: Held) -> None:
    steps = held.steps
    while held.settled < len(steps):
        step = steps[held.settled]
        if step.undoes_id is None and step.state not in STEP_ENDS:
            return
        held.settled += 1
