"""CRM: an order's status, changed and restored."""

from __future__ import annotations

import sqlite3
from typing import Annotated

from flask import Blueprint, Response, jsonify
from pydantic import Field

from examples.services import orders
from examples.services.problems import Problem
from examples.services.register import Body, Effect, reading, write

blueprint = Blueprint("crm", __name__, url_prefix="/crm")


class Status(Body):
    status: Annotated[str, Field(min_length=1, max_length=60)]


@blueprint.get("/orders/<int:order>")
def show_order(order: int) -> Response:
    """`{order, status, note}`; 404 `/unknown-order`."""
    row = _in_crm(reading(), order)
    return jsonify({"order": order, "status": row["status"], "note": row["note"]})


@blueprint.post("/orders/<int:order>/status")
@write("update_crm", Status)
def update(db: sqlite3.Connection, body: Status, order: int) -> Effect:
    """Set `{status}`: 200 `{order, previous, status}`. 404 `/unknown-order`."""
    return _set(db, order, _in_crm(db, order)["status"], body.status)


@blueprint.post("/orders/<int:order>/restore")
@write("restore_crm", Status)
def restore(db: sqlite3.Connection, body: Status, order: int) -> Effect:
    """Set the earlier `{status}` again: 200 `{order, previous, status}`.

    404 `/unknown-order`; 422 `/never-updated` when there is nothing to restore.
    """
    row = _in_crm(db, order)
    if not row["updates"]:
        detail = f"Nothing was changed. Order {order} was never updated, so there is nothing to restore."
        raise Problem(422, "never-updated", "Nothing to restore", detail)
    return _set(db, order, row["status"], body.status)


def _set(db: sqlite3.Connection, order: int, previous: str, status: str) -> Effect:
    db.execute("UPDATE crm_orders SET status = ?, updates = updates + 1 WHERE order_id = ?", (status, order))
    result: dict[str, object] = {"order": order, "previous": previous, "status": status}
    return Effect(result, f"order {order}", f"{previous} -> {status}")


def _in_crm(db: sqlite3.Connection, order: int) -> sqlite3.Row:
    orders.find(db, order)
    row: sqlite3.Row = db.execute("SELECT * FROM crm_orders WHERE order_id = ?", (order,)).fetchone()
    return row
