"""One language reading a turn: every stretch of it, with every phrase."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from runs.selector.attempts import Attempt, Stretch
from runs.selector.calls import read_written
from runs.selector.clauses import Clause, split
from runs.selector.errors import Unread, too_many_things
from runs.selector.fields import Vocabulary
from runs.selector.grammar import grammar
from runs.selector.phrases import CompiledPhrase, Mentions, Phrase, compile_phrase
from runs.selector.references import mentions, resolved

MOST_THINGS = 50
SHOWN_PHRASES = 20


class Reader:
    """The phrases of one language, compiled."""

    def __init__(self, code: str, phrases: Iterable[Phrase], currency: str | None) -> None:
        self._vocabulary = Vocabulary(grammar(code), currency)
        self._by_first_word: defaultdict[str | None, list[CompiledPhrase]] = defaultdict(list)
        self._phrases = [
            compiled
            for phrase in phrases
            if phrase.language == code
            for compiled in compile_phrase(phrase, self._vocabulary)
        ]
        for compiled in self._phrases:
            self._by_first_word[compiled.first].append(compiled)
        self._list_word = self._vocabulary.grammar.list_word
        self.name = self._vocabulary.grammar.name
        whole = (compiled.shown for compiled in self._phrases if compiled.pronoun is None)
        self.readable = tuple(dict.fromkeys(whole))
        self._words = {word.lower() for shown in self.readable for word in shown.split()}

    def knows(self, text: str) -> int:
        """How many words of the text are in its phrases."""
        return sum(word in self._words for word in text.lower().split())

    def hint(self, where: str = "") -> str:
        """What a person is told that they can write."""
        if not self.readable:
            return f"There is nothing I can read{where}."
        more = len(self.readable) - SHOWN_PHRASES
        rest = f"; and {more} more" if more > 0 else ""
        return f"I can read{where}: {'; '.join(self.readable[:SHOWN_PHRASES])}{rest}."

    def attempt(self, text: str) -> Attempt:
        """Every way to read every stretch of the turn."""
        clauses = list(islice(split(text, self._vocabulary.grammar), MOST_THINGS + 1))
        if not clauses:
            raise Unread(f"The turn is empty. Nothing was done. {self.hint()}")
        if len(clauses) > MOST_THINGS:
            raise too_many_things(MOST_THINGS)
        named = list(mentions(clauses, self._vocabulary))
        stretches = tuple(
            tuple(self._stretches(text, clauses[at : at + 2], named[at])) for at in range(len(clauses))
        )
        return Attempt(tuple(clause.text for clause in clauses), stretches)

    def _stretches(self, turn: str, clauses: Sequence[Clause], named: Mentions) -> Iterator[Stretch]:
        """The stretches that begin with the first of these clauses. None is preferred to another."""
        one = clauses[0]
        call = read_written(one.text)
        if call and any(phrase.takes(call) for phrase in self._phrases):
            yield Stretch(1, (call,), one.text)
        yield from self._read(one.words or (), one.text, named, 1)
        for two in clauses[1:]:
            is_list = two.joint in ((self._list_word,), (",", self._list_word))
            if is_list and one.words and two.words:
                words = (*one.words, *two.joint, *two.words)
                yield from self._read(words, turn[one.start : two.end], named, 2)

    def _read(self, words: tuple[str, ...], text: str, named: Mentions, length: int) -> list[Stretch]:
        """The different readings of these words: as they stand, and with what they refer to in its place."""
        found = self._read_exactly(words, text, named, length)
        referring = [
            self._read_exactly(exact, text, named, length)
            for exact in resolved(words, named, self._vocabulary.grammar.same)
        ]
        if all(referring):
            found += [stretch for stretches in referring for stretch in stretches]
        return list({stretch.meaning: stretch for stretch in found}.values())

    def _read_exactly(self, words: tuple[str, ...], text: str, named: Mentions, length: int) -> list[Stretch]:
        """The readings of these words by phrases; those with a list read two clauses, the others one."""
        return [
            Stretch(length, calls, text)
            for phrase in self._phrases_for(words, length)
            for calls in phrase.read(" ".join(words), text, named)
        ]

    def _phrases_for(self, words: tuple[str, ...], length: int) -> Iterator[CompiledPhrase]:
        """The phrases that begin as these words do, or with a field; with a list, or without."""
        first = words[0].lower() if words else ""
        for phrase in (*self._by_first_word.get(first, ()), *self._by_first_word.get(None, ())):
            if (length == 1) != bool(phrase.listed):
                yield phrase
