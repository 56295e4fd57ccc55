"""Programs that are no agents (runs/saga.py): the calls that they make, and the name under which they run.

To the engine a saga is a run of the agent `saga`. It has no file and no tools of its own: the tools that undo its
steps, and that look them up, are found by their dotted paths, in every process.
"""

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from runs.agentfile import PROGRAMS, AgentFile, AgentSpec, TaskSection
from runs.digest import canonical, jsonable
from runs.errors import BadInput
from runs.tools.bindings import Unbindable, bind
from runs.tools.imported import PATH, Importable, path_of, tool_at
from runs.tools.registry import ATTRIBUTE, Call, Tool, Undo

TASK = "saga"
POLICY = AgentFile.model_construct(
    agents={},
    tools=[],
    runs="atomic",
    rollback="best_effort",
    # Nobody can go on with a program that died: what it did is undone, and a person is told.
    tasks={TASK: TaskSection(recovery="compensate")},
)
SPEC = AgentSpec(PROGRAMS, Path(PROGRAMS), POLICY, Importable(), Importable())
REFERENCE = re.compile(r"\$(args|result)(\.\w+)+")


class _Anything(BaseModel):
    """The arguments of a function that says nothing of them."""

    model_config = ConfigDict(extra="allow")


@dataclass(frozen=True)
class Plan:
    """One step of a program before it is carried out. `named` is what its row says of its undo and its lookup."""

    name: str
    args: dict[str, Any]
    tool: Tool
    named: dict[str, Any]
    function: Callable[[Call], Any]

    @property
    def undo(self) -> Undo | None:
        """The tool that undoes it, with the source of each argument."""
        return next((Undo(path, args) for path, args in (self.named["undo"] or {}).items()), None)


def plan(
    name: str,
    action: Callable[..., Any],
    *,
    args: Mapping[str, Any] | None = None,
    undo: str | Callable[..., Any] | None = None,
    undo_args: Mapping[str, Any] | None = None,
    lookup: str | Callable[..., Any] | None = None,
    retries: int = 0,
    timeout: float | None = None,
) -> Plan:
    """A step, checked: a name that is wrong is found before anything is sent. Raises BadInput, ConfigurationError."""
    if not isinstance(name, str) or not 0 < len(name) <= 100 or "\x00" in name or PATH.fullmatch(name):
        raise BadInput("A step needs a name of 1 to 100 characters that is not a dotted path.", field="/name")
    if retries < 0:
        raise BadInput(f"{name}: retries is how often an undo is tried again, 0 or more.", field="/retries")
    declared: Tool | None = getattr(action, ATTRIBUTE, None)
    module = _module_of(action)
    tool = replace(declared, name=name) if declared else Tool(name, action, _Anything, writes=True)
    tool = replace(tool, timeout=timeout) if timeout else tool
    given = declared.validate(dict(args or {})) if declared else _json(name, "args", args)
    undo = undo or (declared.undo.tool if declared and declared.undo else None)
    undo_args = undo_args or (declared.undo.args if declared and declared.undo else None)
    lookup = lookup or tool.lookup
    named = {
        "undo": _undo(name, path_of(undo, module), given, undo_args) if undo else None,
        "lookup": path_of(lookup, module) if lookup else None,
        "tries": 1 + retries,
        **({"redact": list(tool.redact)} if tool.redact else {}),
    }
    return Plan(name, given, tool, named, _call_of(action, declared, given, dict(args or {})))


def _module_of(action: Callable[..., Any]) -> str:
    while isinstance(action, functools.partial):
        action = action.func
    return getattr(inspect.unwrap(action), "__module__", "") or ""


def _json(name: str, what: str, values: Mapping[str, Any] | None) -> dict[str, Any]:
    try:
        made = jsonable(dict(values or {}))
        canonical(made)
    except ValueError as error:
        raise BadInput(f"{name}: {what} cannot be kept as JSON: {error}.", field=f"/{what}") from None
    return dict(made)


def _undo(name: str, path: str, args: dict[str, Any], given: Mapping[str, Any] | None) -> dict[str, Any]:
    """The undo, with a source for each of its arguments, so that its row says all that a recovery needs."""
    handler, sources = tool_at(path), _json(name, "undo_args", given)
    if unknown := sorted(set(sources) - set(handler.arguments.model_fields)):
        raise BadInput(f"{name}: {path} takes no {', '.join(unknown)}.", field="/undo_args")
    for argument, field in handler.arguments.model_fields.items():
        if argument not in sources and (argument in args or field.is_required()):
            sources[argument] = f"$args.{argument}" if argument in args else f"$result.{argument}"
    _refuse_unbindable(name, Undo(path, sources), handler, args)
    return {path: sources}


def _refuse_unbindable(name: str, undo: Undo, handler: Tool, args: dict[str, Any]) -> None:
    """What does not depend on the result is bound now."""
    texts = [source for source in undo.args.values() if isinstance(source, str) and source.startswith("$")]
    if odd := [text for text in texts if not REFERENCE.fullmatch(text)]:
        raise BadInput(
            f"{name}: {odd[0]!r} in undo_args is neither $args.<name> nor $result.<field>; "
            "to pass such a text on, put it into args and name it.",
            field="/undo_args",
        )
    if not any(text.startswith("$result") for text in texts):
        try:
            bind(undo, handler, args, None)
        except Unbindable as error:
            raise BadInput(f"{name}: {error}", field="/undo_args") from None


def _call_of(
    action: Callable[..., Any], declared: Tool | None, valid: dict[str, Any], given: dict[str, Any]
) -> Callable[[Call], Any]:
    """How the step is carried out, given its call. A first parameter named `call` receives that."""
    if declared:
        return lambda call: declared.invoke(valid, call)
    if _wants_call(action):
        return lambda call: action(call, **given)
    return lambda call: action(**given)


def _wants_call(action: Callable[..., Any]) -> bool:
    try:
        return next(iter(inspect.signature(action).parameters), "") == "call"
    except (TypeError, ValueError):  # of a builtin
        return False
