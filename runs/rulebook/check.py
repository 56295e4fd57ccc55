"""The check: may this agent make this call, here and now, and who must say yes?

It runs before every call and every undo, and again when a call that a person approved is about to be sent, in the
transaction that records the intent. An undo is checked as the agent that wrote, by the rules that name the undo
itself, and is not confirmed again.
"""

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from runs.agentfile import AgentSpec
from runs.roles import least
from runs.rulebook.conditions import ConditionFailed
from runs.rulebook.money import NotAnAmount, amount, total
from runs.rulebook.past import Call, Past, Tally, ran
from runs.rulebook.ruling import Ruling
from runs.rulebook.shapes import Cap, Rule
from runs.rulebook.words import of_cap, of_hours, of_order
from runs.tools.bindings import MISSING, source

Args = Mapping[str, Any]


class _Refused(Exception):
    """A rule refuses the call; the message is the cause."""


def check(spec: AgentSpec, call: Call, past: Past) -> Ruling:
    """The ruling on one call, by the agent and by its rules."""
    return outright(spec, call) or by_rules(spec, call, past)


def outright(spec: AgentSpec, call: Call) -> Ruling | None:
    """Refused whatever the rules say: a tool that its agent does not have, or arguments that are not the tool's."""
    tool = spec.catalogue.get(call.tool)
    if tool is None or call.tool not in spec.tools:
        return Ruling("refused", "tool_not_of_agent", spec.rule_version)
    if not tool.still_takes(dict(call.args)):
        return Ruling("refused", "arguments_not_valid", spec.rule_version)
    return None


def by_rules(spec: AgentSpec, call: Call, past: Past) -> Ruling:
    """The ruling of the rules: the first that refuses, or all that they ask for together.

    A rule that cannot be told refuses. Caps come last, since they lock.
    """
    rules = [rule for rule in spec.rulebook.of(call.tool, undo=call.undo) if not (rule.asks and call.undo)]
    spoke: list[Rule] = []
    for rule in sorted(rules, key=lambda rule: rule.says.cap is not None):
        try:
            if _speaks(rule, call, past):
                spoke.append(rule)
                _obey(rule, call, past)
        except (_Refused, ConditionFailed, NotAnAmount) as error:
            return Ruling("refused", rule.name, spec.rule_version, str(error))
    capped = _over_a_cap(spec, [rule for rule in spoke if rule.says.cap], call, past)
    return capped or _asks(spec, call, spoke, past)


def who_answers(spec: AgentSpec, call: Call, past: Past) -> Ruling:
    """What its rules ask for this call, whatever else they would say of it by now."""
    asking = [rule for rule in spec.rulebook.of(call.tool) if rule.asks]
    try:
        return _asks(spec, call, [rule for rule in asking if _speaks(rule, call, past)], past)
    except ConditionFailed as error:
        return Ruling("refused", "", spec.rule_version, str(error))


def _speaks(rule: Rule, call: Call, past: Past) -> bool:
    """Whether the rule's condition is true of this call. Raises ConditionFailed."""
    if rule.condition is None:
        return True
    facts = {"args": call.args, **past.setting.facts()}
    if "history" in rule.condition.names:
        earlier = sorted(past.calls(), key=lambda call: call.number)
        facts["history"] = [call.fact() for call in earlier]
    return rule.condition.holds(facts)


def _obey(rule: Rule, call: Call, past: Past) -> None:
    """Raise _Refused where the rule refuses the call by itself."""
    says, setting = rule.says, past.setting
    if says.refuse:
        raise _Refused(says.because)
    if says.only_in and setting.task not in says.only_in:
        raise _Refused(f"the task is {setting.task or 'none'}, and not {' or '.join(says.only_in)}")
    if says.hours and not says.hours.holds(setting.now):
        raise _Refused(f"it is allowed {of_hours(says.hours)}")
    if says.order:
        ran_before = [_ran(rule, tool, call, past) for tool in says.order.tools]
        if not (all(ran_before) if says.order.after else any(ran_before)):
            raise _Refused(f"it is allowed only after {of_order(says.order)}")


def _ran(rule: Rule, tool: str, call: Call, past: Past) -> bool:
    """Whether `tool` ran before in the conversation, with the same arguments where the rule says so."""
    assert rule.says.order is not None
    states, same = ran(net=rule.says.order.net), rule.says.order.same.items()
    return any(
        earlier.state in states
        and all(_equal(rule, name, call, source(text, earlier.args, earlier.result)) for name, text in same)
        for earlier in past.calls((tool,))
    )


def _equal(rule: Rule, name: str, call: Call, theirs: Any) -> bool:
    mine = call.args.get(name)
    if mine is None or theirs is MISSING:
        return False
    if name in rule.amounts:
        return _equal_amounts(mine, theirs)
    return type(mine) is type(theirs) and bool(mine == theirs)


def _equal_amounts(mine: Any, theirs: Any) -> bool:
    try:
        return amount(mine) == amount(theirs)
    except NotAnAmount:
        return False


def _over_a_cap(spec: AgentSpec, rules: Sequence[Rule], call: Call, past: Past) -> Ruling | None:
    """The first of these caps that the call would go over."""
    for rule in rules:
        if rule.says.cap and "ticket" in rule.says.cap.per and not past.setting.ticket:
            return Ruling("refused", rule.name, spec.rule_version, "the run has no ticket to count by")
    for rule, tally in zip(rules, past.tallies(rules) if rules else (), strict=True):
        try:
            _refuse_too_much(rule, call.args, tally)
        except (_Refused, ConditionFailed, NotAnAmount) as error:
            return Ruling("refused", rule.name, spec.rule_version, str(error))
    return None


def _refuse_too_much(rule: Rule, mine: Args, tally: Tally) -> None:
    cap, condition = rule.cap, rule.condition
    before: list[tuple[Decimal, int]] = []
    for mark, times in tally.items():
        args: Args = json.loads(mark) if condition else {cap.sum or "": mark}
        if condition is None or condition.holds({"args": args}):
            before.append((_weight(cap, args), times))
    spent = total(before)
    if total([(spent, 1), (_weight(cap, mine), 1)]) > cap.limit:
        raise _Refused(f"{of_cap(cap)}; before this call it was {spent:f}")


def _weight(cap: Cap, args: Args) -> Decimal:
    """How much a call is of what the cap allows."""
    if cap.sum is None:
        return Decimal(1)
    if args.get(cap.sum) in (None, ""):
        raise NotAnAmount(f"a call without {cap.sum} cannot be added up")
    return amount(args[cap.sum])


def _asks(spec: AgentSpec, call: Call, spoke: Sequence[Rule], past: Past) -> Ruling:
    tool = spec.catalogue[call.tool]
    itself = tool.writes and tool.confirm and not call.undo
    asking = [rule for rule in spoke if rule.asks]
    passed = tuple(rule.name for rule in spoke if not rule.asks)
    if not (itself or asking):
        return Ruling("allowed", "", spec.rule_version, passed=passed)
    roles = {rule.says.ask for rule in asking if rule.says.ask} | ({tool.approver} if itself else set())
    return Ruling(
        "ask",
        ", ".join(rule.name for rule in asking) or "confirm",
        spec.rule_version,
        approver=least(roles or {tool.approver}),
        not_by=past.setting.asked_by if any(rule.says.four_eyes for rule in asking) else (),
        passed=passed,
    )
