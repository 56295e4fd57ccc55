"""Until when a write can be undone: `reversible_until` of its tool.

| it says | the undo is possible |
| --- | --- |
| `48h` | that long after the write was first sent (s, m, h, d) |
| `$result.collected_at`, `$args.departure` | until the moment in that field: ISO 8601, with its zone |
| `collection` | for as long as the tool of that name says, which is given the key of the write |

@tool
def collection(call: Call, key: str) -> Window:
    found = courier.find(call, key)
    return closed() if found["status"] == "collected" else until(found["pickup_at"])

A field that holds no such moment, and a tool that fails, close nothing: the undo is tried, and its service decides.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from runs.tools.bindings import source
from runs.tools.dispatch import storable
from runs.tools.registry import Call, Tool

SAYS = frozenset({"open", "closed", "failed"})
DURATION = re.compile(r"(\d{1,6})([smhd])")
UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


@dataclass(frozen=True)
class Window:
    """`said` is open (`until` when, or None: no end is known), closed, or failed: the tool itself."""

    said: str
    until: datetime | None = None
    error: str = ""


def until(moment: datetime | str) -> Window:
    """It can be undone until then: an aware datetime, or ISO 8601 with a zone. Raises ValueError."""
    found = _moment(moment)
    if found is None:
        raise ValueError(f"{moment!r} is not a moment: a date, a time and a zone are needed")
    return Window("open", found)


def still_open() -> Window:
    """It can be undone now; until when is not known."""
    return Window("open")


def closed() -> Window:
    """Nothing undoes it any more."""
    return Window("closed")


def ask_until_when(tool: Tool, call: Call) -> Window:
    """Ask a window's tool about `call.key`. Never raises: a tool that fails says so."""
    try:
        answer = tool.run({"key": call.key}, call)
    except Exception as error:  # noqa: BLE001 (one that fails is an answer)
        return Window("failed", error=storable(f"{type(error).__name__}: {error}"))
    if not isinstance(answer, Window) or answer.said not in SAYS:  # an unknown word would read as "open"
        return Window("failed", error=f"{tool.name} must return until(…), still_open() or closed()")
    return answer


def duration(text: str) -> timedelta | None:
    """`48h` as a length of time; None where it is not one."""
    found = DURATION.fullmatch(text)
    return timedelta(**{UNITS[found[2]]: int(found[1])}) if found else None


def closes_at(
    said: str, args: Mapping[str, Any], result: Any, sent_at: datetime | None, asked: datetime | None
) -> datetime | None:
    """When the window of a write closes, as far as it is known. `asked` is what its tool said last."""
    if said.startswith("$"):
        return _moment(source(said, args, result))
    length = duration(said)
    if length is not None:
        return sent_at + length if sent_at else None
    return asked


def asks_tool(said: str) -> bool:
    """Whether a tool must be asked: `reversible_until` names one."""
    return said.isidentifier()


def words(said: str) -> str:
    """What ends it, in words: `collection`, `collected at`, `48h after it was sent`."""
    if duration(said) is not None:
        return f"{said} after it was sent"
    return said.rpartition(".")[2].replace("_", " ")


def is_well_formed(said: str) -> bool:
    """One of the three."""
    fields = re.fullmatch(r"\$(args|result)(\.\w+)+", said)
    return bool(fields) or duration(said) is not None or said.isidentifier()


def _moment(value: Any) -> datetime | None:
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        return None
    known = isinstance(found, datetime) and found.tzinfo is not None and 1 < found.year < 9999
    return found if known else None
