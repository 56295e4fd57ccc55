"""Agents of tools that are made up for one test, without a file."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from runs.agentfile import AgentFile, AgentSpec
from runs.rulebook import Rule, Rulebook
from runs.rulebook.shapes import RuleSection
from runs.tools import tool
from runs.tools.lints import Finding, of_agent, of_file
from runs.tools.registry import ATTRIBUTE, Tool


def write(name: str, function: Callable[..., Any] | None = None, **attributes: Any) -> Tool:
    """A write; looked up and retry-safe unless said otherwise, so that nothing is found but what a test is about."""

    def act(order: int) -> Any:
        """Something is done to an order."""

    made = function or act
    made.__name__ = name
    return made_tool(made, **{"writes": True, "retry_safe": True, "lookup": "find", **attributes})


def made_tool(function: Callable[..., Any], **attributes: Any) -> Tool:
    """A function as a tool."""
    found = getattr(tool(**attributes)(function), ATTRIBUTE)
    assert isinstance(found, Tool)
    return found


def agent(
    *tools: Tool,
    has: Sequence[str] | None = None,
    rules: dict[str, dict[str, Any]] | None = None,
    **policy: Any,
) -> AgentSpec:
    """An agent called desk; it has all of the tools, or those that are named."""
    catalogue = {item.name: item for item in tools}
    names = list(catalogue) if has is None else list(has)
    file = AgentFile(agents={"desk": {"tools": names}}, tools=[{"python": "x"}], **policy)
    book = tuple(Rule(name, RuleSection(**says)) for name, says in (rules or {}).items())
    own = {name: catalogue[name] for name in names}
    return AgentSpec("desk", Path("agent.yaml"), file, catalogue, own, rulebook=Rulebook(book))


def findings(spec: AgentSpec) -> list[Finding]:
    """All that is found about an agent and its file, but for what the record says."""
    return [*of_file(spec), *of_agent(spec)]


def found(spec: AgentSpec) -> list[tuple[str, str, str]]:
    """(lint, tool, message) of the tools themselves."""
    return [(item.lint, item.tool, item.message) for item in of_file(spec)]


def routes(spec: AgentSpec) -> dict[str, tuple[str, ...]]:
    """`QG013 mail` -> the route on which it was found."""
    return {f"{item.lint} {item.tool}": item.route for item in of_agent(spec) if item.route}
