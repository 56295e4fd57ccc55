"""Provisioning: an account for an order, opened and closed."""

from __future__ import annotations

import secrets
import sqlite3

from flask import Blueprint, Response, jsonify

from examples.services import faults, orders
from examples.services.books import now
from examples.services.problems import Problem
from examples.services.register import Body, Effect, Nothing, write

blueprint = Blueprint("provisioning", __name__, url_prefix="/provisioning")


class Account(Body):
    order: orders.OrderNumber


@blueprint.get("/status")
def status() -> Response:
    """`{status: "up"}`, or "down" for a request that carries the fault `down`."""
    return jsonify({"status": "down" if faults.wanted() == "down" else "up"})


@blueprint.post("/accounts")
@write("provision_account", Account)
def provision(db: sqlite3.Connection, body: Account) -> Effect:
    """Open an account for `{order}`: 201 `{account, order}`.

    404 `/unknown-order`; 422 `/account-exists` while the order has an open account.
    """
    orders.find(db, body.order)
    still_open = "SELECT id FROM accounts WHERE order_id = ? AND closed_at IS NULL"
    open_one = db.execute(still_open, (body.order,)).fetchone()
    if open_one is not None:
        detail = f"Nothing was opened. Order {body.order} has the account {open_one['id']}; close it first."
        raise Problem(422, "account-exists", "The order has an account", detail)
    made = f"acc_{secrets.token_urlsafe(9)}"
    db.execute("INSERT INTO accounts VALUES (?, ?, ?, NULL)", (made, body.order, now()))
    return Effect({"account": made, "order": body.order}, f"order {body.order}", made, 201)


@blueprint.post("/accounts/<account>/close")
@write("close_account", Nothing)
def close(db: sqlite3.Connection, body: Nothing, account: str) -> Effect:
    """Close an account: 200 `{account, order, status: "closed"}`.

    404 `/unknown-account`; 410 `/account-closed` when it was closed before.
    """
    row = db.execute("SELECT * FROM accounts WHERE id = ?", (account,)).fetchone()
    if row is None:
        raise Problem(404, "unknown-account", "Unknown account", f"No account is {account}. Check its id.")
    if row["closed_at"] is not None:
        raise Problem(410, "account-closed", "Already closed", f"Nothing to do: {account} was closed before.")
    db.execute("UPDATE accounts SET closed_at = ? WHERE id = ?", (now(), account))
    result = {"account": account, "order": row["order_id"], "status": "closed"}
    return Effect(result, f"order {row['order_id']}", f"{account} closed")
