"""Everything that is said of agents before launch, each with its place: what `stalwart verify` prints.

verify()        every agent file of this installation
verify("desk")  one agent, with the tools that it may call and those that undo them
"""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from runs.agentfile import AgentSpec, agent, agents
from runs.tools import lints
from runs.tools.lints import Finding
from runs.tools.registry import Tool
from runs.yamlfile import YamlFile


@dataclass(frozen=True)
class Place:
    """A line of a file."""

    path: Path
    line: int

    def __str__(self) -> str:
        """`shop/tools.py:12`, from the folder we are in."""
        folder = Path.cwd()
        inside = self.path.is_relative_to(folder)
        return f"{self.path.relative_to(folder) if inside else self.path}:{self.line}"


@dataclass(frozen=True)
class Located:
    """A finding, and the line that says what it is about."""

    finding: Finding
    place: Place


def verify(name: str = "", *, record: bool = True) -> list[Located]:
    """What is found, file by file; what two files find at one place is said once. Raises NotFound, ConfigurationError.

    `record`: ask the database which undos were ever executed.
    """
    specs = [agent(name)] if name else list(agents().values())
    merged: dict[Any, Located] = {}
    for path in dict.fromkeys(spec.path for spec in specs):
        for found in _of_file([spec for spec in specs if spec.path == path], record=record, whole=not name):
            finding = found.finding
            key = (found.place, finding.lint, finding.tool, finding.message, finding.route)
            known = merged.get(key, found).finding.agents
            both = tuple(dict.fromkeys((*known, *finding.agents)))
            merged[key] = replace(found, finding=replace(finding, agents=both))
    return list(merged.values())


def _of_file(specs: list[AgentSpec], *, record: bool, whole: bool) -> Iterator[Located]:
    """`specs` are of one file; with `whole`, the tools that none of them has are read too."""
    places = _Places(specs[0])
    executed = lints.executed_undos([spec.name for spec in specs]) if record else None
    for finding in lints.of_file(specs[0], executed):
        having = tuple(spec.name for spec in specs if finding.tool in spec.tools)
        if whole or having or any(_undoes(finding.tool, spec) for spec in specs):
            yield Located(replace(finding, agents=having), places.of_tool(finding.tool))
    for spec in specs:
        for finding in lints.of_agent(spec):
            yield Located(finding, places.of_agent(spec, finding.tool))


def _undoes(name: str, spec: AgentSpec) -> bool:
    return any(tool.undo and tool.undo.tool == name for tool in spec.tools.values())


class _Places:
    """Where the tools of one agent file are written down."""

    def __init__(self, spec: AgentSpec) -> None:
        self._spec = spec
        self._line = YamlFile(spec.path).line
        self._overridden = {name: index for index, item in enumerate(spec.file.tools) for name in item}

    def of_tool(self, name: str) -> Place:
        """The last line that says what the tool is: in the agent file, or else its function."""
        index = self._overridden.get(name)
        if index is not None and name != "python":
            return Place(self._spec.path, self._line(("tools", index, name)))
        return self._of_function(self._spec.catalogue[name])

    def of_agent(self, spec: AgentSpec, name: str) -> Place:
        """The tool in the list of an agent's tools."""
        index = spec.file.agents[spec.name].tools.index(name)
        return Place(spec.path, self._line(("agents", spec.name, "tools", index)))

    def _of_function(self, tool: Tool) -> Place:
        """A function without a source, such as one made at run time, stands for the file that names its module."""
        function = inspect.unwrap(tool.function)
        code = getattr(function, "__code__", None)
        path = inspect.getsourcefile(function) if code else None
        if code is None or path is None:
            return Place(self._spec.path, self._line(("tools",)))
        return Place(Path(path).resolve(), code.co_firstlineno)
