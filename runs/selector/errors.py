"""What the selector says no with, and the call that it says yes with.

    Unread                a turn that was not read as a whole
    └── Ambiguous         one of its clauses can be read in more than one way
    PhraseError           (ValueError) a phrase that could not be read without guessing

An `Unread` is for the person who wrote the turn: its message is whole sentences, and holds no character that
cannot be shown. A `PhraseError` is for whoever wrote the phrase, and comes when the agent is loaded.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

Value = int | str | Decimal

SHOWN_PARTS = 5
SHOWN_CHARACTERS = 120


@dataclass(frozen=True)
class Call:
    """One clause, read.

    tool  the name of the tool to call
    args  what the clause gave, by name: int for `d`, Decimal with two places for `F`, str for the other types
    text  the clause in the person's own words, without what joins it to the next
    """

    tool: str
    args: dict[str, Value]
    text: str


class Unread(Exception):
    """The turn was not read, so nothing was done.

    parts: the clauses that were not read, as the person wrote them. Empty when no clause is to blame:
    the turn is empty or too long, asks for too many things, or holds a character that cannot be shown.
    """

    def __init__(self, message: str, parts: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.parts = parts


class Ambiguous(Unread):
    """A clause can be read in more than one way, and the selector never picks.

    clause: the first such clause. readings: the calls that it could be.
    """

    def __init__(
        self, message: str, parts: tuple[str, ...] = (), clause: str = "", readings: tuple[Call, ...] = ()
    ) -> None:
        super().__init__(message, parts)
        self.clause = clause
        self.readings = readings


class PhraseError(ValueError):
    """A phrase that could not be read without guessing. Raised when the phrases are compiled."""


def unread(parts: tuple[str, ...], readable: str) -> Unread:
    """The refusal of a turn in which no phrase read these parts."""
    return Unread(f"I did not read: {_list(parts)}. Nothing was done. {readable}", parts)


def ambiguous(clause: str, readings: tuple[Call, ...], parts: tuple[str, ...]) -> Ambiguous:
    """The refusal of a turn in which this clause, the first of `parts`, has these readings."""
    ways = " or ".join(_describe(call) for call in readings)
    message = f"I can read {_quote(clause)} in more than one way: {ways}. Nothing was done."
    return Ambiguous(message, parts, clause, readings)


def _list(parts: tuple[str, ...]) -> str:
    shown = ", ".join(_quote(part) for part in parts[:SHOWN_PARTS])
    more = len(parts) - SHOWN_PARTS
    return f"{shown} and {more} more" if more > 0 else shown


def _quote(part: str) -> str:
    """The part on one line, cut where it is long."""
    line = " ".join(part[: 2 * SHOWN_CHARACTERS].split())
    cut = len(line) > SHOWN_CHARACTERS or len(part) > 2 * SHOWN_CHARACTERS
    return f'"{line[:SHOWN_CHARACTERS]}…"' if cut else f'"{line}"'


def _describe(call: Call) -> str:
    return f"{call.tool} ({_pairs(call.args.items())})" if call.args else call.tool


def _pairs(args: Iterable[tuple[str, Value]]) -> str:
    return ", ".join(f"{name} {_quote(value) if isinstance(value, str) else value}" for name, value in args)
