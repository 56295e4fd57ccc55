"""Binding an undo to the write that it undoes: `$args.x`, `$result.y`. Nothing is ever guessed."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from runs.errors import BadInput
from runs.tools.registry import Tool, Undo

MISSING = object()


class Unbindable(Exception):
    """The undo cannot be bound; the message says which argument, and why."""


def bind(undo: Undo, tool: Tool | None, args: Mapping[str, Any], result: Any) -> dict[str, Any]:
    """The validated arguments of the undo `tool` for a write with these `args` and this `result`.

    A named source must be there; an argument without one takes the equal name of the result, then of the
    arguments, then its own default. Where the tool is not to be had here, what is named is bound, and the check
    says the rest. Raises Unbindable.
    """
    bound: dict[str, Any] = {}
    if tool is None:
        return {name: _named(undo, name, args, result) for name in undo.args}
    for name, field in tool.arguments.model_fields.items():
        value = source(undo.args[name], args, result) if name in undo.args else _equal(name, args, result)
        if value is not MISSING:
            bound[name] = value
        elif name in undo.args or field.is_required():
            raise Unbindable(f"{tool.name}: {name} <- {undo.args.get(name, '$result.' + name)}")
    try:
        return tool.validate(bound)
    except BadInput as error:
        raise Unbindable(str(error)) from None


def _named(undo: Undo, name: str, args: Mapping[str, Any], result: Any) -> Any:
    value = source(undo.args[name], args, result)
    if value is MISSING:
        raise Unbindable(f"{undo.tool}: {name} <- {undo.args[name]}")
    return value


def promised(undo: Undo, tool: Tool | None, args: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of the undo `tool` for a write with these `args` that has no result yet.

    What its result will say stands there as its source, such as `$result.charge`. Raises Unbindable where what is
    known already cannot be bound, whatever the result will be.
    """
    texts = {
        name: undo.args.get(name, f"$args.{name}" if name in args else f"$result.{name}")
        for name in (tool.arguments.model_fields if tool else undo.args)
    }
    later = {name for name, text in texts.items() if isinstance(text, str) and text.startswith("$result")}
    known = {name: source(text, args, None) for name, text in texts.items() if name not in later}
    for name in known.keys() & _refused(tool, known):
        raise Unbindable(f"{undo.tool}: {name} <- {texts[name]}")
    return {name: known.get(name, text) for name, text in texts.items()}


def _refused(tool: Tool | None, known: Mapping[str, Any]) -> set[Any]:
    """The arguments that the tool does not take as they are; one that is not there is none that it takes."""
    missing = {name for name, value in known.items() if value is MISSING}
    if tool is None:
        return missing
    try:
        tool.arguments.model_validate({name: value for name, value in known.items() if name not in missing})
    except ValidationError as refused:
        return missing | {error["loc"][0] for error in refused.errors()}
    return missing


def _equal(name: str, args: Mapping[str, Any], result: Any) -> Any:
    if isinstance(result, Mapping) and name in result:
        return result[name]
    return args.get(name, MISSING)


def source(text: Any, args: Mapping[str, Any], result: Any) -> Any:
    """What `$args.x` or `$result.y` names; MISSING where it is not there. What is no source is itself."""
    if not isinstance(text, str) or not text.startswith("$"):
        return text
    root, _, path = text.partition(".")
    value: Any = {"$args": args, "$result": result}.get(root, MISSING)
    for part in path.split(".") if path else ():
        value = value.get(part, MISSING) if isinstance(value, Mapping) else MISSING
    return value
