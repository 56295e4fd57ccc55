"""Errors as RFC 9457 problem JSON. A refusal has changed nothing and has not taken the key."""

from __future__ import annotations

import json

from flask import Response

TYPES = "https://practice.stalwart.example/problems/"


class Problem(Exception):
    """An answer that is an error: `{type, title, status, detail}`, as application/problem+json.

    `kind` is the last part of the type's address; `detail` says what to do about it.
    """

    def __init__(self, status: int, kind: str, title: str, detail: str) -> None:
        super().__init__(detail)
        self.status, self.kind, self.title, self.detail = status, kind, title, detail

    def response(self) -> Response:
        """The answer to send."""
        body = {"type": TYPES + self.kind, "title": self.title, "status": self.status, "detail": self.detail}
        return Response(json.dumps(body), self.status, mimetype="application/problem+json")
