"""Canonical JSON, idempotency keys and approval digests.

A key names one intended change; a digest names exactly what a person saw. Both are SHA-256 over the
canonical JSON of RFC 8785, so that every process, machine and language computes the same.
"""

import hashlib
import math
from decimal import Decimal
from typing import Any

import rfc8785

MAX_BYTES = 64 * 1024
MAX_DEPTH = 20
MAX_INTEGER = 2**53 - 1  # the largest integer that JSON readers agree on (RFC 8785, I-JSON)


def jsonable(value: Any, *, large_as_text: bool = False) -> Any:
    """`value` as JSON that survives every reader: Decimal becomes its plain string.

    Raises ValueError for what JSON cannot carry exactly: floats that are not finite, numbers from 2^53 on (with
    `large_as_text` they become strings), NUL in text, more than 20 levels, keys that are not text, other types.
    """
    return _jsonable(value, 0, large_as_text)


def _jsonable(value: Any, depth: int, large_as_text: bool) -> Any:
    if depth > MAX_DEPTH:
        raise ValueError(f"more than {MAX_DEPTH} levels deep")
    if isinstance(value, str):
        return _text(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Decimal):
        return _decimal(value)
    if isinstance(value, int | float):
        return _number(value, large_as_text)
    if isinstance(value, dict):
        return {_key(key): _jsonable(item, depth + 1, large_as_text) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(item, depth + 1, large_as_text) for item in value]
    raise ValueError(f"{type(value).__name__} is not JSON")


def _text(value: str) -> str:
    if "\x00" in value:
        raise ValueError("text with a NUL character")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("text that is not valid Unicode") from None
    return value


def _key(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("an object key that is not text")  # noqa: TRY004 (one error for all of it)
    return _text(value)


def _number(value: float, large_as_text: bool) -> int | float | str:
    """Small enough that the database, which keeps 1e16 as a whole number, gives back what it was given."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("NaN or Infinity is not JSON")
    if abs(value) <= MAX_INTEGER:
        return value
    if not large_as_text:
        raise ValueError("a number from 2^53 on; send it as a string")
    return str(value)


def _decimal(value: Decimal) -> str:
    if not value.is_finite():
        raise ValueError("NaN or Infinity is not an amount")
    return format(value, "f")


def canonical(value: Any) -> bytes:
    """The RFC 8785 bytes of `value`, at most 64 KiB. Raises ValueError."""
    data = rfc8785.dumps(jsonable(value))
    if len(data) > MAX_BYTES:
        raise ValueError(f"more than {MAX_BYTES // 1024} KiB")
    return data


def sha256(value: Any) -> str:
    """64 hex digits over the canonical JSON of `value`."""
    return hashlib.sha256(rfc8785.dumps(jsonable(value))).hexdigest()


def step_key(thread: str, step: int, tool: str, args: dict[str, Any]) -> str:
    """The key of a change that is named by its place in a thread (S0)."""
    return sha256({"thread": thread, "step": step, "tool": tool, "args": args})


def action_key(ticket: str, tool: str, args: dict[str, Any]) -> str:
    """The key of a change that is the same in every run of its ticket (S4)."""
    return sha256({"ticket": ticket, "tool": tool, "args": args})
