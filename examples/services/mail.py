"""Mail: messages that are sent, and that nothing can call back."""

from __future__ import annotations

import secrets
import sqlite3
from typing import Annotated

from flask import Blueprint, Response, jsonify
from pydantic import Field

from examples.services.books import now
from examples.services.register import Body, Effect, reading, write

blueprint = Blueprint("mail", __name__, url_prefix="/mail")


class Message(Body):
    to: Annotated[str, Field(pattern=r"^[^@\s]+@[^@\s]+$", max_length=254)]
    subject: Annotated[str, Field(min_length=1, max_length=200)]
    body: str


@blueprint.post("/messages")
@write("send_message", Message)
def send(db: sqlite3.Connection, body: Message) -> Effect:
    """Send `{to, subject, body}`: 201 `{message, to}`."""
    made = f"msg_{secrets.token_urlsafe(9)}"
    db.execute("INSERT INTO messages VALUES (?, ?, ?, ?, ?)", (made, body.to, body.subject, body.body, now()))
    return Effect({"message": made, "to": body.to}, body.to, body.subject, 201)


@blueprint.get("/messages")
def list_messages() -> Response:
    """`[{message, to, subject, body, at}]`, oldest first."""
    rows = reading().execute("SELECT * FROM messages ORDER BY rowid")
    names = {"message": "id", "to": "recipient", "subject": "subject", "body": "body", "at": "at"}
    return jsonify([{name: row[column] for name, column in names.items()} for row in rows])
