"""Reads a person's turn into calls: the whole turn, or none of it.

    selector = Selector([Phrase("charge_card", "charge order {order:d} {amount:F}")])
    selector.read("Please charge order 4411 40.00.").calls
    # (Call("charge_card", {"order": 4411, "amount": Decimal("40.00")}, "Please charge order 4411 40.00"),)

No model takes part and nothing is guessed: a turn with one clause that no phrase reads raises `Unread`, and
a clause that can be read in two ways raises `Ambiguous`. A language is data; English is the one there is.

Standard library and `parse` only. A reader starts at `reading.py`.
"""

from runs.selector.english import ENGLISH
from runs.selector.errors import Ambiguous, Call, PhraseError, Unread
from runs.selector.phrases import Phrase
from runs.selector.reading import Reading, Selector

__all__ = ["ENGLISH", "Ambiguous", "Call", "Phrase", "PhraseError", "Reading", "Selector", "Unread"]
