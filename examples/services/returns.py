"""Returns: a label and, where the return is started here, the courier who collects the parcel."""

from __future__ import annotations

import sqlite3
from typing import Annotated

from flask import Blueprint, Response, jsonify, request
from pydantic import Field

from examples.services import shop
from examples.services.books import count, now
from examples.services.problems import Problem
from examples.services.register import Body, Effect, Nothing, current_register, reading, write

blueprint = Blueprint("returns", __name__, url_prefix="/returns")

FIRST_LABEL = 7734
Reason = Annotated[str, Field(min_length=1, max_length=200)]


class Return(Body):
    order: shop.OrderId
    sku: str | None = None
    reason: Reason


class Label(Body):
    order_id: shop.OrderId
    sku: str
    reason: Reason


@blueprint.post("")
@write("start_return", Return)
def start(db: sqlite3.Connection, body: Return) -> Effect:
    """Take `{order, sku?, reason}`: 201 `{label, order, sku, item, kind, pickup}`.

    A label is sent to the customer, and the courier is booked. 404 `/unknown-order`; 422 `/not-ordered`.
    """
    order = shop.find(db, body.order)
    product, pickup = shop.sold(db, order, body.sku), str(order["pickup"])
    made = _add(db, order, body.reason, pickup)
    result: dict[str, object] = {"label": made, "order": order["id"], "sku": product["sku"]}
    result |= {"item": product["name"], "kind": product["kind"], "pickup": pickup}
    return Effect(result, order["id"], f"{made}, pickup {pickup}", 201)


@blueprint.post("/labels")
@write("create_return_label", Label)
def create_label(db: sqlite3.Connection, body: Label) -> Effect:
    """Make a label alone, for `{order_id, sku, reason}`: 201 `{label, order_id, sku, item}`; no courier.

    404 `/unknown-order`; 422 `/not-ordered`.
    """
    order = shop.find(db, body.order_id)
    product = shop.sold(db, order, body.sku)
    made = _add(db, order, body.reason, None)
    result: dict[str, object] = {"label": made, "order_id": order["id"], "sku": product["sku"]}
    return Effect(result | {"item": product["name"]}, order["id"], f"{product['sku']} {body.reason}", 201)


@blueprint.post("/<label>/cancel")
@write("cancel_return", Nothing)
def cancel(db: sqlite3.Connection, body: Nothing, label: str) -> Effect:
    """Cancel a label and its pickup: 200 `{label, order, status: "cancelled"}`.

    404 `/unknown-label`; 410 `/collected` once the courier has the parcel, `/return-cancelled` the second time.
    """
    row = _find(db, label)
    if row["status"] == "collected":
        raise Problem(410, "collected", "Already collected", f"Nothing was done. {label} is on its way back.")
    if row["status"] == "cancelled":
        raise Problem(410, "return-cancelled", "Already cancelled", f"Nothing to do: {label} was cancelled.")
    db.execute("UPDATE return_labels SET status = 'cancelled' WHERE id = ?", (label,))
    result: dict[str, object] = {"label": label, "order": row["order_id"], "status": "cancelled"}
    return Effect(result, row["order_id"], f"{label} cancelled")


@blueprint.post("/<label>/collect")
def collect(label: str) -> Response:
    """A switch for practice: the courier has collected the parcel. Takes no key; 404 `/unknown-label`."""
    with current_register().books.writing() as db:
        _find(db, label)
        db.execute("UPDATE return_labels SET status = 'collected' WHERE id = ?", (label,))
    return show(label)


@blueprint.get("/<label>")
def show(label: str) -> Response:
    """`{label, order, sku, reason, pickup, status, at}`; status is open, cancelled or collected."""
    return jsonify(_shown(_find(reading(), label)))


@blueprint.get("")
def list_returns() -> Response:
    """The same of every label, oldest first; of one order with `?order=`."""
    order = request.args.get("order", "")
    rows = reading().execute(
        "SELECT * FROM return_labels WHERE ?1 = '' OR order_id = ?1 ORDER BY rowid", (order,)
    )
    return jsonify([_shown(row) for row in rows])


def _add(db: sqlite3.Connection, order: sqlite3.Row, reason: str, pickup: str | None) -> str:
    made = f"RL-{FIRST_LABEL + count(db, 'return_labels')}"
    row = (made, order["id"], order["sku"], reason, pickup, now())
    db.execute("INSERT INTO return_labels VALUES (?, ?, ?, ?, ?, 'open', ?)", row)
    return made


def _find(db: sqlite3.Connection, label: str) -> sqlite3.Row:
    row: sqlite3.Row | None = db.execute("SELECT * FROM return_labels WHERE id = ?", (label,)).fetchone()
    if row is None:
        raise Problem(404, "unknown-label", "Unknown label", f"There is no label {label}. Check its id.")
    return row


def _shown(row: sqlite3.Row) -> dict[str, object]:
    names = ("sku", "reason", "pickup", "status", "at")
    return {"label": row["id"], "order": row["order_id"]} | {name: row[name] for name in names}
