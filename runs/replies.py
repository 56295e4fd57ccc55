"""What a person is told at the end of a run: computed from its rows, word for word as docs/contract.md has it."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from string import Formatter
from typing import Any

from django.utils import timezone

from runs import redaction
from runs.agentfile import AgentSpec
from runs.loading import closes_at, is_halted, undo_of, undoable
from runs.models import Run, Step
from runs.states import IN_FLIGHT, RunState, StepState

STOPPED = "This run stopped: "


def sentence(template: str, fallback: str, values: dict[str, Any]) -> str:
    """`template` with the values in it, or `fallback` where it names one that is not there or cannot be shown so."""
    names = {name for _, name, _, _ in Formatter().parse(template) if name}
    if not template or not names <= set(values):
        return fallback
    try:
        return template.format_map({name: values[name] for name in names})
    except (
        TypeError,
        ValueError,
    ):  # `{amount:.2f}` of a hidden value, or of another type: no page may fail for it
        return fallback


def summary_of(step: Step, spec: AgentSpec) -> str:
    """One performed step in words: the tool's own summary, or its name."""
    tool = spec.catalogue.get(step.tool)
    return sentence(tool.summary if tool else "", step.tool, redaction.values_of(step, spec))


def reply(run: Run, steps: Iterable[Step], spec: AgentSpec, state: RunState, now: datetime) -> str:
    """The one reply of a run that ends in `state`, at the time `now`."""
    steps = list(steps)
    if run.stop is None:
        words = [f"The model says: {run.words}"] if run.words else []
        return " ".join([*_done(steps, spec), *_found(steps), *words])
    left = _left_alone(steps, spec) if is_halted(run) else _left(steps, spec, state, now)
    return STOPPED + " ".join([reason_of(run.stop), *left, *_found(steps)])


def _found(steps: list[Step]) -> list[str]:
    """The calls that a person was asked about, until a lookup found that they had happened."""
    found = [step.tool for step in steps if found_by_lookup(step)]
    return [f"Settled by a lookup: {', '.join(found)}."] if found else []


def found_by_lookup(step: Step) -> bool:
    """A lookup settled that it happened, and no person's answer did."""
    return step.asks == "outcome" and step.said == "happened" and not step.answered_by


def _done(steps: list[Step], spec: AgentSpec) -> list[str]:
    done = [summary_of(step, spec) for step in steps if step.state == StepState.PERFORMED]
    parts = [f"Done: {'; '.join(done)}." if done else "Nothing had been done."]
    for word, state in (("Skipped", StepState.DECLINED), ("Not sent", StepState.CANCELLED)):
        if names := [step.tool for step in steps if step.state == state and step.tool]:
            parts.append(f"{word}: {', '.join(names)}.")
    return parts


def reason_of(stop: dict[str, Any]) -> str:
    """Why a run stopped, as its reply begins: `stop` is the column of the run."""
    tool = stop.get("tool") or "its model"
    return {
        "failed": f"{tool} failed ({stop.get('cause')}).",
        "refused": f"{tool} was refused ({stop.get('cause')}).",
        "not_performed": f"{tool} did not take effect.",
        "died": "its process died.",
        "model_limit": f"its model was asked {stop.get('detail')} and was not done.",
        "not_read": f"its turn was not read ({stop.get('detail')}), and a person takes over.",
        "reconcile_conflict": f"what is outside contradicts the record ({stop.get('detail')}).",
        "internal_error": f"an internal error ({stop.get('detail')}).",
        "agent_gone": "its agent is not known any more.",
    }.get(stop["kind"], f"cancelled by {stop.get('by')}.")


def _left_alone(steps: list[Step], spec: AgentSpec) -> list[str]:
    """A halted run: what was undone before it was, what is in effect, and what nobody knows."""
    parts = [*_undone(steps)]
    if effects := still_in_effect(steps, spec):
        parts.append(f"Left as they are: {', '.join(step.tool for step in effects)}.")
    if unknown := [step.tool for step in steps if step.state in IN_FLIGHT]:
        parts.append(f"Not known: {', '.join(unknown)}.")
    return parts or ["Nothing had been done."]


def _left(steps: list[Step], spec: AgentSpec, state: RunState, now: datetime) -> list[str]:
    """What was undone, what cannot be, what could not be, what is left to undo, and what is kept for a person."""
    parts = [*_undone(steps)]
    remaining = [step for step in still_in_effect(steps, spec) if undoable(step, spec, now)]
    impossible = [step for step in still_in_effect(steps, spec) if step not in remaining]
    if impossible:
        names = ", ".join(_too_late(step, spec) for step in impossible)
        parts.append(f"Not undoable, and left as they are: {names}.")
    if remaining and state is RunState.ABANDONED:
        parts.append(f"Still to undo: {', '.join(step.tool for step in reversed(remaining))}.")
    if remaining and state is RunState.HANDED_OVER:
        parts.append(f"Left as they are: {', '.join(step.tool for step in remaining)}.")
    return parts or ["Nothing had been done."]


def _too_late(step: Step, spec: AgentSpec) -> str:
    """The name of a write that stays; where it could be undone once, until when."""
    tool = spec.catalogue.get(step.tool)
    closed = closes_at(step, tool)
    if closed is None or not undo_of(step, tool, spec):
        return step.tool
    return f"{step.tool} (could be undone until {timezone.localtime(closed):%Y-%m-%d %H:%M:%S %Z})"


def _undone(steps: list[Step]) -> Iterator[str]:
    undone = sorted((step for step in steps if step.state == StepState.UNDONE), key=lambda step: -step.number)
    by = {step.undoes_id: step.tool for step in steps if step.undoes_id}
    if undone:
        yield f"Undone, latest first: {', '.join(f'{step.tool} (by {by[step.pk]})' for step in undone)}."


def still_in_effect(steps: Iterable[Step], spec: AgentSpec) -> list[Step]:
    """The writes of a run that took effect and are not undone, by number."""
    return [
        step
        for step in steps
        if step.undoes_id is None
        and step.state == StepState.PERFORMED
        and not step.replayed
        and (step.tool not in spec.catalogue or spec.catalogue[step.tool].writes)
    ]
