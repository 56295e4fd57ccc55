"""Values that are not to be shown: the arguments and the fields of results that a tool names in `redact`.

The one place that says what of a step leaves the engine: pages, the API, the trace, the record as exported, tickets,
replies and notifications all take a step's values from here. The rows keep them, since a call that is sent again must
be the same call. Who may answer an open question sees what it asks about, since they answer for exactly that: its page,
and reading it by itself over the API, `reveal` it.
"""

from collections.abc import Collection, Iterable
from typing import Any

from runs.agentfile import AgentSpec
from runs.loading import undo_named
from runs.models import Event, Step
from runs.tools.registry import Tool, Undo

REDACTED = "[redacted]"


def args_of(step: Step, spec: AgentSpec, *, reveal: bool = False) -> dict[str, Any]:
    """The arguments of a step."""
    return dict(step.args) if reveal else without(step.args, hidden_of(step, spec))


def result_of(step: Step, spec: AgentSpec) -> Any:
    """What its call returned; None where nothing is known of it."""
    return without(step.entry.result, hidden_of(step, spec)) if step.entry else None


def values_of(step: Step, spec: AgentSpec, *, reveal: bool = False) -> dict[str, Any]:
    """What the words of its tool are filled with: the arguments, and over them the fields of the result."""
    result = step.entry.result if step.entry and isinstance(step.entry.result, dict) else {}
    values = {**step.args, **result}
    return values if reveal else without(values, hidden_of(step, spec))


def data_of(event: Event, spec: AgentSpec) -> Any:
    """What a line of the record says beside its state; a line of the run hides what any of its tools hides."""
    data = event.data
    if not isinstance(data, dict) or "result" not in data:
        return data
    everything = (name for tool in spec.catalogue.values() for name in tool.redact)
    hidden = hidden_of(event.step, spec) if event.step else frozenset(everything)
    return data | {"result": without(data["result"], hidden)}


def hidden_of(step: Step, spec: AgentSpec) -> frozenset[str]:
    """The names whose values are not shown of this step. An undo hides what its write hides, under any name.

    They are what the tool says now; of one that is gone nothing is known, but for a program's step, whose row says it.
    """
    tool = spec.catalogue.get(step.tool)
    named = (step.named or {}).get("redact", ())
    hidden = frozenset([*named, *(tool.redact if tool else ())])
    undo = undo_named(step.undoes, spec.catalogue.get(step.undoes.tool)) if step.undoes else None
    if step.undoes is None or undo is None:
        return hidden
    return hidden | hidden_of_undo(undo, tool, step.args, hidden_of(step.undoes, spec))


def hidden_of_undo(
    undo: Undo, by: Tool | None, names: Iterable[str], of_write: frozenset[str]
) -> frozenset[str]:
    """Of the arguments `names` of an undo: what its own tool hides, and what its write hides, under either name."""
    bound = (name for name in names if of_write & set(_path(undo.args.get(name, f"$args.{name}"))))
    return of_write | frozenset([*(by.redact if by else ()), *bound])


def _path(source: Any) -> list[str]:
    """The names that a source goes through: `$result.card.number` is card, number. A literal has none."""
    return source.split(".")[1:] if isinstance(source, str) and source.startswith("$") else []


def without(value: Any, hidden: Collection[str]) -> Any:
    """`value`, with [redacted] in the place of what has one of these names, at any depth."""
    if not hidden:
        return value
    if isinstance(value, dict):
        return {name: REDACTED if name in hidden else without(item, hidden) for name, item in value.items()}
    return [without(item, hidden) for item in value] if isinstance(value, list) else value
