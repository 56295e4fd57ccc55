"""YAML files of ours: every error is one line that names the file, the line and what is wrong there."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from runs.errors import ConfigurationError

Shape = TypeVar("Shape", bound=BaseModel)


class Strict(BaseModel):
    """A part of a file. An unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class YamlFile:
    """A YAML file that knows on which line each of its keys stands. A key that stands there twice is an error."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            text = path.read_text(encoding="utf-8")
            self._root = yaml.compose(text, Loader=yaml.SafeLoader)
            self.data = yaml.safe_load(text)
        except OSError as error:
            raise ConfigurationError(f"{path}: cannot be read ({error.strerror}).") from None
        except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError) as error:
            mark = getattr(error, "problem_mark", None)
            line = f":{mark.line + 1}" if mark else ""
            raise ConfigurationError(
                f"{path}{line}: not valid YAML ({getattr(error, 'problem', error)})."
            ) from None
        for at, key in _repeated(self._root):
            raise ConfigurationError(f"{path}:{at}: {key} is there twice; one of them would be ignored.")

    def parse(self, shape: type[Shape]) -> Shape:
        """The whole file in this shape. Raises ConfigurationError for the first thing that does not fit."""
        try:
            return shape.model_validate(self.data)
        except ValidationError as error:
            found = error.errors(include_url=False, include_context=False, include_input=False)
            unknown = [
                one for one in found if one["type"] == "extra_forbidden"
            ]  # mostly why another is missing
            first = (unknown or found)[0]
            said = "unknown key" if unknown else first["msg"].removeprefix("Value error, ")
            place = ".".join(str(part) for part in first["loc"])
            raise self.error(first["loc"], f"{place}: {said}" if place else said) from None

    def error(self, loc: tuple[Any, ...], message: str) -> ConfigurationError:
        """An error at the place `loc` of the document, or at the nearest place above it."""
        return ConfigurationError(f"{self.path}:{self.line(loc)}: {message.rstrip('.')}.")

    def line(self, loc: tuple[Any, ...]) -> int:
        """The line of this place, or of the nearest place above it."""
        node, line = self._root, 1
        for part in loc:
            found = _child(node, part)
            if found is None:
                break
            line, node = found
        return line


def _child(node: Any, part: Any) -> tuple[int, Any] | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == str(part):
                return key.start_mark.line + 1, value
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        child = node.value[part]
        return child.start_mark.line + 1, child
    return None


def _repeated(root: Any) -> Iterator[tuple[int, str]]:
    """The keys that a mapping of the document has twice: (line, key). Each node is looked at once, aliases or not."""
    waiting, known = [root], set()
    while waiting:
        node = waiting.pop()
        if id(node) in known or not isinstance(node, yaml.CollectionNode):
            continue
        known.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting += node.value
            continue
        keys: set[str] = set()
        for key, value in node.value:
            if str(key.value) in keys:
                yield key.start_mark.line + 1, str(key.value)
            keys.add(str(key.value))
            waiting.append(value)
