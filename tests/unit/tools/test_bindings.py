"""Binding an undo to its write: what it names is there, and of its type, or the undo is not possible."""

from decimal import Decimal
from typing import Any

import pytest

from runs.tools.bindings import Unbindable, bind
from runs.tools.registry import Tool, Undo
from tests.unit.tools.shop import write


def _refund(charge: str, amount: Decimal = Decimal("1.00")) -> None:
    """Give it back."""


REFUND = write("refund", _refund)
NAMED: dict[str, Any] = {"charge": "$result.charge", "amount": "$args.amount"}


def _bound(args: dict[str, Any], result: Any, tool: Tool | None = REFUND, **sources: Any) -> dict[str, Any]:
    return bind(Undo("refund", sources), tool, args, result)


def test_args_is_an_argument_of_the_write_and_result_a_field_of_what_it_returned() -> None:
    bound = _bound({"amount": "40.00", "charge": "asked"}, {"charge": "ch_1", "amount": "9.00"}, **NAMED)
    assert bound == {"charge": "ch_1", "amount": "40.00"}
    assert _bound({}, {"card": {"charge": "ch_1"}}, charge="$result.card.charge")["charge"] == "ch_1"
    assert _bound({}, "ch_1", charge="$result")["charge"] == "ch_1"
    assert _bound({}, {}, charge="by hand")["charge"] == "by hand"


def test_the_name_of_the_undo_alone_binds_equal_names_from_the_result_then_from_the_arguments() -> None:
    args = {"charge": "asked", "amount": "40.00"}
    assert _bound(args, {"charge": "ch_1"}) == {"charge": "ch_1", "amount": "40.00"}
    assert _bound(args, None) == {"charge": "asked", "amount": "40.00"}


def test_an_argument_that_nothing_names_takes_its_own_default() -> None:
    assert _bound({}, {"charge": "ch_1"}) == {"charge": "ch_1", "amount": "1.00"}


@pytest.mark.parametrize("tool", [REFUND, None])  # None: the tool is not to be had here
@pytest.mark.parametrize(
    ("args", "result", "missing"),
    [
        ({"amount": "40.00", "charge": "asked"}, {}, "charge <- $result.charge"),  # an equal name is no guess
        ({"amount": "40.00"}, None, "charge <- $result.charge"),
        ({"amount": "40.00"}, "ch_1", "charge <- $result.charge"),
        ({}, {"charge": "ch_1", "amount": "40.00"}, "amount <- $args.amount"),  # nor is its default
    ],
)
def test_a_field_that_is_missing_is_not_possible_and_never_guessed(
    args: dict[str, Any], result: Any, missing: str, tool: Tool | None
) -> None:
    with pytest.raises(Unbindable) as refused:
        _bound(args, result, tool, **NAMED)
    assert str(refused.value) == f"refund: {missing}"


@pytest.mark.parametrize("charge", [7, None, True, ["ch_1"], {"id": "ch_1"}])
def test_a_field_of_another_type_is_not_possible_and_never_guessed(charge: Any) -> None:
    with pytest.raises(Unbindable, match="charge"):
        _bound({"amount": "40.00"}, {"charge": charge}, **NAMED)
    with pytest.raises(Unbindable, match="charge"):
        _bound({"amount": "40.00"}, {"charge": charge})


def test_an_amount_that_is_no_money_is_not_possible() -> None:
    for amount in (40.1, "forty", None):
        with pytest.raises(Unbindable, match="amount"):
            _bound({"amount": amount}, {"charge": "ch_1"}, **NAMED)
