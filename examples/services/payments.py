"""Payments: charges against an order, and refunds of a charge."""

from __future__ import annotations

import secrets
import sqlite3

from flask import Blueprint, Response, jsonify, request

from examples.services import money, orders
from examples.services.books import now
from examples.services.problems import Problem
from examples.services.register import Body, Effect, reading, write

blueprint = Blueprint("payments", __name__, url_prefix="/payments")


class Charge(Body):
    order: orders.OrderNumber
    amount: money.Money


class Refund(Body):
    charge: str
    amount: money.Money


@blueprint.get("/orders/<int:order>")
def show_order(order: int) -> Response:
    """`{order, customer, email, currency, total, chargeable, paid, refunded}`; 404 `/unknown-order`."""
    row = orders.find(reading(), order)
    amounts = {name: money.text(row[name]) for name in ("total", "paid", "refunded")}
    amounts["chargeable"] = money.text(orders.chargeable(row))
    who = {"order": row["id"], "customer": row["customer"], "email": row["email"]}
    return jsonify(who | {"currency": money.CURRENCY} | amounts)


@blueprint.post("/charges")
@write("charge_card", Charge)
def charge(db: sqlite3.Connection, body: Charge) -> Effect:
    """Take `{order, amount}`: 201 `{charge, order, amount, currency}`.

    404 `/unknown-order`; 402 `/above-chargeable` above what may still be charged.
    """
    order, amount = orders.find(db, body.order), money.cents(body.amount)
    if amount > orders.chargeable(order):
        detail = f"Nothing was charged. Up to {money.text(orders.chargeable(order))} may be charged on it."
        raise Problem(402, "above-chargeable", "More than may be charged", detail)
    made = f"ch_{secrets.token_urlsafe(9)}"
    db.execute("INSERT INTO charges VALUES (?, ?, ?, 0, ?)", (made, body.order, amount, now()))
    db.execute("UPDATE orders SET paid = paid + ? WHERE id = ?", (amount, body.order))
    text = money.text(amount)
    result = {"charge": made, "order": body.order, "amount": text, "currency": money.CURRENCY}
    return Effect(result, f"order {body.order}", f"{text} {money.CURRENCY}", 201)


@blueprint.post("/refunds")
@write("refund_card", Refund)
def refund(db: sqlite3.Connection, body: Refund) -> Effect:
    """Give back `{charge, amount}`: 201 `{refund, charge, amount}`; it may be charged again.

    404 `/unknown-charge`; 422 `/above-paid` above what is left of that charge.
    """
    row, amount = _charge(db, body.charge), money.cents(body.amount)
    left = row["amount"] - row["refunded"]
    if amount > left:
        detail = f"Nothing was refunded. Up to {money.text(left)} of this charge can be given back."
        raise Problem(422, "above-paid", "More than was paid", detail)
    made = f"re_{secrets.token_urlsafe(9)}"
    db.execute("INSERT INTO refunds VALUES (?, ?, ?, ?)", (made, body.charge, amount, now()))
    db.execute("UPDATE charges SET refunded = refunded + ? WHERE id = ?", (amount, body.charge))
    db.execute("UPDATE orders SET refunded = refunded + ? WHERE id = ?", (amount, row["order_id"]))
    text, order = money.text(amount), row["order_id"]
    result: dict[str, object] = {"refund": made, "charge": body.charge, "amount": text}
    return Effect(result, f"order {order}", f"{text} {money.CURRENCY} of {body.charge}", 201)


@blueprint.get("/charges")
def list_charges() -> Response:
    """`[{charge, order, amount, refunded, currency, at}]`, oldest first; of one order with `?order=`."""
    order = request.args.get("order", "")
    rows = reading().execute(
        "SELECT * FROM charges WHERE ? = '' OR CAST(order_id AS TEXT) = ? ORDER BY rowid", (order, order)
    )
    return jsonify([_shown(row) for row in rows])


def _shown(row: sqlite3.Row) -> dict[str, object]:
    amounts = {name: money.text(row[name]) for name in ("amount", "refunded")}
    who = {"charge": row["id"], "order": row["order_id"]}
    return who | {"currency": money.CURRENCY, **amounts, "at": row["at"]}


def _charge(db: sqlite3.Connection, charge: str) -> sqlite3.Row:
    row: sqlite3.Row | None = db.execute("SELECT * FROM charges WHERE id = ?", (charge,)).fetchone()
    if row is None:
        raise Problem(404, "unknown-charge", "Unknown charge", f"There is no charge {charge}. Check its id.")
    return row
