"""What the selector says no with.

    Unread                a turn that was not read as a whole
    └── Ambiguous         it can be read in more than one way
    PhraseError           (ValueError) a phrase that could not be read without guessing

An `Unread` is for the person who wrote the turn: its message is whole sentences that say what was not read and
what to do next, and holds no character that cannot be shown. A `PhraseError` is for whoever wrote the phrase, and
comes when the agent is loaded.
"""

import re
from collections.abc import Sequence

from runs.selector.calls import Reading

SHOWN_PARTS = 5
SHOWN_CHARACTERS = 120
_OTHER_SPACE = re.compile(r"[^\S \t\r\n\u00a0]")


class Unread(Exception):
    """The turn was not read, so nothing was done.

    parts: the clauses that were not read, as the person wrote them. Empty when no clause is to blame:
    the turn is empty or too long, asks for too many things, or holds a character that cannot be shown.
    """

    def __init__(self, message: str, parts: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.parts = parts


class Ambiguous(Unread):
    """The turn can be read in more than one way, and the selector never picks.

    clause: the first part that can. readings: what the whole turn could be, each with a text that reads in that
    way alone; empty where there are too many to choose from.
    """

    def __init__(
        self, message: str, parts: tuple[str, ...] = (), clause: str = "", readings: tuple[Reading, ...] = ()
    ) -> None:
        super().__init__(message, parts)
        self.clause = clause
        self.readings = readings


class PhraseError(ValueError):
    """A phrase that could not be read without guessing. Raised when the phrases are compiled."""


def unread(parts: tuple[str, ...], readable: str) -> Unread:
    """The refusal of a turn in which no phrase read these parts."""
    return Unread(
        f"I did not read: {_list([_quote(part) for part in parts])}. Nothing was done. {readable}", parts
    )


def ambiguous(parts: tuple[str, ...], ways: Sequence[str], readings: tuple[Reading, ...]) -> Ambiguous:
    """The refusal of a turn in which the first of `parts` can be read in these ways."""
    message = (
        f"I can read {_quote(parts[0])} in more than one way: {_list([_cut(way) for way in ways], ' or ')}. "
        "Nothing was done. Write one of these in its place."
    )
    return Ambiguous(message, parts, parts[0], readings)


def too_many_things(most: int) -> Unread:
    """The refusal of a turn that nobody would look through."""
    return Unread(f"The turn asks for more than {most} things. Nothing was done. Send it in parts.")


def _list(items: Sequence[str], joint: str = ", ") -> str:
    shown = joint.join(items[:SHOWN_PARTS])
    more = len(items) - SHOWN_PARTS
    return f"{shown} and {more} more" if more > 0 else shown


def _quote(part: str) -> str:
    return f'"{_cut(part)}"'


def _cut(part: str) -> str:
    """The part on one line, cut where it is long. A space that is none here is named: it would look like one."""
    named = _OTHER_SPACE.sub(lambda space: f"(U+{ord(space[0]):04X})", part[: 2 * SHOWN_CHARACTERS])
    line = " ".join(named.split())
    cut = len(line) > SHOWN_CHARACTERS or len(part) > 2 * SHOWN_CHARACTERS
    return f"{line[:SHOWN_CHARACTERS]}…" if cut else line
