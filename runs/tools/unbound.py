"""What of an undo can never be bound, known before launch from the write's and the undo's own declarations.

An undo that cannot be bound when it is needed is not possible (runs/tools/bindings.py); what is certain to fail is
said at registration. Where a write does not declare what it returns, a `$result` may be there, and nothing is said.
"""

from collections.abc import Iterator
from types import NoneType
from typing import Any, get_type_hints, is_typeddict

from pydantic import BaseModel, ValidationError

from runs.tools.registry import Tool

# A value of each JSON type, to try an argument with. Text is left out: it may read as a number or as money.
SAMPLES = {"integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}}
BARE = (None, NoneType, bool, int, float, str, list)  # a result of these has no fields


def unbound(write: Tool, by: Tool) -> Iterator[tuple[str, Any]]:
    """(argument, source) of all that the undo `by` of this write cannot take, whatever the write is given.

    An argument that the undo does not have, a source that the write does not have, and a literal or an argument of
    the write whose type the undo never accepts.
    """
    named = dict(write.undo.args) if write.undo else {}
    for name, source in named.items():
        if name not in by.arguments.model_fields or not _can_be_bound(name, source, write, by):
            yield name, source
    for name, field in by.arguments.model_fields.items():
        if name not in named and not _has_an_equal(name, write, by, required=field.is_required()):
            yield name, f"$args.{name}" if name in write.arguments.model_fields else f"$result.{name}"


def binds(write: Tool, by: Tool) -> bool:
    """Whether the undo may be bound. An argument that it does not have is said, and binds nothing."""
    return not any(name in by.arguments.model_fields for name, _ in unbound(write, by))


def _can_be_bound(name: str, source: Any, write: Tool, by: Tool) -> bool:
    if not isinstance(source, str) or not source.startswith("$"):
        return not _errors(by, name, source)
    root, _, path = source.partition(".")
    part = path.partition(".")[0]
    if root == "$result":
        fields = _returned(write)
        return fields is None or not path or part in fields
    if root != "$args":
        return False
    return not path or (
        part in write.arguments.model_fields and ("." in path or _takes(by, name, write, part))
    )


def _has_an_equal(name: str, write: Tool, by: Tool, *, required: bool) -> bool:
    """Whether an argument without a source may find one of its own name, or goes without."""
    fields = _returned(write)
    if fields is None or name in fields:
        return True
    if name in write.arguments.model_fields:
        return _takes(by, name, write, name)
    return not required


def _takes(by: Tool, name: str, write: Tool, argument: str) -> bool:
    """Whether this argument of the undo may take a value of the type of that argument of the write."""
    kind = write.arguments.model_json_schema()["properties"][argument].get("type")
    if kind not in SAMPLES:
        return True
    return not any(error.endswith("_type") for error in _errors(by, name, SAMPLES[kind]))


def _errors(by: Tool, name: str, value: Any) -> list[str]:
    try:
        by.arguments.model_validate({name: value})
    except ValidationError as refused:
        found = refused.errors(include_url=False, include_context=False, include_input=False)
        return [error["type"] for error in found if error["loc"][0] == name]
    except Exception:  # noqa: BLE001 (a validator of the tool's own that cannot cope with a sample says nothing)
        return []
    return []


def _returned(write: Tool) -> frozenset[str] | None:
    """The fields of a write's result, as far as its annotation declares them; None where it does not say."""
    declared = get_type_hints(write.function).get("return", Any)
    if declared in BARE:
        return frozenset()
    if is_typeddict(declared):
        return frozenset(declared.__annotations__)
    if isinstance(declared, type) and issubclass(declared, BaseModel):
        return None if declared.model_config.get("extra") == "allow" else frozenset(declared.model_fields)
    return None
