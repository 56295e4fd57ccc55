"""The register of keys: one effect per key, and the first result again for whoever repeats it.

A write is answered in four steps:

1. its key, body and fault are read; what is malformed is refused here;
2. a key that is in progress is 409; a key that is done is its first answer again, or 422 for other arguments;
3. ONE transaction holds the effect, its row in the register and its line in the journal, so that a crash
   leaves all three or none;
4. the answer is sent. A refusal rolls back: nothing on the books, and the key is not taken.

Which keys are in progress is known to this process alone, so a request that died holds no key.
"""

from __future__ import annotations

import json
import re
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from flask import Response, current_app, request
from pydantic import BaseModel, ConfigDict, ValidationError

from examples.services import faults
from examples.services.books import Books, now
from examples.services.problems import Problem

_KEY = re.compile(r"[A-Za-z0-9._:~-]{1,255}")


class Body(BaseModel):
    """A request's body: a JSON object with these fields, of these types, and no others."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Nothing(Body):
    """No arguments: an empty body or `{}`."""


@dataclass(frozen=True)
class Effect:
    """What a service did: the answer's body, and the words of its line in the journal."""

    result: dict[str, object]
    subject: str
    detail: str
    status: int = 200


@dataclass(frozen=True)
class Call:
    """One write as it arrived. `body` is canonical JSON, so that equal arguments are equal text."""

    key: str
    operation: str
    service: str
    path: str
    body: str
    run: str | None


Act = Callable[[sqlite3.Connection], Effect]
P = ParamSpec("P")
B = TypeVar("B", bound=Body)


def write(
    operation: str, shape: type[B]
) -> Callable[[Callable[Concatenate[sqlite3.Connection, B, P], Effect]], Callable[P, Response]]:
    """Make a view of a function that does an effect inside the transaction it is given.

    The function takes the connection, the body read as `shape` and the path's arguments; it returns an
    Effect, or raises Problem to refuse. It must not wait for anything.
    """

    def decorate(effect: Callable[Concatenate[sqlite3.Connection, B, P], Effect]) -> Callable[P, Response]:
        @wraps(effect)
        def view(*args: P.args, **kwargs: P.kwargs) -> Response:
            call = _received(operation)
            body = _read(shape, call.body)
            return _answer(call, lambda db: effect(db, body, *args, **kwargs))

        return view

    return decorate


def _answer(call: Call, act: Act) -> Response:
    register = current_register()
    fault = faults.asked_for(register.books, call.key)
    fault.before()
    answer = register.once(call, act, fault.while_in_progress)
    fault.after()
    return answer


class Register:
    """The keys on `books` that are done, and those that are in progress in this process."""

    def __init__(self, books: Books) -> None:
        self.books = books
        self._in_progress: set[str] = set()
        self._lock = threading.Lock()

    def once(self, call: Call, act: Act, while_in_progress: Callable[[], None]) -> Response:
        """Do it, or give the first answer again. A Problem raised by `act` becomes the answer."""
        try:
            if call.key in self._in_progress:
                raise _in_progress()
            replay = _replay(self.books.reading(), call)
            return replay or self._first(call, act, while_in_progress)
        except Problem as refusal:
            return refusal.response()

    def _first(self, call: Call, act: Act, while_in_progress: Callable[[], None]) -> Response:
        with self._holding(call.key):
            try:
                with self.books.writing() as db:
                    return _replay(db, call) or _do(db, call, act)  # it may have been done since we looked
            finally:
                while_in_progress()  # outside the transaction

    @contextmanager
    def _holding(self, key: str) -> Iterator[None]:
        with self._lock:
            if key in self._in_progress:
                raise _in_progress()
            self._in_progress.add(key)
        try:
            yield
        finally:
            self._in_progress.discard(key)


def current_register() -> Register:
    """The register of the app that answers this request."""
    register: Register = current_app.extensions["register"]
    return register


def reading() -> sqlite3.Connection:
    """A connection to what is committed, for a read."""
    return current_register().books.reading()


def _do(db: sqlite3.Connection, call: Call, act: Act) -> Response:
    effect, at = act(db), now()
    result = json.dumps(effect.result)
    db.execute(
        "INSERT INTO operations VALUES (?, ?, ?, ?, ?, ?, ?)",
        (call.key, call.operation, call.path, call.body, effect.status, result, at),
    )
    db.execute(
        "INSERT INTO changes (at, service, operation, subject, detail, key, run)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (at, call.service, call.operation, effect.subject, effect.detail, call.key, call.run),
    )
    return Response(result, effect.status, mimetype="application/json")


def _replay(db: sqlite3.Connection, call: Call) -> Response | None:
    row = db.execute("SELECT * FROM operations WHERE key = ?", (call.key,)).fetchone()
    if row is None:
        return None
    if (row["path"], row["body"]) != (call.path, call.body):
        detail = "This key was used with other arguments. Nothing was done. Use a new key for a new change."
        raise Problem(422, "key-reused", "Key used with other arguments", detail)
    headers = {"Idempotent-Replayed": "true"}
    return Response(row["result"], row["status"], headers, mimetype="application/json")


def _in_progress() -> Problem:
    detail = "The first request with this key has not finished. Look the key up, or send it again later."
    return Problem(409, "in-progress", "Still in progress", detail)


def _received(operation: str) -> Call:
    key = request.headers.get("Idempotency-Key")
    if key is None or not _KEY.fullmatch(key):
        detail = "Send Idempotency-Key: up to 255 letters, digits or . _ : ~ -, the same on every attempt."
        raise Problem(400, "key-missing", "No usable Idempotency-Key", detail)
    run = request.headers.get("X-Stalwart-Run") or None
    return Call(key, operation, request.blueprint or "", request.path, _canonical(request.get_data()), run)


def _canonical(data: bytes) -> str:
    """A JSON object as text with sorted names; an empty body is an empty object."""
    try:
        body = json.loads(data or b"{}")
        text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        text.encode()
    except (ValueError, RecursionError):  # a text that is not UTF-8 is a ValueError too
        body, text = None, ""
    if not isinstance(body, dict):
        raise Problem(400, "not-json", "Not a JSON object", "Send the arguments as one JSON object in UTF-8.")
    return text


def _read(shape: type[B], body: str) -> B:
    try:
        return shape.model_validate(json.loads(body))
    except ValidationError as error:
        faulty = "; ".join(f"{_place(e['loc'])}: {e['msg']}" for e in error.errors(include_url=False))
        raise Problem(422, "arguments", "Arguments refused", f"Nothing was done. {faulty}.") from None


def _place(location: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in location) or "body"
