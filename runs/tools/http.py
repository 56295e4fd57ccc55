"""HTTP for tools: sends the key, and says in the engine's words how a request failed.

    payments = Service("https://payments.example")
    payments.post(call, "/charges", {"order": 4411, "amount": "40.00"})

| what happened | error |
| --- | --- |
| connection refused, no connection in time, 429; 503 where the tool is retry-safe | Unavailable |
| other 4xx | Refused |
| timeout or connection lost after sending, 408, 409 "in progress", 5xx, 3xx, a 2xx that is not JSON | InDoubt |
| any failure once an earlier request of this call had left | InDoubt |

Requests that only read (GET) never carry the key and never put a call in doubt by themselves.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import httpx

from runs.errors import InDoubt, Refused, ToolError, Unavailable
from runs.tools.registry import Call

READS = frozenset({"GET"})
NEVER_LEFT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)
_instead: ContextVar[httpx.Client | None] = ContextVar("instead", default=None)


@contextmanager
def through(client: httpx.Client) -> Iterator[None]:
    """In this thread, and for as long, every Service sends through `client` instead of its own: for practice."""
    token = _instead.set(client)
    try:
        yield
    finally:
        _instead.reset(token)


class Service:
    """One HTTP service. `base_url` may be a function, looked at on each call."""

    def __init__(self, base_url: str | Callable[[], str], headers: dict[str, str] | None = None) -> None:
        self._base_url = base_url
        self._headers = headers or {}
        self._client: httpx.Client | None = None
        self._lock = threading.Lock()

    def get(self, call: Call, path: str, params: dict[str, Any] | None = None) -> Any:
        """The JSON of a GET. Raises Refused or Unavailable; InDoubt once this call has sent its write."""
        return self._request(call, "GET", path, params=params)

    def find(self, call: Call, path: str) -> Any | None:
        """The JSON of a GET, or None where the service knows nothing of it (404). For lookups."""
        try:
            return self.get(call, path)
        except Refused as error:
            if error.status == 404:
                return None
            raise

    def post(self, call: Call, path: str, body: Any) -> Any:
        """The JSON of a POST that carries the call's key. Raises Refused, Unavailable, InDoubt."""
        return self._request(call, "POST", path, json=body)

    def _request(self, call: Call, method: str, path: str, **request: Any) -> Any:
        url = (self._base_url() if callable(self._base_url) else self._base_url).rstrip("/") + path
        had_left = call.left
        reads = method in READS
        headers = {**self._headers, "X-Stalwart-Run": call.run}
        if call.fault:
            headers["X-Stalwart-Fault"], _, seconds = call.fault.partition(":")
            headers |= {"X-Stalwart-Fault-Seconds": seconds} if seconds else {}
        if not reads:
            headers["Idempotency-Key"] = call.key
            call.left = True
        try:
            response = self._pool().request(method, url, headers=headers, timeout=call.timeout, **request)
            return _answer(response, reads=reads, retry_safe=call.retry_safe)
        except httpx.HTTPError as error:
            failure = _transport(error, reads=reads)
        except ToolError as error:
            failure = error
        if had_left:
            raise InDoubt(str(failure), cause=failure.cause) from failure
        if not isinstance(failure, InDoubt):
            call.left = False  # the service said, or the network did, that nothing happened
        raise failure

    def _pool(self) -> httpx.Client:
        if instead := _instead.get():
            return instead
        with self._lock:
            if self._client is None:
                self._client = httpx.Client(follow_redirects=False)
            return self._client


def _transport(error: httpx.HTTPError, *, reads: bool) -> ToolError:
    timeout = isinstance(error, httpx.TimeoutException)
    cause = "Timeout" if timeout else "ConnectionLost"
    if isinstance(error, NEVER_LEFT):
        return Unavailable(f"The service could not be reached: {error}", cause="Unreachable")
    if reads:
        return Unavailable(f"The read got no answer: {error}", cause=cause)
    return InDoubt(
        "No answer came back in time." if timeout else f"The connection was lost: {error}", cause=cause
    )


def _answer(response: httpx.Response, *, reads: bool, retry_safe: bool) -> Any:
    status = response.status_code
    if response.is_success:
        try:
            return response.json() if response.content else None
        except ValueError:
            said = f"The answer ({status}) is not JSON."
            raise (Unavailable if reads else InDoubt)(said, cause="BadAnswer") from None
    said = f"The service answered {status}: {_detail(response)}"
    if status == 429 or (status == 503 and (reads or retry_safe)):
        raise Unavailable(said, cause=f"HTTP{status}")
    if status == 408 or not 400 <= status < 500 or (status == 409 and _in_progress(response)):
        raise (Unavailable if reads else InDoubt)(said, cause=f"HTTP{status}")
    raise Refused(said, status=status)


def _problem(response: httpx.Response) -> dict[str, Any]:
    try:
        body = response.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def _detail(response: httpx.Response) -> str:
    problem = _problem(response)
    return str(problem.get("detail") or problem.get("title") or response.reason_phrase)[:500]


def _in_progress(response: httpx.Response) -> bool:
    return str(_problem(response).get("type", "")).rstrip("/").endswith("in-progress")
