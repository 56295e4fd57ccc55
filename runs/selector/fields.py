"""The types of the fields of a phrase. Each reads one value, in one way.

    d      4411                     int below 2**53, which is as far as JSON's numbers are exact (RFC 8785)
    n      3   three                int from 1: how many of something
    F      40   40.00   1,250.00    Decimal with two places, in the language's own marks; where the agent's file
                                    says its currency also $40, 40 dollars, 40.00 USD
    id     LK-645334   ch_12.b      str, case kept; has a digit, so that no plain word is taken for an id
    email  ana@shop.example         str, case kept
    q      "leave it, then go"      str without its quotation marks, case and white space kept
    d+     1, 2 and 3               any of these with a "+": two values or more, none of them twice

`parse` has types of its own called `d`, `n` and `F`, which read 0x11, nan and a sign, and it adds a sign to any
type with those names. So `parse` is given these types by other names.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from runs.errors import ConfigurationError
from runs.selector.calls import Value
from runs.selector.grammar import Grammar

LARGEST_WHOLE_NUMBER = 2**53 - 1
LONGEST_ID = 64
LONGEST_EMAIL = 254  # RFC 5321

# 40.00 and 1.250.000 are amounts, and 2026-05-01 and 1-5-2026 are days: a person who writes one does not mean an id.
_NO_ID = re.compile(r"[0-9]+(?:\.[0-9]+)+|[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{1,2}-[0-9]{1,2}-[0-9]{4}")


class NotThisType(ValueError):
    """The word has the shape of the type, and is none of its values."""


@dataclass(frozen=True)
class FieldType:
    """A type, as `parse` takes one: a pattern, without groups, and what turns the words into their value.

    `write` is the other way round. `counts`: a value of it may be one number of several, or that of all together.
    Calling it raises NotThisType for words that only look like a value.
    """

    pattern: str
    value: Callable[[str], Value]
    write: Callable[[Value], str] = str
    counts: bool = False

    def __call__(self, words: str) -> Value:
        return self.value(words)

    def reads(self, words: str) -> Value | None:
        """The value of these words of a clause; None where they are not one of this type."""
        return self._read(words, re.IGNORECASE)

    def takes(self, value: Value) -> bool:
        """Whether some words of this type have this value."""
        read = self._read(self.write(value), re.NOFLAG)
        return type(read) is type(value) and read == value

    def _read(self, words: str, flags: re.RegexFlag) -> Value | None:
        try:
            return self.value(words) if re.fullmatch(self.pattern, words, flags) else None
        except NotThisType:
            return None


@dataclass(frozen=True)
class ListType:
    """Two values or more of one type, as in "1, 2 and 3". `parse` is given the words with a space before a comma."""

    item: FieldType
    list_word: str

    @property
    def pattern(self) -> str:
        """Items with commas between, and the word of a list before the last."""
        item = self.item.pattern
        return rf"{item}(?: , {item})*(?: ,)? {self.list_word} {item}"

    def __call__(self, words: str) -> tuple[Value, ...]:
        """Raises NotThisType for a value that is no item, or is there twice."""
        item = re.compile(rf"({self.item.pattern})(?: ,)?(?: {self.list_word})?(?: |\Z)", re.IGNORECASE)
        values = tuple(self.item(found[1]) for found in item.finditer(words))
        if len(set(values)) < len(values):
            raise NotThisType(words)
        return values


class Vocabulary:
    """A language, and the types as it writes them. `currency` is the agent's; None where it names none."""

    def __init__(self, grammar: Grammar, currency: str | None = None) -> None:
        self.grammar = grammar
        self._types = _types(grammar, currency)
        self._touched = _types(grammar, None)
        self.names = tuple(self._types)

    def type(self, name: str, *, touched: bool = False) -> FieldType:
        """The type of this name. `touched`: the phrase has a sign of its own at the field, such as $ or %."""
        return (self._touched if touched else self._types)[name]

    def is_value(self, word: str) -> bool:
        """Whether the word, by itself, is a value of some type."""
        return any(type_.reads(word) is not None for type_ in self._types.values())


def _types(grammar: Grammar, currency: str | None) -> dict[str, FieldType]:
    return {
        "d": FieldType(_WHOLE, _whole, counts=True),
        "n": FieldType(_quantity_pattern(grammar), lambda words: _quantity(words, grammar), counts=True),
        "F": FieldType(
            _money_pattern(grammar, currency),
            lambda words: _money(words, grammar),
            lambda value: str(value).replace(".", grammar.decimal_mark),
            counts=True,
        ),
        "id": FieldType(_IDENTIFIER, _identifier),
        "email": FieldType(_EMAIL, _email),
        "q": FieldType(_QUOTED, _quoted, lambda value: f'"{value}"'),
    }


# No leading zeros: 0044 may name another thing than 44, and an int would not say which was written.
_WHOLE = r"(?:0|[1-9][0-9]{0,15})"
_QUANTITY = r"[1-9][0-9]{0,5}"
_IDENTIFIER = r"(?=[^ ]*[0-9])[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*"
_EMAIL = r"[A-Za-z0-9_%+-]+(?:\.[A-Za-z0-9_%+-]+)*@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+"
_QUOTED = r'"[^"]+"'


def _quantity_pattern(grammar: Grammar) -> str:
    return f"(?:{'|'.join((_QUANTITY, *grammar.quantities))})"


def _number_pattern(grammar: Grammar) -> str:
    group, decimal = re.escape(grammar.group_mark), re.escape(grammar.decimal_mark)
    whole = rf"(?:0|[1-9][0-9]{{0,2}}(?:{group}[0-9]{{3}}){{1,3}}|[1-9][0-9]{{0,11}})"
    return rf"{whole}(?:{decimal}[0-9]{{1,2}})?"


def _money_pattern(grammar: Grammar, currency: str | None) -> str:
    number = _number_pattern(grammar)
    if currency is None:
        return number
    named = grammar.currencies.get(currency)
    if named is None:
        raise ConfigurationError(
            f"the currency {currency!r} is not known in {grammar.name}; these are: {', '.join(grammar.currencies)}"
        )
    signs = "|".join(re.escape(sign) for sign in named.signs)
    words = "|".join((currency, *named.words))
    return rf"(?:(?:(?:{signs}) ?|{currency} ){number}|{number}(?: ?(?:{signs})| (?:{words}))?)"


def _whole(word: str) -> int:
    number = int(word)
    if number > LARGEST_WHOLE_NUMBER:
        raise NotThisType(word)
    return number


def _quantity(word: str, grammar: Grammar) -> int:
    return int(grammar.quantities.get(word.lower(), 0) or word)


def _money(words: str, grammar: Grammar) -> Decimal:
    number = re.sub(r"[^0-9.,]", "", words).replace(grammar.group_mark, "")
    return Decimal(number.replace(grammar.decimal_mark, ".")).quantize(Decimal("0.01"))


def _identifier(word: str) -> str:
    if len(word) > LONGEST_ID or _NO_ID.fullmatch(word):
        raise NotThisType(word)
    return word


def _email(word: str) -> str:
    if len(word) > LONGEST_EMAIL:
        raise NotThisType(word)
    return word


def _quoted(word: str) -> str:
    if not word[1:-1].strip():
        raise NotThisType(word)
    return word[1:-1]
