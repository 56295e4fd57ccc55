"""Money: a string with two places in JSON, Decimal in Python, whole cents on the books; never a float."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated

from pydantic import BeforeValidator

CURRENCY = "EUR"
_AMOUNT = re.compile(r"[0-9]{1,9}(\.[0-9]{1,2})?")


def _read(value: object) -> Decimal:
    if not isinstance(value, str) or not _AMOUNT.fullmatch(value):
        raise ValueError('send money as a string with two places, such as "40.00"; a JSON number is refused')
    amount = Decimal(value)
    if not amount:
        raise ValueError("send an amount above 0.00")
    return amount


Money = Annotated[Decimal, BeforeValidator(_read)]
"""A field of a request's body: an amount above zero, at most 999999999.99."""


def cents(amount: Decimal) -> int:
    """Whole cents of an amount with at most two places."""
    return int(amount * 100)


def text(amount: int) -> str:
    """Cents as they go into JSON: 4000 is "40.00"."""
    return f"{amount // 100}.{amount % 100:02d}"
