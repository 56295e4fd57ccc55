"""Reading `rules.yaml`: every rule is checked against the tools and the tasks of its agent file.

A rule that could not be carried out stops the registration: one error with the file and the line.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path

from runs.rulebook.arguments import amounts_of, types_of
from runs.rulebook.conditions import Condition, condition
from runs.rulebook.shapes import Rule, Rulebook, RuleSection, RulesFile
from runs.tools.registry import Tool
from runs.yamlfile import YamlFile

Tools = Mapping[str, Tool]


class _Wrong(ValueError):
    """What is wrong with a rule, and at which of its keys."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


def load(path: Path, catalogue: Tools, tasks: Collection[str]) -> Rulebook:
    """The rulebook of a file; one that is empty has no rules. Raises ConfigurationError."""
    document = YamlFile(path)
    if document.data is None:
        return Rulebook((), str(path))
    sections = document.parse(RulesFile).rules
    rules = []
    for name, says in sections.items():
        try:
            line = document.line(("rules", name))
            rules.append(_rule(name, says, catalogue, tasks, line))
        except _Wrong as wrong:
            raise document.error(("rules", name, *wrong.key.split(".")), f"rule {name}: {wrong}") from None
    return Rulebook(tuple(rules), str(path))


def _rule(name: str, says: RuleSection, catalogue: Tools, tasks: Collection[str], line: int) -> Rule:
    _refuse_unknown(says, catalogue, tasks)
    tools = [catalogue[tool] for tool in says.tools]
    _refuse_sums(says, tools)
    amounts = frozenset(_compared(says, tools, catalogue))
    return Rule(name, says, _condition(says, tools, catalogue.values()), amounts, line)


def _refuse_unknown(says: RuleSection, catalogue: Tools, tasks: Collection[str]) -> None:
    named = [("tools", tool) for tool in says.tools] + [
        ("order", tool) for tool in (says.order.tools if says.order else ())
    ]
    for key, tool in named:
        if tool not in catalogue:
            raise _Wrong(key, f"there is no tool called {tool}; there are: {', '.join(sorted(catalogue))}")
    for task in says.only_in or ():
        if task not in tasks:
            raise _Wrong(
                "only_in", f"there is no task called {task}; there are: {', '.join(sorted(tasks)) or 'none'}"
            )


def _condition(says: RuleSection, tools: list[Tool], catalogue: Iterable[Tool]) -> Condition | None:
    if says.when is None:
        return None
    try:
        found = condition(says.when, tools, catalogue)
    except ValueError as error:
        raise _Wrong("when", f"when: {error}") from None
    if says.cap and found.names - {"args"}:
        raise _Wrong(
            "when", "when: the condition of a cap may use args alone; it is asked of what is counted, too"
        )
    return found


def _refuse_sums(says: RuleSection, tools: list[Tool]) -> None:
    """Only an amount or a whole number can be added up."""
    summed = says.cap.sum if says.cap else None
    for tool in tools if summed else ():
        assert summed is not None
        _known(summed, tool, "cap.sum")
        kinds = set(types_of(tool.arguments.model_fields[summed].annotation)) - {type(None)}
        if not kinds <= {Decimal, int}:
            raise _Wrong("cap.sum", f"{tool.name}: {summed} is not an amount (Decimal) or a whole number")


def _compared(says: RuleSection, tools: list[Tool], catalogue: Tools) -> Iterator[str]:
    """The arguments that an order rule compares as amounts; those that it names must be there."""
    for name, source in says.order.same.items() if says.order else ():
        root, _, rest = source.partition(".")
        for tool in tools:
            _known(name, tool, "order.same")
            if name in amounts_of(tool):
                yield name
        for earlier in says.order.tools if says.order and root == "$args" else ():
            _known(rest.partition(".")[0], catalogue[earlier], "order.same")


def _known(argument: str, tool: Tool, key: str) -> None:
    if argument not in tool.arguments.model_fields:
        known = ", ".join(tool.arguments.model_fields)
        raise _Wrong(key, f"{tool.name} has no argument called {argument}; it has: {known or 'none'}")
