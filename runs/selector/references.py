"""What a turn refers back to: "the same order" is the order that an earlier clause named.

Found by the words alone, before any phrase is looked at: a value is named by the word before it ("order 4411"), and
"same order" stands for "order" and that value. Where the turn has named two orders it stands for either, and the
clause is read once with each: then it is for a person to say which. Where only one of them can be read the other
may still be meant, so the clause is not read.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise, product, zip_longest

from runs.selector.clauses import Clause
from runs.selector.fields import Vocabulary
from runs.selector.phrases import Mentions

MOST_READINGS = 8


def mentions(clauses: Sequence[Clause], vocabulary: Vocabulary) -> Iterator[Mentions]:
    """For each clause, the values that the clauses before it named, by the word before them, in small letters."""
    named: dict[str, dict[str, None]] = {}
    for clause, after in zip_longest(clauses, clauses[1:]):
        yield {noun: tuple(values) for noun, values in named.items()}
        words = (*(clause.words or ()), *_goes_on(after, vocabulary))
        for noun, value in _named(words, vocabulary):
            named.setdefault(noun, {})[value] = None


def _goes_on(after: Clause | None, vocabulary: Vocabulary) -> tuple[str, ...]:
    """The word of a list, where this clause may go on with the list of the one before it: "orders 1" "and 2"."""
    word = vocabulary.grammar.list_word
    is_list = after and after.words and after.joint[-1:] == (word,) and vocabulary.is_value(after.words[0])
    return (word,) if is_list else ()


def _named(words: tuple[str, ...], vocabulary: Vocabulary) -> Iterator[tuple[str, str]]:
    """The nouns of these words, each with its value. Neither the first of a list is one, nor "the same order 40"."""
    grammar = vocabulary.grammar
    for before, noun, value, after in zip(("", *words), words, words[1:], (*words[2:], ""), strict=False):
        is_one = before.lower() not in grammar.same and after not in (",", grammar.list_word)
        if is_one and grammar.literal.fullmatch(noun) and vocabulary.is_value(value):
            yield noun.lower(), value


def resolved(words: tuple[str, ...], named: Mentions, same: frozenset[str]) -> list[tuple[str, ...]]:
    """The words with every "same order" replaced by each order that it may stand for.

    None where there is nothing to replace, and none where there are more ways than anybody can choose from.
    """
    nouns = {
        after.lower() for word, after in pairwise(words) if word.lower() in same and after.lower() in named
    }
    choices = product(*([(noun, value) for value in named[noun]] for noun in sorted(nouns)))
    found = [_replaced(words, dict(chosen), same) for chosen in islice(choices, MOST_READINGS + 1)]
    return found if nouns and len(found) <= MOST_READINGS else []


def _replaced(words: tuple[str, ...], chosen: Mapping[str, str], same: frozenset[str]) -> tuple[str, ...]:
    found: list[str] = []
    at = 0
    while at < len(words):
        after = words[at + 1] if at + 1 < len(words) else ""
        is_reference = words[at].lower() in same and after.lower() in chosen
        found += [after, chosen[after.lower()]] if is_reference else [words[at]]
        at += 2 if is_reference else 1
    return tuple(found)
