"""Tools by their dotted path, `shop.boxes.deprovision`: what any process that can import the module can call.

A program names the undos of its steps so (runs/saga.py). Only a function that is a `@tool` is found.
"""

import dataclasses
import functools
import importlib
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from runs.errors import ConfigurationError
from runs.tools.registry import ATTRIBUTE, Tool

PATH = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)+")


class Importable(Mapping[str, Tool]):
    """Every tool that this process can import, by its dotted path. It cannot be listed."""

    def __getitem__(self, path: str) -> Tool:
        try:
            return tool_at(path)
        except ConfigurationError:
            raise KeyError(path) from None

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


@functools.cache
def tool_at(path: str) -> Tool:
    """The tool at this path, called by it, and so is its lookup. Raises ConfigurationError; then nothing is kept."""
    if not PATH.fullmatch(path):
        raise ConfigurationError(f"{path!r} is not a dotted path such as shop.boxes.deprovision.")
    module, _, name = path.rpartition(".")
    try:
        found: Tool = getattr(getattr(importlib.import_module(module), name), ATTRIBUTE)
    except AttributeError:
        raise ConfigurationError(f"{path} is not a tool: {module} needs a @tool function {name}.") from None
    except Exception as error:  # noqa: BLE001 (a module that is imported may raise anything)
        raise ConfigurationError(
            f"{module} cannot be imported ({type(error).__name__}: {error}); it must be where every worker finds it."
        ) from None
    lookup = found.lookup and qualified(found.lookup, module)
    return dataclasses.replace(found, name=path, undo=None, lookup=lookup)


def path_of(handler: str | Callable[..., Any], module: str) -> str:
    """The dotted path of a tool: of the function itself, of its path, or of its name in `module`.

    Raises ConfigurationError where another process would not find it there.
    """
    path = qualified(handler, module) if isinstance(handler, str) else _of_function(handler)
    tool_at(path)
    return path


def qualified(name: str, module: str) -> str:
    """`deprovision` -> `shop.boxes.deprovision`; a path stays as it is."""
    return name if "." in name else f"{_importable(module)}.{name}"


def _of_function(function: Callable[..., Any]) -> str:
    name = getattr(function, "__qualname__", "")
    path = f"{_importable(getattr(function, '__module__', '') or '')}.{name}"
    if not hasattr(function, ATTRIBUTE) or not name.isidentifier():
        raise ConfigurationError(
            f"{name or function!r} is not found by another process: it must be a @tool function of a module."
        )
    return path


def _importable(module: str) -> str:
    """The module by which another process finds what this one has."""
    if module != "__main__":
        return module
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    if spec is None:
        raise ConfigurationError(
            "What undoes a step must be in a module that every worker can import, and this is in the program itself."
        )
    return str(spec.name)
