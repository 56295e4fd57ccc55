"""Routes: every order of a small agent is tried and compared; a large one is derived in few steps."""

import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runs.agentfile import AgentSpec
from runs.rulebook import OrderRule
from runs.tools import lints, routes
from runs.tools.registry import Tool
from runs.tools.routes import Found, Routes, qg013, qg105
from tests.unit.tools import shop

NAMES = ("a", "b", "c", "d", "e")
# What a tool is: a read, a write that is undone, one that is not and does not say so, and two that are irreversible.
KINDS = ("read", "undone", "unsaid", "asks", "silent")


class World:
    """An agent's tools by kind, and what is found about them."""

    def __init__(self, kinds: dict[str, str], rules: Sequence[OrderRule]) -> None:
        self.kinds, self.rules = kinds, rules

    def of(self, *kinds: str) -> list[str]:
        return [name for name, kind in self.kinds.items() if kind in kinds]

    def found(self) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
        made = Routes(list(self.kinds), self.rules)
        irreversible = {name: self.kinds[name] == "asks" for name in self.of("asks", "silent")}
        writes = self.of("undone", "unsaid", "asks", "silent")
        return (
            dict(qg013(made, self.of("undone"), irreversible)),
            dict(qg105(made, writes, self.of("unsaid"))),
        )

    def every_route(self) -> Iterator[tuple[str, ...]]:
        """All orders of all sets of tools in which every rule holds."""
        for length in range(1, len(self.kinds) + 1):
            yield from (order for order in permutations(self.kinds, length) if self.holds(order))

    def holds(self, route: Sequence[str]) -> bool:
        return all(
            (any if rule.one_of else all)(tool in route[:place] for tool in rule.after)
            for place, name in enumerate(route)
            for rule in self.rules
            if rule.tool == name
        )

    def offends_013(self, route: Sequence[str], step: str) -> bool:
        place = route.index(step)
        undone = set(self.of("undone"))
        says_so = self.kinds[step] == "asks" and undone & set(route[:place])
        return bool(undone & set(route[place:])) and not says_so

    def offends_105(self, route: Sequence[str], step: str) -> bool:
        return any(self.kinds[tool] != "read" for tool in route if tool != step)


def shortest(world: World, step: str, offends: Callable[[Sequence[str], str], bool]) -> int | None:
    """How long the shortest route is on which a step offends; None where there is none."""
    lengths = [len(route) for route in world.every_route() if step in route and offends(route, step)]
    return min(lengths, default=None)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    names = NAMES[: draw(st.integers(1, len(NAMES)))]
    kinds = {name: draw(st.sampled_from(KINDS)) for name in names}
    others = st.lists(st.sampled_from([*names, "of another agent"]), min_size=1, max_size=3, unique=True)
    rule = st.builds(OrderRule, st.sampled_from(names), others.map(tuple), st.booleans())
    return World(kinds, draw(st.lists(rule, max_size=4)))


@given(worlds())
@settings(max_examples=80, deadline=None)
def test_what_is_found_is_what_trying_every_order_finds(world: World) -> None:
    found_013, found_105 = world.found()
    for step in world.of("asks", "silent"):
        assert (step in found_013) == (shortest(world, step, world.offends_013) is not None)
    for step in world.of("unsaid"):
        assert (step in found_105) == (shortest(world, step, world.offends_105) is not None)


@given(worlds())
@settings(max_examples=80, deadline=None)
def test_the_route_that_is_shown_holds_to_the_rules_and_offends(world: World) -> None:
    found_013, found_105 = world.found()
    for step, route in found_013.items():
        assert world.holds(route) and world.offends_013(route, step) and len(set(route)) == len(route)
    for step, route in found_105.items():
        assert world.holds(route) and world.offends_105(route, step) and len(set(route)) == len(route)


@given(worlds())
@settings(max_examples=60, deadline=None)
def test_no_route_is_shorter_where_no_rule_gives_a_choice(world: World) -> None:
    world.rules = [OrderRule(rule.tool, rule.after) for rule in world.rules]
    found_013, found_105 = world.found()
    for step, route in found_013.items():
        assert len(route) == shortest(world, step, world.offends_013)
    for step, route in found_105.items():
        assert len(route) == shortest(world, step, world.offends_105)


def test_of_a_choice_the_shorter_way_is_taken() -> None:
    rules = [
        OrderRule("mail", ("far", "near"), one_of=True),
        OrderRule("far", ("a", "b")),
        OrderRule("charge", ("mail",)),
    ]
    made = Routes(["far", "near", "a", "b", "mail", "charge"], rules)
    assert dict(qg013(made, ["charge"], {"mail": True})) == {"mail": ("near", "mail", "charge")}


# --- Rules --------------------------------------------------------------------------------------------
CHARGE, REFUND = shop.write("charge", undo="refund"), shop.write("refund", irreversible=True)
MAIL = shop.write("mail", irreversible=True)
UNDO_ALONE = {"undo_alone": {"tools": "refund", "refuse": True, "undos": False}}


def of_mail(mail: Tool = MAIL, **rules: Any) -> tuple[str, ...] | None:
    """The route on which a mail can come before a charge that would be undone."""
    return shop.routes(shop.agent(CHARGE, REFUND, mail, rules={**UNDO_ALONE, **rules})).get("QG013 mail")


def test_an_order_rule_that_holds_only_sometimes_forbids_no_route() -> None:
    sometimes = {"tools": "mail", "when": "user == 'u-1'", "order": {"after": "charge"}}
    assert of_mail(sometimes=sometimes) == ("mail", "charge")


def test_a_step_that_does_not_ask_offends_before_any_step_that_would_be_undone() -> None:
    silent = shop.write("mail", irreversible=True, confirm=False)
    assert of_mail(silent) == ("mail", "charge")
    assert (
        of_mail(silent, after={"tools": "mail", "order": {"after": "charge"}}) is None
    )  # it comes after all of them


def test_a_tool_that_can_never_run_is_on_no_route() -> None:
    assert of_mail(never={"tools": "mail", "refuse": True}) is None
    assert of_mail(itself={"tools": "mail", "order": {"after": "mail"}}) is None
    assert of_mail(never={"tools": "charge", "cap": {"count": 0, "per": "run"}}) is None


def test_where_runs_are_kept_no_step_would_be_undone() -> None:
    assert shop.routes(shop.agent(CHARGE, REFUND, MAIL, runs="keep")) == {}


def test_an_undo_out_of_the_agents_reach_undoes_nothing() -> None:
    assert shop.routes(shop.agent(CHARGE, REFUND, MAIL, has=["charge", "mail"])) == {}


# --- Five hundred tools -------------------------------------------------------------------------------
MANY = 500
ORDERS: dict[str, Callable[[int], list[OrderRule]]] = {
    "no rules": lambda place: [],
    "a chain": lambda place: [OrderRule(_name(place), (_name(place - 1),))],
    "a chain named backwards": lambda place: [OrderRule(_name(place - 1), (_name(place),))],
    "each after all before it": lambda place: [OrderRule(_name(place), tuple(map(_name, range(place))))],
    "each after one of five": lambda place: [
        OrderRule(_name(place), tuple(map(_name, range(max(0, place - 5), place))), one_of=True)
    ],
}


def _name(place: int) -> str:
    return f"tool_{place}"


def _many(count: int, order: str) -> World:
    kinds = {_name(place): KINDS[place % len(KINDS)] for place in range(count)}
    rules = [rule for place in range(1, count) for rule in ORDERS[order](place)]
    return World(kinds, rules)


def steps_of(act: Callable[[], object], *modules: Any) -> int:
    """How many lines of these modules are executed: a measure that no busy machine changes."""
    files, count = {module.__file__ for module in modules}, 0

    def trace(frame: FrameType, event: str, arg: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace if frame.f_code.co_filename in files else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        act()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("order", ORDERS)
def test_the_routes_of_five_hundred_tools_are_derived_in_few_steps(order: str) -> None:
    half, whole = (steps_of(_many(count, order).found, routes) for count in (MANY // 2, MANY))
    assert whole < 4.5 * half  # it grows with the square of the tools: each is compared with each
    assert whole < 2_500_000  # lines, of which a slow machine executes some millions in a second


def test_the_lints_of_five_hundred_tools_are_read_in_few_steps() -> None:
    def catalogue(count: int) -> list[Tool]:
        writes = [shop.write(f"do_{place}", undo=f"undo_{place}") for place in range(count // 2)]
        # The longest chain of undos that a catalogue can have ends in a cycle.
        undos = [shop.write(f"undo_{place}", undo=f"undo_{max(place - 1, 0)}") for place in range(count // 2)]
        return [*writes, *undos]

    half, whole = (shop.agent(*catalogue(count)) for count in (MANY // 2, MANY))
    few, many = (steps_of(lambda spec=spec: list(lints.of_file(spec)), lints) for spec in (half, whole))  # type: ignore[misc]
    assert many < 4.5 * few
    assert many < 1_000_000


@pytest.mark.parametrize("order", ORDERS)
def test_all_findings_grow_with_the_square_of_the_tools(order: str) -> None:
    """In seconds: `python -m bench.lints`."""
    half, whole = (large_agent(count, order) for count in (MANY // 5, 2 * MANY // 5))
    assert {"QG013", "QG105", "write_without_compensation"} <= {item.lint for item in shop.findings(whole)}
    few, many = (steps_of(lambda spec=spec: shop.findings(spec), lints, routes) for spec in (half, whole))  # type: ignore[misc]
    assert many < 5 * few  # with the cube it would be eight times as many
    assert many < 1_000_000


def large_agent(count: int, order: str) -> AgentSpec:
    """Every other tool is undone by a chain, the rest is not; the rules are those of ORDERS. `count` is even."""
    undone = [shop.write(_name(place), undo=_name(place + 2)) for place in range(0, count - 2, 2)]
    silent = [shop.write(_name(place), irreversible=True, confirm=False) for place in range(1, count, 4)]
    unsaid = [shop.write(_name(place)) for place in (*range(3, count, 4), count - 2)]
    rules = {
        f"rule_{number}": {
            "tools": rule.tool,
            "order": {"after_one_of" if rule.one_of else "after": list(rule.after)},
        }
        for number, rule in enumerate(rule for place in range(1, count) for rule in ORDERS[order](place))
    }
    spec = shop.agent(*undone, *silent, *unsaid, rules=rules)
    assert len(spec.tools) == count
    return spec


def _found(pairs: Iterator[Found]) -> list[str]:
    return [step for step, _ in pairs]


def test_findings_come_in_the_order_of_the_agents_file() -> None:
    made = Routes(["mail", "post", "charge"])
    assert _found(qg105(made, {"charge", "post", "mail"}, {"post", "mail", "charge"})) == [
        "mail",
        "post",
        "charge",
    ]
