"""The shop: its orders, known by text ids such as SU-90317, and what was sold with each."""

from __future__ import annotations

import sqlite3
from typing import Annotated

from flask import Blueprint, Response, jsonify
from pydantic import Field

from examples.services import money
from examples.services.problems import Problem
from examples.services.register import reading

blueprint = Blueprint("shop", __name__, url_prefix="/orders")

OrderId = Annotated[str, Field(min_length=1, max_length=40)]
"""A field of a request's body: the id of an order of the shop."""


@blueprint.get("/<order_id>")
def show_order(order_id: str) -> Response:
    """`{order_id, customer, email, seller, seller_email, sku, item, currency, paid, …, payments, note}`.

    The amounts are paid, delivery_fee (a part of it), refunded and refundable. 404 `/unknown-order`.
    """
    db = reading()
    row = find(db, order_id)
    names = ("customer", "email", "seller", "seller_email", "sku")
    who = {"order_id": row["id"]} | {name: row[name] for name in names}
    amounts = {name: money.text(row[name]) for name in ("paid", "delivery_fee", "refunded")}
    amounts["refundable"] = money.text(row["paid"] - row["refunded"])
    item = {"item": sold(db, row, None)["name"], "currency": row["currency"]}
    return jsonify(who | item | amounts | {"payments": _payments(db, order_id), "note": row["note"]})


def find(db: sqlite3.Connection, order_id: str) -> sqlite3.Row:
    """The row of an order. An order that is not on the books is refused: 404 `/unknown-order`."""
    row: sqlite3.Row | None = db.execute("SELECT * FROM shop_orders WHERE id = ?", (order_id,)).fetchone()
    if row is None:
        raise Problem(404, "unknown-order", "Unknown order", f"There is no order {order_id}. Check its id.")
    return row


def sold(db: sqlite3.Connection, order: sqlite3.Row, sku: str | None) -> sqlite3.Row:
    """The product of an order; any other `sku` is refused: 422 `/not-ordered`."""
    if sku not in (None, order["sku"]):
        detail = f"Nothing was done. Order {order['id']} is for {order['sku']}, not for {sku}."
        raise Problem(422, "not-ordered", "Not in this order", detail)
    row: sqlite3.Row = db.execute("SELECT * FROM products WHERE sku = ?", (order["sku"],)).fetchone()
    return row


def _payments(db: sqlite3.Connection, order_id: str) -> list[dict[str, str]]:
    rows = db.execute("SELECT * FROM order_payments WHERE order_id = ? ORDER BY rowid", (order_id,))
    return [{"payment_id": row["id"], "amount": money.text(row["amount"])} for row in rows]
