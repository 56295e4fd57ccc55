"""The application: the services' blueprints over one register of keys."""

from __future__ import annotations

import os
from pathlib import Path

from flask import Flask, Response
from werkzeug.exceptions import HTTPException

from examples.services import crm, faults, journal, mail, payments, provisioning, returns, shop, warehouse
from examples.services.books import Books
from examples.services.problems import Problem
from examples.services.register import Register


def create_app(database: Path) -> Flask:
    """The services over the SQLite file `database`, created and seeded when it is new.

    Fault switches are accepted when STALWART_FAULTS is 1, or when config FAULTS is set to True.
    """
    app = Flask(__name__, static_folder=None)
    app.config.update(FAULTS=os.environ.get("STALWART_FAULTS") == "1", MAX_CONTENT_LENGTH=1_000_000)
    app.json.sort_keys = False  # type: ignore[attr-defined]
    app.extensions["register"] = Register(Books(database))
    for service in (journal, payments, crm, provisioning, mail, shop, returns, warehouse):
        app.register_blueprint(service.blueprint)
    app.register_error_handler(Problem, Problem.response)
    app.register_error_handler(HTTPException, _http_problem)
    app.register_error_handler(faults.HungUp, _nothing)
    return app


def _http_problem(error: HTTPException) -> Response:
    title, status = error.name, error.code or 500
    kind = title.lower().replace(" ", "-")
    return Problem(status, kind, title, error.description or "Check the address and the method.").response()


def _nothing(_: faults.HungUp) -> Response:
    """An answer for a closed connection; without a socket (a test client) it is seen as a 500."""
    return Response(status=500)
