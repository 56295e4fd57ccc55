"""Everything that is said of agents and rules before launch, each with its place: what `stalwart verify` prints.

verify()        every agent file of this installation
verify("desk")  one agent, with the tools that it may call and those that undo them
"""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from runs.agentfile import AgentSpec, agent, agents
from runs.rulebook.findings import findings
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
    merged: dict[Any, Located] = {}
    for of_file in _grouped(_specs(name), lambda spec: spec.path):
        places = _Places(of_file)
        for finding in _found(of_file, record=record, whole=not name):
            place = places.of(finding)
            key = (place, finding.lint, finding.tool, finding.message, finding.route)
            known = merged[key].finding.agents if key in merged else ()
            both = tuple(dict.fromkeys((*known, *finding.agents)))
            merged[key] = Located(replace(finding, agents=both), place)
    return [*merged.values(), *(item for having in rulebooks(name) for item in _of_rules(having))]


def rulebooks(name: str = "") -> list[list[AgentSpec]]:
    """For each rulebook, the agents that go by it; or the one agent, if it has one. Raises as verify does."""
    ruled = [spec for spec in _specs(name) if spec.rulebook.rules]
    return _grouped(ruled, lambda spec: spec.rulebook.file)


def _specs(name: str) -> list[AgentSpec]:
    return [agent(name)] if name else list(agents().values())


def _grouped(specs: list[AgentSpec], by: Callable[[AgentSpec], Any]) -> list[list[AgentSpec]]:
    return [[spec for spec in specs if by(spec) == key] for key in dict.fromkeys(map(by, specs))]


def _of_rules(specs: list[AgentSpec]) -> Iterator[Located]:
    """What is odd about a rule for all who go by its rulebook: one that is meant for some of them is not odd."""
    said: dict[tuple[str, str], list[str]] = {}
    for spec in specs:
        for found in findings(spec):
            said.setdefault((found.rule, found.kind), []).append(found.message)
    names, rulebook = tuple(spec.name for spec in specs), specs[0].rulebook
    for (rule, kind), messages in said.items():
        if len(messages) >= len(specs):
            message = "; ".join(dict.fromkeys(messages))
            place = Place(Path(rulebook.file).resolve(), rulebook.line(rule))
            yield Located(Finding(f"rule_{kind}", rule, message, names), place)


def findings_of(spec: AgentSpec) -> list[Finding]:
    """What is found of one agent, and of the tools that undo its writes."""
    return list(_found([spec], record=True, whole=False))


def _found(specs: list[AgentSpec], *, record: bool, whole: bool) -> Iterator[Finding]:
    """`specs` are of one file; with `whole`, the tools that none of them has are read too."""
    executed = lints.executed_undos(specs[0]) if record else None
    for finding in lints.of_file(specs[0], executed):
        having = tuple(spec.name for spec in specs if finding.tool in spec.tools)
        if whole or having or any(_undoes(finding.tool, spec) for spec in specs):
            yield replace(finding, agents=having)
    for spec in specs:
        yield from lints.of_agent(spec)


def _undoes(name: str, spec: AgentSpec) -> bool:
    return any(tool.undo and tool.undo.tool == name for tool in spec.tools.values())


class _Places:
    """Where the tools and the agents of one file are written down."""

    def __init__(self, specs: list[AgentSpec]) -> None:
        self._specs = {spec.name: spec for spec in specs}
        self._any = specs[0]
        self._line = YamlFile(self._any.path).line
        self._overridden = {name: index for index, item in enumerate(self._any.file.tools) for name in item}

    def of(self, finding: Finding) -> Place:
        """The tool in its agent's list, where the finding is about that agent; else the last line that makes it."""
        if finding.lint in lints.OF_AGENTS:
            return self._of_agent(self._specs[finding.agents[0]], finding.tool)
        index = self._overridden.get(finding.tool)
        if index is not None and finding.tool != "python":
            return self._at("tools", index, finding.tool)
        return self._of_function(self._any.catalogue[finding.tool])

    def _at(self, *loc: Any) -> Place:
        return Place(self._any.path, self._line(loc))

    def _of_agent(self, spec: AgentSpec, name: str) -> Place:
        return self._at("agents", spec.name, "tools", spec.file.agents[spec.name].tools.index(name))

    def _of_function(self, tool: Tool) -> Place:
        """A function without a source, such as one made at run time, stands for the file that names its module."""
        function = inspect.unwrap(tool.function)
        code = getattr(function, "__code__", None)
        path = inspect.getsourcefile(function) if code else None
        if code is None or path is None:
            return self._at("tools")
        return Place(Path(path).resolve(), code.co_firstlineno)
