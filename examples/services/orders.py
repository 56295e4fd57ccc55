"""Orders, as every service finds them."""

from __future__ import annotations

import sqlite3
from typing import Annotated

from pydantic import Field

from examples.services.problems import Problem

_HIGHEST = 999_999_999
OrderNumber = Annotated[int, Field(ge=1, le=_HIGHEST)]
"""A field of a request's body: an order's number, as a JSON integer."""


def find(db: sqlite3.Connection, order: int) -> sqlite3.Row:
    """The row of an order. An order that is not on the books is refused: 404 `/unknown-order`."""
    if order <= _HIGHEST:
        row: sqlite3.Row | None = db.execute("SELECT * FROM orders WHERE id = ?", (order,)).fetchone()
        if row is not None:
            return row
    raise Problem(404, "unknown-order", "Unknown order", f"There is no order {order}. Check the number.")


def chargeable(order: sqlite3.Row) -> int:
    """What may still be charged, in cents: a charge takes from it, a refund gives back."""
    return int(order["total"] - order["paid"] + order["refunded"])
