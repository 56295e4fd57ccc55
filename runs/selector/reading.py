"""The selector: a turn in; its calls out, or a refusal of the whole turn that names the parts not read."""

import unicodedata
from collections.abc import Iterable, Sequence

from runs.selector.attempts import Attempt, different
from runs.selector.calls import Reading
from runs.selector.errors import Ambiguous, Unread, ambiguous, too_many_things, unread
from runs.selector.phrases import Phrase
from runs.selector.reader import MOST_THINGS, Reader
from runs.selector.references import MOST_READINGS

LONGEST_TURN = 64 * 1024  # bytes of UTF-8


class Selector:
    """Reads turns with a set of phrases. Compiled once; keeps nothing between turns, so threads share it."""

    def __init__(
        self, phrases: Iterable[Phrase], languages: Sequence[str] = ("en",), currency: str | None = None
    ) -> None:
        """`currency` is the one money that a turn may name; None for none.

        Raises PhraseError for a phrase that could not be read without guessing, and ConfigurationError for a
        language that has not shipped or that has no name for the currency.
        """
        listed = list(phrases)
        self._readers = [Reader(code, listed, currency) for code in languages]
        self.readable = tuple(shown for reader in self._readers for shown in reader.readable)

    def read(self, text: str) -> Reading:
        """Read the whole turn.

        1. refuse what is no turn: too long, not to be shown, empty, too many things;
        2. read it in each language, as a whole: a turn is never half in one and half in another;
        3. refuse it if no language reads it (Unread), or if it can be read in two ways (Ambiguous).
        """
        _refuse_what_is_no_turn(text)
        attempts = [reader.attempt(text) for reader in self._readers]
        whole = [attempt for attempt in attempts if not attempt.unread]
        if not whole:
            raise self._unread(text, attempts)
        readings = different(reading for attempt in whole for reading in attempt.readings(MOST_READINGS + 1))
        if any(len(reading.calls) > MOST_THINGS for reading in readings):
            raise too_many_things(MOST_THINGS)
        if len(readings) > 1:
            raise _ambiguous(text, whole, readings)
        return readings[0]

    def _unread(self, text: str, attempts: Sequence[Attempt]) -> Unread:
        """The refusal in the language that reads the most of the turn, or that knows the most of its words."""
        pairs = zip(self._readers, attempts, strict=True)
        reader, best = max(pairs, key=lambda pair: (pair[1].read, pair[0].knows(text)))
        if len(self._readers) == 1:
            return unread(best.unread, reader.hint())
        names = " or ".join(reader.name for reader in self._readers)
        return unread(best.unread, f"{reader.hint(f' in {reader.name}')} A turn is in one language: {names}.")


def _refuse_what_is_no_turn(text: str) -> None:
    if len(text) > LONGEST_TURN or len(text.encode("utf-8", "surrogatepass")) > LONGEST_TURN:
        raise Unread("The turn is longer than 64 KiB. Nothing was done. Send it in parts.")
    if not text.isprintable():
        for character in text:
            if not _can_be_shown(character):
                point = f"U+{ord(character):04X}"
                raise Unread(
                    f"The turn holds a character that cannot be shown ({point}). Nothing was done. "
                    "Write it without."
                )


def _can_be_shown(character: str) -> bool:
    """Not controls, nor the invisible signs that reorder or hide text."""
    return character.isprintable() or character in "\t\r\n" or unicodedata.category(character) == "Zs"


def _ambiguous(text: str, whole: Sequence[Attempt], readings: Sequence[Reading]) -> Ambiguous:
    """The refusal of a turn that can be read in more than one way. It names the clauses where that is so.

    It is the whole turn where it is a matter of the language, or of where the clauses end.
    """
    shown = tuple(readings) if len(readings) <= MOST_READINGS else ()
    unsure = whole[0].unsure
    if len(whole) > 1 or any(way.length > 1 for ways in unsure for way in ways):
        return ambiguous((text.strip(),), [reading.text for reading in readings], shown)
    parts = tuple(ways[0].text for ways in unsure)
    return ambiguous(parts, [Reading(way.calls).text for way in unsure[0]], shown)
