"""What is odd about a rulebook, as far as that can be told without guessing: rules that never fire, rules that forbid
every call, rules that change nothing. Nothing here stops an agent."""

from collections.abc import Iterator
from dataclasses import dataclass

from runs.agentfile import AgentSpec
from runs.roles import is_enough
from runs.rulebook.orders import OrderRule, order_rules
from runs.rulebook.shapes import Rule, Rulebook


@dataclass(frozen=True)
class Finding:
    """`kind` is never_fires, forbids_all or changes_nothing."""

    rule: str
    kind: str
    message: str


def findings(spec: AgentSpec) -> tuple[Finding, ...]:
    """What is odd about an agent's rules, in their order."""
    able = runnable(spec)
    return tuple(found for rule in spec.rulebook.rules for found in _of_rule(rule, spec, able))


def runnable(spec: AgentSpec) -> frozenset[str]:
    """The tools that its rules let an agent call at some time, other rules' conditions aside."""
    orders = order_rules(Rulebook(tuple(rule for rule in spec.rulebook.rules if rule.says.undos)))
    able = {tool for tool in spec.tools if not any(_forbids(rule) for rule in spec.rulebook.of(tool))}
    # The other way round: what an order rule lets run first, then what may follow that.
    started: set[str] = set()
    while more := {tool for tool in able - started if _may_follow(tool, orders, started)}:
        started |= more
    return frozenset(started)


def _may_follow(tool: str, orders: tuple[OrderRule, ...], ran: set[str]) -> bool:
    wanted = [(rule.after, rule.one_of) for rule in orders if rule.tool == tool]
    return all((any if one_of else all)(name in ran for name in after) for after, one_of in wanted)


def _forbids(rule: Rule) -> bool:
    """It refuses every call, and every undo, of its tools."""
    always = rule.condition is None or rule.condition.constant is True
    return always and rule.says.undos and _refuses(rule)


def _refuses(rule: Rule) -> bool:
    cap = rule.says.cap
    return bool(rule.says.refuse) or (cap is not None and cap.count == 0)


def _of_rule(rule: Rule, spec: AgentSpec, able: frozenset[str]) -> Iterator[Finding]:
    constant = rule.condition.constant if rule.condition else True
    missing = [tool for tool in rule.says.tools if tool not in spec.tools]
    if constant is False:
        yield Finding(rule.name, "never_fires", "its condition is never true")
        return
    if missing:
        every = len(missing) == len(rule.says.tools)
        kind = "never_fires" if every else "changes_nothing"
        yield Finding(rule.name, kind, f"{spec.name} does not have {', '.join(missing)}")
    here = [tool for tool in rule.says.tools if tool in spec.tools]
    if here and constant and _refuses(rule):
        yield Finding(rule.name, "forbids_all", f"{', '.join(here)} can never be called{_but_undone(rule)}")
    yield from _of_order(rule, here, able)
    yield from _of_asking(rule, here, spec)


def _but_undone(rule: Rule) -> str:
    return "" if rule.says.undos else ", but for undos"


def _of_order(rule: Rule, here: list[str], able: frozenset[str]) -> Iterator[Finding]:
    if rule.says.order is None or rule.says.when is not None:
        return
    for tool in here:
        if not _may_follow(tool, order_rules(Rulebook((rule,))), set(able - {tool})):
            wanted = (" and " if rule.says.order.after else " or ").join(rule.says.order.tools)
            yield Finding(
                rule.name, "forbids_all", f"{tool} can never be called: {wanted} never runs before it"
            )


def _of_asking(rule: Rule, here: list[str], spec: AgentSpec) -> Iterator[Finding]:
    for tool in (spec.tools[name] for name in here if rule.says.ask):
        if tool.writes and tool.confirm and is_enough(tool.approver, rule.says.ask or ""):
            said = f"{tool.name} asks the role {tool.approver} anyway"
            yield Finding(rule.name, "changes_nothing", said)
