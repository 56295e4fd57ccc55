"""The real process over real HTTP, with fresh books for each test."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from examples.services.process import Services, running

_numbers = itertools.count(1)


@dataclass
class Client:
    """A caller of the services; every call without a key gets a new one."""

    http: httpx.Client
    pool: ThreadPoolExecutor = field(default_factory=ThreadPoolExecutor)

    def post(
        self,
        path: str,
        body: dict[str, Any] | None = None,
        *,
        key: str | None = None,
        fault: str | None = None,
        seconds: float = 0.3,
        run: str | None = None,
        timeout: float = 10,
    ) -> httpx.Response:
        headers = {"Idempotency-Key": key or f"key-{next(_numbers)}"}
        if fault:
            headers |= {"X-Stalwart-Fault": fault, "X-Stalwart-Fault-Seconds": str(seconds)}
        if run:
            headers["X-Stalwart-Run"] = run
        return self.http.post(path, json=body or {}, headers=headers, timeout=timeout)

    def charge(self, amount: object = "40.00", order: int = 4411, **options: Any) -> httpx.Response:
        return self.post("/payments/charges", {"order": order, "amount": amount}, **options)

    def get(self, path: str) -> Any:
        return self.http.get(path).json()

    def changes(self) -> list[dict[str, Any]]:
        return list(self.get("/changes"))

    def order(self, order: int = 4411) -> dict[str, Any]:
        return dict(self.get(f"/payments/orders/{order}"))


def kind(answer: httpx.Response) -> tuple[int, str]:
    """A problem's status and the last part of its type, after checking its shape."""
    body = answer.json()
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert set(body) == {"type", "title", "status", "detail"} and body["detail"]
    assert body["status"] == answer.status_code
    return answer.status_code, body["type"].rsplit("/", 1)[1]


def connect(services: Services) -> httpx.Client:
    """A connection to this machine: no proxy, no certificates to load."""
    return httpx.Client(base_url=services.url, trust_env=False, verify=False)


@pytest.fixture(scope="session")
def shared_services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    with running(tmp_path_factory.mktemp("services") / "services.db") as services:
        yield services


@pytest.fixture
def client(shared_services: Services) -> Iterator[Client]:
    """A client of the shared process, on books as they were at the start."""
    with connect(shared_services) as http:
        http.post("/reset").raise_for_status()
        yield Client(http)
    assert shared_services.printed() == ""


@pytest.fixture(autouse=True)
def _plain_static_files() -> None:
    """These tests need no Django: they run without its plugin, and without what all others set up for it."""
