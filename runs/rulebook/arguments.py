"""Where the amounts are among the arguments of a tool: told from its types, at any depth."""

import dataclasses
import typing
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from pydantic import BaseModel

from runs.tools.registry import Tool


def amounts_of(tool: Tool) -> frozenset[str]:
    """The names under which amounts stand in the arguments of this tool."""
    return frozenset(_amounts(tool.arguments, set()))


def types_of(annotation: Any) -> Iterator[Any]:
    """The types that an annotation is made of: Decimal and None for `list[Decimal] | None`."""
    named = getattr(annotation, "__supertype__", None) or getattr(annotation, "__value__", None)
    inner = (named,) if named else typing.get_args(annotation)
    for part in inner:
        yield from types_of(part)
    if not inner:
        yield annotation


def _amounts(kind: Any, known: set[Any]) -> Iterator[str]:
    known.add(kind)
    for name, annotation in _fields(kind).items():
        for part in types_of(annotation):
            if isinstance(part, type) and issubclass(part, Decimal):
                yield name
            elif isinstance(part, type) and part not in known:
                yield from _amounts(part, known)


def _fields(kind: Any) -> Mapping[str, Any]:
    if issubclass(kind, BaseModel):
        return {name: field.annotation for name, field in kind.model_fields.items()}
    typed_dict, named_tuple = hasattr(kind, "__total__"), hasattr(kind, "_fields")
    return typing.get_type_hints(kind) if dataclasses.is_dataclass(kind) or typed_dict or named_tuple else {}
