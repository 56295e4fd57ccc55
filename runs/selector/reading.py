"""The selector: a turn in; its calls out, or a refusal of the whole turn that names the parts not read."""

import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from runs.selector.clauses import Clause, split
from runs.selector.english import ENGLISH
from runs.selector.errors import Call, Unread, ambiguous, unread
from runs.selector.grammar import Grammar
from runs.selector.phrases import CompiledPhrase, Phrase, compile_phrase

LONGEST_TURN = 64 * 1024  # bytes of UTF-8
MOST_CLAUSES = 50
SHOWN_PHRASES = 20


@dataclass(frozen=True)
class Reading:
    """A turn that was read as a whole: its calls, at least one, in the order they were asked for."""

    calls: tuple[Call, ...]


class Selector:
    """Reads turns with a set of phrases. Compiled once; keeps nothing between turns, so threads share it."""

    def __init__(self, phrases: Iterable[Phrase], grammar: Grammar = ENGLISH) -> None:
        """Raises PhraseError for a phrase that could not be read without guessing."""
        self._grammar = grammar
        self._by_first_word: defaultdict[str | None, list[CompiledPhrase]] = defaultdict(list)
        shown: dict[str, None] = {}
        for compiled in (compile_phrase(phrase, grammar) for phrase in phrases):
            self._by_first_word[compiled.first].append(compiled)
            shown[compiled.shown] = None
        self.readable: tuple[str, ...] = tuple(shown)
        self._hint = _hint(self.readable)

    def read(self, text: str) -> Reading:
        """Read the whole turn.

        1. refuse what is no turn: too long, not to be shown, empty, too many clauses;
        2. read each clause with every phrase that begins as it does;
        3. refuse the turn if a clause has no reading (Unread), or more than one (Ambiguous).
        """
        self._refuse_what_is_no_turn(text)
        clauses = self._clauses(text)
        readings = [self._readings(clause) for clause in clauses]
        not_read = tuple(c.text for c, found in zip(clauses, readings, strict=True) if not found)
        if not_read:
            raise unread(not_read, self._hint)
        unsure = [(c.text, found) for c, found in zip(clauses, readings, strict=True) if len(found) > 1]
        if unsure:
            raise ambiguous(unsure[0][0], tuple(unsure[0][1]), tuple(clause for clause, _ in unsure))
        return Reading(tuple(found[0] for found in readings))

    def _refuse_what_is_no_turn(self, text: str) -> None:
        if len(text) > LONGEST_TURN or len(text.encode("utf-8", "surrogatepass")) > LONGEST_TURN:
            raise Unread("The turn is longer than 64 KiB. Nothing was done.")
        if not text.isprintable():
            for character in text:
                if not _can_be_shown(character):
                    point = f"U+{ord(character):04X}"
                    raise Unread(
                        f"The turn holds a character that cannot be shown ({point}). Nothing was done."
                    )

    def _clauses(self, text: str) -> list[Clause]:
        clauses = list(islice(split(text, self._grammar), MOST_CLAUSES + 1))
        if not clauses:
            raise Unread(f"The turn is empty. Nothing was done. {self._hint}")
        if len(clauses) > MOST_CLAUSES:
            raise Unread(f"The turn asks for more than {MOST_CLAUSES} things. Nothing was done.")
        return clauses

    def _readings(self, clause: Clause) -> list[Call]:
        """Every different call that the clause could be. None is preferred to another."""
        if clause.words is None:
            return []
        first = clause.words.partition(" ")[0].lower()
        candidates = [*self._by_first_word.get(first, ()), *self._by_first_word.get(None, ())]
        found = [call for phrase in candidates if (call := phrase.read(clause.words, clause.text))]
        return _different(found) if len(found) > 1 else found


def _different(calls: list[Call]) -> list[Call]:
    """The calls without repeats. The types count too: order 40 and amount 40.00 are equal as numbers only."""
    return list({(c.tool, frozenset((n, type(v), v) for n, v in c.args.items())): c for c in calls}.values())


def _can_be_shown(character: str) -> bool:
    """Not controls, nor the invisible signs that reorder or hide text."""
    return character.isprintable() or character in "\t\r\n" or unicodedata.category(character) == "Zs"


def _hint(readable: tuple[str, ...]) -> str:
    """What a person is told that they can write."""
    if not readable:
        return "There is nothing I can read."
    more = len(readable) - SHOWN_PHRASES
    rest = f"; and {more} more" if more > 0 else ""
    return f"I can read: {'; '.join(readable[:SHOWN_PHRASES])}{rest}."
