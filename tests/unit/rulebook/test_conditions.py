"""Conditions: what they may say, that money is exact in them, and what happens where they cannot be told."""

import time
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NewType

import pytest
from pydantic import BaseModel, create_model
from typing_extensions import TypedDict

from runs.rulebook.arguments import amounts_of
from runs.rulebook.conditions import KNOWN, Condition, ConditionFailed, condition
from runs.tools.registry import ATTRIBUTE, Tool
from tests import world

TOOLS = {
    tool.name: tool
    for value in vars(world).values()
    if isinstance(tool := getattr(value, ATTRIBUTE, None), Tool)
}
FACTS: dict[str, Any] = {
    "args": {"order": 4411, "amount": "40.00"},
    "user": "u-1",
    "thread": {"id": "T", "agent": "tester"},
    "run": {"id": "R-1", "task": "dispute", "ticket": "", "subject": "", "started_by": "Ana"},
    "history": [
        {"tool": "read", "args": {"order": 4411}, "state": "performed"},
        {"tool": "charge", "args": {"order": 4411, "amount": "9.00"}, "state": "undone"},
    ],
}


def of_charge(source: str) -> Condition:
    return condition(source, [TOOLS["charge"]], TOOLS.values())


def holds(source: str, **args: Any) -> bool:
    return of_charge(source).holds(FACTS | {"args": FACTS["args"] | args})


LONG = f"[{', '.join('1' * 100)}]"


@dataclass
class Parcel:
    """An argument that is a dataclass."""

    value: Decimal


class Box(TypedDict):
    """An argument that is a typed dict."""

    weight: Decimal


class Tree(BaseModel):
    """An argument that holds others of its kind."""

    price: Decimal
    branches: list["Tree"]


Total = NewType("Total", Decimal)


@pytest.mark.parametrize(
    ("source", "amount", "expected"),
    [
        ("above(args.amount, '9.00')", "40.00", True),  # as text, '9.00' is above '40.00'
        ("above(args.amount, '40.00')", "40.00", False),
        ("at_least(args.amount, '40')", "40.00", True),
        ("below(args.amount, '100.00')", "40.00", True),
        ("at_most(args.amount, '40.000')", "40.00", True),
        ("equal(args.amount, '0.30')", "0.3", True),
        ("above(args.amount, '9007199254740992')", "9007199254740993", True),  # 2^53 + 1, no double
        ("equal(args.amount, '9007199254740992')", "9007199254740993", False),
        ("above(args.amount, '0.3')", "0.30000000000000000001", True),
        ("above(args.amount, '100.00')", "1E+2", False),
        ("above(args.amount, '100.00')", "1E+999999999", True),
        ("above(args.amount, 100)", "100.01", True),
        ("above(args.amount, '0')", "-5", False),
        ("below(args.amount, '1')", "9" * 60_000, False),
    ],
)
def test_amounts_are_compared_exactly(source: str, amount: str, *, expected: bool) -> None:
    assert holds(source, amount=amount) is expected


@pytest.mark.parametrize(
    "source",
    [
        "args.amount > '100.00'",
        "'100.00' < args.amount",
        "args.amount == '40.00'",
        "args.amount in ['40.00']",
        "args.amount + '0' == '40.000'",
        "args['amount'] > '9'",
        "args\n.\namount >= '9'",
        "user == 'u-1' && args.amount > '9'",
        "'9' < args.amount == null",
        "double(args.amount) > 9.0",
        "size(args.amount) > 4",
        "args.amount.startsWith('4')",
        "args.amount.above('9')",
        "(args).amount > '9'",
        "(args.amount) > '9'",
        "[args].exists(a, a.amount > '9')",
        "[args.amount].exists(a, a > '9')",
        "args.exists(k, args[k] > '9')",
        "args['am\\u006funt'] > '9'",
        "{'a': args.amount}.a > '9'",
        "{'a': args.amount}['a'] > '9'",
        "(true ? args.amount : '1') > '9'",
        "above(args.amount + '0', '9')",
        "history.exists(h, h.args.amount > '9')",
        "history[0].args.amount > '9'",
        "history.filter(h, true)[0].args.amount > '9'",
        "history.filter(h, true)[0]['args']['amount'] > '9'",
        "history.filter(h, h.args).exists(a, a.amount > '9')",
        "history.exists(args, args.amount > '9')",
        "r'\\' == user && args.amount > '9'",
        "'''a\\'''' == user && args.amount > '9'",
        "'// ' == user && args.amount > '9'",
        "above(args.amount, 100.5)",
        "above(args.amount, '1,000.00')",
        "above(args.amount, 'NaN')",
        "above(args.amount, 'Infinity')",
    ],
)
def test_an_amount_compared_in_any_other_way_is_refused_when_the_rules_are_read(source: str) -> None:
    with pytest.raises(ValueError, match=r"amount|index|all arguments|follows no name"):
        of_charge(source)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("args.order >", "Syntax error"),
        ("", "Syntax error"),
        ("args.ordr == 1", "charge has no argument called ordr; it has: order, amount"),
        ("usr == 'u-1'", "there is no usr; a condition may use args, user, thread, run, history"),
        ("user.name == 'x'", "user is text and has no fields"),
        ("run.usre == 'x'", "run has id, started_by, subject, task, ticket"),
        ("run == 1", "run has id"),
        ("now() > 1", "there is no function called now"),
        ("math.greatest(1, 2) == 2", "there is no"),
        (".args.order == 1", "follows no name"),
        ("1 + 1", "it is always 2, and a condition is true or false"),
        ("'yes'", "it is always 'yes'"),
        ("args.order == 1 && " * 200 + "true", "at most 2000 characters"),
        ("(" * 900 + "true" + ")" * 900, "recursion"),
        ("args.order == ‘1’", "Syntax error"),
        ("args.order == '4411'", "args.order is a whole number; compare it with one"),
        ("'4411' != args.order", "args.order is a whole number; compare it with one"),
        ('args["order"] < "5"', "args.order is a whole number; compare it with one"),
        ("history.map(h, h.args.order).size() > 1", "map makes new lists"),
        ("[0].map(a, [a, a]).map(a, a + a).size() == 1", "map makes new lists"),
        (f"{LONG}.all(a, {LONG}.all(b, {LONG}.all(c, a == b)))", "two deep is the most"),
        (
            "history.all(a, history.exists(b, [history.all(c, c.tool == a.tool)] == [b]))",
            "two deep is the most",
        ),
    ],
)
def test_a_condition_that_cannot_be_meant_is_refused_when_the_rules_are_read(source: str, said: str) -> None:
    with pytest.raises(ValueError, match=r".") as error:
        of_charge(source)
    assert said.lower() in str(error.value).lower()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("user == 'u-1' && run.task == 'dispute'", True),
        ("thread.agent in ['tester']", True),
        ("history.exists(h, h.tool == 'read' && h.args.order == args.order)", True),
        ("history.filter(h, h.state == 'undone').size() == 1", True),
        ("history.exists(h, h.tool == 'charge' && above(h.args.amount, '10'))", False),
        ("args.amount != null && has(args.amount)", True),
        ("args['order'] == 4411", True),
        ("user.startsWith('ü') || user.matches('^u-[0-9]+$')", True),
        ("true // args.amount > '9'", True),
        ("user == \"it's 'args.amount > 9'\"", False),
    ],
)
def test_what_a_condition_may_say(source: str, *, expected: bool) -> None:
    assert holds(source) is expected


@pytest.mark.parametrize(
    ("source", "args", "cause"),
    [
        ("above(args.amount, '1')", {"amount": None}, "None is not an amount"),
        ("above(args.amount, '1')", {"amount": "NaN"}, "'NaN' is not an amount"),
        ("above(args.amount, '1')", {"amount": "x" * 9000}, "… is not an amount"),
        ("above(args.amount)", {}, "two amounts are compared, and not 1"),
        ("above(args.amount, '1', '2')", {}, "two amounts are compared, and not 3"),
        ("args.order / 0 == 1", {}, "division by zero"),
        ("args.order.x == 1", {}, "No such overload"),
        ("args.order", {}, "it gave int, and not true or false"),
        ("user.matches('[')", {}, "not a valid regex"),
        ("history[7].tool == 'x'", {}, ""),
        ("history.exists_one(h, h.args.amount == null)", {}, "there is no amount"),
    ],
)
def test_a_condition_that_fails_says_why(source: str, args: dict[str, Any], cause: str) -> None:
    with pytest.raises(ConditionFailed) as error:
        holds(source, **args)
    assert cause in str(error.value)
    assert str(error.value) and len(str(error.value)) < 200


def test_text_is_not_compared_with_a_number() -> None:
    for source in ("args.charge == 1", "0 < args.charge"):
        with pytest.raises(
            ValueError, match="args.charge is text; compare it with one, such as args.charge =="
        ):
            condition(source, [TOOLS["refund"]], TOOLS.values())
    assert condition("args.charge == '1'", [TOOLS["refund"]], TOOLS.values()).holds({"args": {"charge": "1"}})


def test_a_condition_that_would_look_through_too_much_refuses_at_once() -> None:
    """A macro in a macro is asked as often as there are pairs, and nobody can stop it meanwhile."""
    each = of_charge("history.exists(a, history.exists(b, a.tool == b.args.order))")
    chained = of_charge(
        "history.filter(a, a.tool == 'x').exists(b, b.tool == 'x') || history.all(c, c.tool == 'x')"
    )
    call = {"tool": "read", "args": {"order": 4411}, "state": "performed"}
    assert each.holds(FACTS | {"history": [call] * 300}) is False
    assert chained.holds(FACTS | {"history": [call] * 1000}) is False
    start = time.process_time()
    for facts in (
        {"history": [call] * 1000},
        {"args": {"order": 1, "deep": {"lines": [{"of": [0] * 1000}]}}},
    ):
        with pytest.raises(ConditionFailed, match="it would look through too much"):
            each.holds(FACTS | facts)
    assert time.process_time() - start < 5  # some milliseconds; a million looks would take minutes


def test_a_constant_is_seen_through_what_it_mentions() -> None:
    assert of_charge("args.order == 1 && false").constant is False
    assert of_charge("args.order == 1 || true").constant is True
    assert of_charge("1 < 2").constant is True
    assert of_charge("args.order == 1").constant is None


def test_each_function_that_is_named_as_known_is_one_of_the_library() -> None:
    samples = {
        "contains": "user.contains('u')",
        "duration": "duration('1h') == duration('60m')",
        "double": "double(args.order) > 1.0",
        "endsWith": "user.endsWith('1')",
        "int": "int(1.0) == 1",
        "matches": "user.matches('u')",
        "size": "size(user) == 3",
        "startsWith": "user.startsWith('u')",
        "string": "string(args.order) == '4411'",
        "timestamp": "timestamp('2026-01-01T00:00:00Z') == timestamp('2026-01-01T00:00:00Z')",
        "uint": "uint(1) == 1u",
    }
    assert set(samples) == KNOWN
    assert all(holds(source) for source in samples.values())


def test_amounts_are_found_at_any_depth_of_the_arguments() -> None:
    line = create_model("line", price=(Decimal, ...), sku=(str, ...))
    model: type[BaseModel] = create_model(
        "order",
        lines=(list[line], ...),
        fee=(Decimal | None, None),
        tips=(dict[str, Decimal], {}),
        order=(int, ...),
    )
    tool = Tool("order", print, model)

    assert amounts_of(tool) == {"price", "fee", "tips"}
    other: type[BaseModel] = create_model(
        "other", parcel=(Parcel, ...), tree=(list[Tree], ...), total=(Total, ...), box=(Box, ...)
    )
    assert amounts_of(Tool("other", print, other)) == {"value", "weight", "price", "total"}
    for source in ("args.lines.exists(l, l.price > '3')", "args.lines[0].price > '3'", "args.tips.x > '3'"):
        with pytest.raises(ValueError, match="is an amount"):
            condition(source, [tool], [tool])
    exact = condition("args.lines.exists(l, above(l.price, '3'))", [tool], [tool])
    assert exact.holds({"args": {"lines": [{"price": "10"}]}}) is True
