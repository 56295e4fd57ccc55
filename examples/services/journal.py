"""What the books hold: the lookup of a key, the journal of effects, and the way back to the seed data."""

from __future__ import annotations

import json

from flask import Blueprint, Response, jsonify, request

from examples.services.register import current_register, reading

blueprint = Blueprint("journal", __name__)


@blueprint.get("/health")
def health() -> Response:
    """`{status: "ok"}` once the books are open."""
    return jsonify({"status": "ok"})


@blueprint.get("/operations/<key>")
def look_up(key: str) -> tuple[Response, int]:
    """What happened under a key: 200 `{key, operation, status: "done", result, at}`.

    Nothing so far: 404 `{key, status: "not_found"}`; a call that is still on the wire can land later.
    """
    row = reading().execute("SELECT * FROM operations WHERE key = ?", (key,)).fetchone()
    if row is None:
        return jsonify({"key": key, "status": "not_found"}), 404
    done = {"key": key, "operation": row["operation"], "status": "done"}
    return jsonify(done | {"result": json.loads(row["result"]), "at": row["at"]}), 200


@blueprint.get("/changes")
def changes() -> Response:
    """`[{id, at, service, operation, subject, detail, key, run}]`, oldest first; of one run with `?run=`.

    One line per effect that took place. `run` is the request's X-Stalwart-Run, or null.
    """
    run = request.args.get("run")
    rows = reading().execute("SELECT * FROM changes WHERE ?1 IS NULL OR run = ?1 ORDER BY id", (run,))
    return jsonify([dict(row) for row in rows])


@blueprint.post("/reset")
def reset() -> Response:
    """Empty all, keys included, and restore the seed data: `{status: "reset"}`. Takes no key."""
    current_register().books.reset()
    return jsonify({"status": "reset"})
