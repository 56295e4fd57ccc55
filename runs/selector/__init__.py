"""Reads a person's turn into calls: the whole turn, or none of it.

    selector = Selector([Phrase("charge_card", "charge order {order:d} {amount:F}")])
    selector.read("Please charge order 4411 40.00.").calls
    # (Call("charge_card", {"order": 4411, "amount": Decimal("40.00")}, "Please charge order 4411 40.00"),)

No model takes part and nothing is guessed: a turn with one clause that no phrase reads raises `Unread`, and
one that can be read in two ways raises `Ambiguous`, with its readings. A language is data (`languages/`).

It knows nothing of runs, Django or the database. A reader starts at `reading.py`.
"""

from runs.selector.calls import Call, Reading, written
from runs.selector.errors import Ambiguous, PhraseError, Unread
from runs.selector.grammar import Grammar, grammar, shipped
from runs.selector.phrases import Phrase
from runs.selector.reading import Selector

__all__ = [
    "Ambiguous",
    "Call",
    "Grammar",
    "Phrase",
    "PhraseError",
    "Reading",
    "Selector",
    "Unread",
    "grammar",
    "shipped",
    "written",
]
