"""Payments: charges against an order and refunds of a charge; refunds of an order of the shop."""

from __future__ import annotations

import secrets
import sqlite3
from typing import Annotated

from flask import Blueprint, Response, jsonify, request
from pydantic import Field

from examples.services import money, orders, shop
from examples.services.books import count, now
from examples.services.problems import Problem
from examples.services.register import Body, Effect, Nothing, reading, write

blueprint = Blueprint("payments", __name__, url_prefix="/payments")

FIRST_REFUND = 3101
_ORDER_REFUNDS = """SELECT order_refunds.*, shop_orders.currency FROM order_refunds
    JOIN shop_orders ON shop_orders.id = order_id"""


class Charge(Body):
    order: orders.OrderNumber
    amount: money.Money


class Refund(Body):
    charge: str
    amount: money.Money


class OrderRefund(Body):
    order_id: shop.OrderId
    amount: money.Money
    reason_code: Annotated[str, Field(min_length=1, max_length=60)]
    payment_id: str | None = None


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


# --- Refunds of an order of the shop --------------------------------------------------------------------
@blueprint.post("/order-refunds")
@write("request_refund", OrderRefund)
def refund_order(db: sqlite3.Connection, body: OrderRefund) -> Effect:
    """Give back `{order_id, amount, reason_code, payment_id?}`: 201 `{refund, order_id, amount, currency, …}`.

    404 `/unknown-order`, `/unknown-payment`; 422 `/above-paid` where more than was paid would be given back.
    Two equal refunds are two refunds: only the key says that they are one.
    """
    order, amount = shop.find(db, body.order_id), money.cents(body.amount)
    _refuse_above(order["paid"] - order["refunded"], amount, f"order {order['id']}")
    if body.payment_id is not None:
        payment = _payment(db, order["id"], body.payment_id)
        _refuse_above(payment["amount"] - payment["refunded"], amount, f"payment {payment['id']}")
    made = f"RF-{FIRST_REFUND + count(db, 'order_refunds')}"
    row = (made, order["id"], body.payment_id, amount, body.reason_code, now())
    db.execute("INSERT INTO order_refunds VALUES (?, ?, ?, ?, ?, ?, NULL)", row)
    _add_refunded(db, order["id"], body.payment_id, amount)
    text = money.text(amount)
    result = {"refund": made, "order_id": order["id"], "amount": text, "currency": order["currency"]}
    return Effect(result | {"reason_code": body.reason_code}, order["id"], f"{text} {body.reason_code}", 201)


@blueprint.post("/order-refunds/<refund>/reverse")
@write("reverse_refund", Nothing)
def reverse_refund(db: sqlite3.Connection, body: Nothing, refund: str) -> Effect:
    """Take a refund back: 200 `{refund, order_id, amount, currency, status: "reversed"}`.

    404 `/unknown-refund`; 410 `/refund-reversed` when it was taken back before.
    """
    row = db.execute(f"{_ORDER_REFUNDS} WHERE order_refunds.id = ?", (refund,)).fetchone()
    if row is None:
        raise Problem(404, "unknown-refund", "Unknown refund", f"There is no refund {refund}. Check its id.")
    if row["reversed_at"] is not None:
        raise Problem(410, "refund-reversed", "Already reversed", f"Nothing to do: {refund} was taken back.")
    db.execute("UPDATE order_refunds SET reversed_at = ? WHERE id = ?", (now(), refund))
    _add_refunded(db, row["order_id"], row["payment"], -row["amount"])
    text = money.text(row["amount"])
    result = {"refund": refund, "order_id": row["order_id"], "amount": text, "currency": row["currency"]}
    return Effect(result | {"status": "reversed"}, row["order_id"], f"{text} of {refund} taken back")


@blueprint.get("/order-refunds")
def list_order_refunds() -> Response:
    """`[{refund, order_id, payment_id, amount, currency, reason_code, status, at}]`, oldest first; `?order=`."""
    order = request.args.get("order", "")
    rows = reading().execute(
        f"{_ORDER_REFUNDS} WHERE ?1 = '' OR order_id = ?1 ORDER BY order_refunds.rowid", (order,)
    )
    return jsonify([_refund_shown(row) for row in rows])


def _refund_shown(row: sqlite3.Row) -> dict[str, object]:
    who = {"refund": row["id"], "order_id": row["order_id"], "payment_id": row["payment"]}
    what = {
        "amount": money.text(row["amount"]),
        "currency": row["currency"],
        "reason_code": row["reason_code"],
    }
    return who | what | {"status": "reversed" if row["reversed_at"] else "refunded", "at": row["at"]}


def _payment(db: sqlite3.Connection, order_id: str, payment: str) -> sqlite3.Row:
    found = "SELECT * FROM order_payments WHERE id = ? AND order_id = ?"
    row: sqlite3.Row | None = db.execute(found, (payment, order_id)).fetchone()
    if row is None:
        detail = f"Order {order_id} has no payment {payment}. Check its id."
        raise Problem(404, "unknown-payment", "Unknown payment", detail)
    return row


def _refuse_above(left: int, amount: int, of: str) -> None:
    if amount > left:
        detail = f"Nothing was refunded. Up to {money.text(left)} of {of} can be given back."
        raise Problem(422, "above-paid", "More than was paid", detail)


def _add_refunded(db: sqlite3.Connection, order_id: str, payment: str | None, amount: int) -> None:
    db.execute("UPDATE shop_orders SET refunded = refunded + ? WHERE id = ?", (amount, order_id))
    db.execute("UPDATE order_payments SET refunded = refunded + ? WHERE id = ?", (amount, payment))
