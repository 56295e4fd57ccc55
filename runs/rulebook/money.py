"""Amounts, compared and added exactly. They are text in a call's arguments; a double would lose cents.

CEL's own numbers are doubles and 64-bit integers, so conditions compare amounts through FUNCTIONS, and a
condition that compares one with an operator is refused when the rules are read (runs/rulebook/conditions.py).
"""

import operator
from collections.abc import Callable, Iterable, Mapping
from decimal import Clamped, Context, Decimal, Inexact, InvalidOperation, Overflow, Underflow
from typing import Any

# What cannot be added up exactly in this many digits is refused; it would take memory without bound.
EXACT = Context(
    prec=200, Emin=-200, Emax=200, traps=[Inexact, InvalidOperation, Overflow, Underflow, Clamped]
)


class NotAnAmount(ValueError):
    """A value that is no exact amount; the message shows it."""


def amount(value: Any) -> Decimal:
    """`value` (text or a whole number) as Decimal. Raises NotAnAmount, also for NaN and Infinity."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise NotAnAmount(f"{_shown(value)} is not an amount")
    try:
        found = Decimal(value)
    except (InvalidOperation, ValueError):
        raise NotAnAmount(f"{_shown(value)} is not an amount") from None
    if not found.is_finite():
        raise NotAnAmount(f"{_shown(value)} is not an amount")
    return found


def total(amounts: Iterable[tuple[Decimal, int]]) -> Decimal:
    """The exact sum of amounts, each so many times; one below nothing counts as nothing, so that it makes no room.

    Raises NotAnAmount.
    """
    found = Decimal(0)
    try:
        for item, times in amounts:
            found = EXACT.fma(max(item, Decimal(0)), Decimal(times), found)
    except (Inexact, Overflow, Underflow, Clamped, InvalidOperation):
        raise NotAnAmount("the amounts cannot be added up exactly") from None
    return found


def _compares(compare: Callable[[Decimal, Decimal], bool]) -> Callable[..., bool]:
    def compared(*values: Any) -> bool:
        if len(values) != 2:
            raise NotAnAmount(f"two amounts are compared, and not {len(values)}")
        return compare(amount(values[0]), amount(values[1]))

    return compared


FUNCTIONS: Mapping[str, Callable[..., bool]] = {
    "above": _compares(operator.gt),
    "at_least": _compares(operator.ge),
    "below": _compares(operator.lt),
    "at_most": _compares(operator.le),
    "equal": _compares(operator.eq),
}


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"
