"""What a turn refers back to: "the same order" is the order that an earlier clause named.

Found by the words alone, before any phrase is looked at: a value is named by the word before it ("order 4411"), and
"same order" stands for "order" and that value. Where the turn has named two orders it stands for either, and the
clause is read once with each: then it is for a person to say which.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise, product

from runs.selector.clauses import Clause
from runs.selector.fields import Vocabulary
from runs.selector.phrases import Mentions

MOST_READINGS = 8


def mentions(clauses: Sequence[Clause], vocabulary: Vocabulary) -> Iterator[Mentions]:
    """For each clause, the values that the clauses before it named, by the word before them, in small letters."""
    named: dict[str, dict[str, None]] = {}
    for clause in clauses:
        yield {noun: tuple(values) for noun, values in named.items()}
        for noun, value in _named(clause.words or (), vocabulary):
            named.setdefault(noun, {})[value] = None


def _named(words: tuple[str, ...], vocabulary: Vocabulary) -> Iterator[tuple[str, str]]:
    """The nouns of these words, each with the value after it. "The same order 40" names no order 40."""
    for before, noun, value in zip(("", *words), words, words[1:], strict=False):
        is_noun = vocabulary.grammar.literal.fullmatch(noun) and before.lower() not in vocabulary.grammar.same
        if is_noun and vocabulary.is_value(value):
            yield noun.lower(), value


def resolved(words: tuple[str, ...], named: Mentions, vocabulary: Vocabulary) -> list[tuple[str, ...]]:
    """The words, and the words with every "same order" replaced by each order that it may stand for.

    None at all where there are more ways than anybody can choose from.
    """
    same = vocabulary.grammar.same
    nouns = {
        after.lower() for word, after in pairwise(words) if word.lower() in same and after.lower() in named
    }
    if not nouns:
        return [words]
    choices = product(*([(noun, value) for value in named[noun]] for noun in sorted(nouns)))
    found = [_replaced(words, dict(chosen), same) for chosen in islice(choices, MOST_READINGS + 1)]
    return [words, *found] if len(found) <= MOST_READINGS else []


def _replaced(words: tuple[str, ...], chosen: Mapping[str, str], same: frozenset[str]) -> tuple[str, ...]:
    found: list[str] = []
    at = 0
    while at < len(words):
        after = words[at + 1] if at + 1 < len(words) else ""
        is_reference = words[at].lower() in same and after.lower() in chosen
        found += [after, chosen[after.lower()]] if is_reference else [words[at]]
        at += 2 if is_reference else 1
    return tuple(found)
