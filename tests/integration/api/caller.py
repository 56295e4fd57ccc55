"""A caller of the API, as the tests need one."""

import json
from dataclasses import dataclass, field
from typing import Any

import httpx
from django.http import HttpResponse
from django.test import Client
from django_q.models import OrmQ

from approvals.models import Answer
from runs.models import Attempt, Event, IdempotencyRecord, LedgerEntry, Message, Run, Step, Thread

ROOT = "/api/v1"
TABLES = (Thread, Run, Step, Event, Message, OrmQ, Attempt, LedgerEntry, Answer, IdempotencyRecord)
ORDER = (
    "charge order 4411 40.00, then update the crm for order 4411, then provision the account for order 4411"
)
CHARGE = {"tool": "charge_card", "args": {"order": 4411, "amount": "40.00"}}
LOOK = {"tool": "get_order", "args": {"order": 4411}}


def stored() -> dict[str, int]:
    """How many rows there are, table by table."""
    return {table.__name__: table.objects.count() for table in TABLES}


def changes(url: str) -> list[str]:
    """What happened in the world: the operations of the practice services, in order."""
    return [change["operation"] for change in httpx.get(f"{url}/changes", trust_env=False).json()]


@dataclass
class Reply:
    """One response. A problem is checked for its shape on the way."""

    response: HttpResponse
    body: Any

    @property
    def status(self) -> int:
        return self.response.status_code

    @property
    def problem(self) -> tuple[int, str]:
        """The status and the slug of a problem document."""
        assert self.response["Content-Type"] == "application/problem+json", self.body
        assert {"type", "title", "status", "detail"} <= set(self.body)
        assert self.body["status"] == self.status
        assert self.body["detail"]
        assert self.body["detail"].isprintable()
        return self.status, self.body["type"].removeprefix("/problems/")


@dataclass
class Caller:
    """Somebody with a token, or without one."""

    token: str = ""
    http: Client = field(default_factory=Client)

    def get(self, path: str, **query: Any) -> Reply:
        return self._reply(self.http.get(ROOT + path, query, headers=self._headers()))

    def post(self, path: str, body: Any = None, *, key: str = "") -> Reply:
        return self.post_raw(path, json.dumps({} if body is None else body), key=key)

    def post_raw(
        self, path: str, text: str | bytes, *, key: str = "", content_type: str = "application/json"
    ) -> Reply:
        headers = self._headers() | ({"Idempotency-Key": key} if key else {})
        return self._reply(self.http.post(ROOT + path, text, content_type=content_type, headers=headers))

    def send(self, method: str, path: str) -> Reply:
        return self._reply(self.http.generic(method, ROOT + path, headers=self._headers()))

    def answer(self, question: dict[str, Any], word: str = "approve", **more: Any) -> Reply:
        """Answer a question as it was shown, with a nonce of its own."""
        nonce = f"{self.token[-8:]}-{question['digest'][:20]}-{word}"
        body = {"answer": word, "digest": question["digest"], "nonce": nonce}
        return self.post(f"/questions/{question['id']}/answer", body | more)

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    def _reply(self, response: Any) -> Reply:
        assert response["Cache-Control"] == "no-store"
        return Reply(response, json.loads(response.content) if response.content else None)
