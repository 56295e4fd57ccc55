"""The warehouse: items set aside for an order, and items that are sent out again."""

from __future__ import annotations

import sqlite3
from typing import Annotated

from flask import Blueprint, Response, jsonify, request
from pydantic import Field

from examples.services import shop
from examples.services.books import count, now
from examples.services.problems import Problem
from examples.services.register import Body, Effect, Nothing, reading, write

blueprint = Blueprint("warehouse", __name__, url_prefix="/warehouse")

FIRST_RESERVATION, FIRST_RESHIP = 5501, 8201


class Reservation(Body):
    order: shop.OrderId
    sku: str
    quantity: Annotated[int, Field(ge=1, le=999)]


class Reship(Body):
    order_id: shop.OrderId
    sku: str


@blueprint.post("/reservations")
@write("reserve_item", Reservation)
def reserve(db: sqlite3.Connection, body: Reservation) -> Effect:
    """Set `{order, sku, quantity}` aside: 201 `{reservation, order, sku, quantity, item, warehouse}`.

    404 `/unknown-order`; 422 `/not-ordered`, `/out-of-stock`.
    """
    order = shop.find(db, body.order)
    product = _take(db, order, body.sku, body.quantity)
    made = f"rs_{FIRST_RESERVATION + count(db, 'reservations')}"
    row = (made, order["id"], body.sku, body.quantity, now())
    db.execute("INSERT INTO reservations VALUES (?, ?, ?, ?, ?, NULL)", row)
    result: dict[str, object] = {"reservation": made, "order": order["id"], "sku": body.sku}
    result |= {"quantity": body.quantity, "item": product["name"], "warehouse": product["warehouse"]}
    return Effect(result, order["id"], f"{body.quantity} x {body.sku}, {made}", 201)


@blueprint.post("/reservations/<reservation>/release")
@write("release_reservation", Nothing)
def release(db: sqlite3.Connection, body: Nothing, reservation: str) -> Effect:
    """Put the items back: 200 `{reservation, order, status: "released"}`.

    404 `/unknown-reservation`; 410 `/reservation-released` the second time.
    """
    row = db.execute("SELECT * FROM reservations WHERE id = ?", (reservation,)).fetchone()
    if row is None:
        detail = f"There is no reservation {reservation}. Check its id."
        raise Problem(404, "unknown-reservation", "Unknown reservation", detail)
    if row["released_at"] is not None:
        detail = f"Nothing to do: {reservation} was released before."
        raise Problem(410, "reservation-released", "Already released", detail)
    db.execute("UPDATE reservations SET released_at = ? WHERE id = ?", (now(), reservation))
    db.execute("UPDATE products SET stock = stock + ? WHERE sku = ?", (row["quantity"], row["sku"]))
    result: dict[str, object] = {"reservation": reservation, "order": row["order_id"], "status": "released"}
    return Effect(result, row["order_id"], f"{reservation} released")


@blueprint.post("/reships")
@write("reship", Reship)
def reship(db: sqlite3.Connection, body: Reship) -> Effect:
    """Send `{order_id, sku}` out again: 201 `{reship, order_id, sku, item, warehouse}`.

    404 `/unknown-order`; 422 `/not-ordered`, `/out-of-stock`.
    """
    order = shop.find(db, body.order_id)
    product = _take(db, order, body.sku, 1)
    made = f"RS-{FIRST_RESHIP + count(db, 'reships')}"
    db.execute("INSERT INTO reships VALUES (?, ?, ?, ?)", (made, order["id"], body.sku, now()))
    result: dict[str, object] = {"reship": made, "order_id": order["id"], "sku": body.sku}
    result |= {"item": product["name"], "warehouse": product["warehouse"]}
    return Effect(result, order["id"], f"{body.sku}, {made}", 201)


@blueprint.get("/items/<sku>")
def show_item(sku: str) -> Response:
    """`{sku, item, warehouse, stock}`; 404 `/unknown-item`."""
    row = reading().execute("SELECT * FROM products WHERE sku = ?", (sku,)).fetchone()
    if row is None:
        raise Problem(404, "unknown-item", "Unknown item", f"There is no item {sku}. Check its number.")
    return jsonify({"sku": sku, "item": row["name"], "warehouse": row["warehouse"], "stock": row["stock"]})


@blueprint.get("/reservations")
def list_reservations() -> Response:
    """`[{reservation, order, sku, quantity, status, at}]`, oldest first; of one order with `?order=`."""
    order = request.args.get("order", "")
    rows = reading().execute(
        "SELECT * FROM reservations WHERE ?1 = '' OR order_id = ?1 ORDER BY rowid", (order,)
    )
    return jsonify([_shown(row) for row in rows])


def _shown(row: sqlite3.Row) -> dict[str, object]:
    who = {"reservation": row["id"], "order": row["order_id"], "sku": row["sku"], "quantity": row["quantity"]}
    return who | {"status": "released" if row["released_at"] else "reserved", "at": row["at"]}


def _take(db: sqlite3.Connection, order: sqlite3.Row, sku: str, quantity: int) -> sqlite3.Row:
    product = shop.sold(db, order, sku)
    if quantity > product["stock"]:
        detail = f"Nothing was done. {product['warehouse']} has {product['stock']} x {sku}, not {quantity}."
        raise Problem(422, "out-of-stock", "Not in stock", detail)
    db.execute("UPDATE products SET stock = stock - ? WHERE sku = ?", (quantity, sku))
    return product
