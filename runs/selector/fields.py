"""The types of the fields of a phrase. Each reads exactly one word (quoted text is one word), in one way.

    d      4411                     int below 2**53, which is as far as JSON's numbers are exact (RFC 8785)
    F      40   40.00   1,250.00    Decimal with two places
    id     LK-645334   ch_12.b      str, case kept; has a digit, so that no plain word is taken for an id
    email  ana@shop.example         str, case kept
    q      "leave it, then go"      str without its quotation marks, case and white space kept

`parse` has types of its own called `d` and `F`, which read 0x11, nan and a sign, and it adds a sign to any
type with those names. So `parse` is given these types by their long names.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from runs.selector.errors import Value

LARGEST_WHOLE_NUMBER = 2**53 - 1
LONGEST_ID = 64
LONGEST_EMAIL = 254  # RFC 5321

_DECIMAL_NUMBER = re.compile(r"[0-9]+\.[0-9]+")


class NotThisType(ValueError):
    """The word has the shape of the type, and is none of its values."""


@dataclass(frozen=True)
class FieldType:
    """A type, as `parse` takes one: a pattern, without groups, and what turns the word into its value.

    Calling it raises NotThisType for a word that only looks like one.
    """

    pattern: str
    value: Callable[[str], Value]

    def __call__(self, word: str) -> Value:
        return self.value(word)


def _whole(word: str) -> int:
    number = int(word)
    if number > LARGEST_WHOLE_NUMBER:
        raise NotThisType(word)
    return number


def _money(word: str) -> Decimal:
    return Decimal(word.replace(",", "")).quantize(Decimal("0.01"))


def _identifier(word: str) -> str:
    if len(word) > LONGEST_ID or _DECIMAL_NUMBER.fullmatch(word):
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


# No leading zeros: 0044 may name another thing than 44, and an int would not say which was written.
_WHOLE = r"(?:0|[1-9][0-9]{0,15})"
_MONEY = r"(?:0|[1-9][0-9]{0,2}(?:,[0-9]{3}){1,3}|[1-9][0-9]{0,11})(?:\.[0-9]{1,2})?"
_IDENTIFIER = r"(?=[^ ]*[0-9])[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*"
_EMAIL = r"[A-Za-z0-9_%+-]+(?:\.[A-Za-z0-9_%+-]+)*@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+"
_QUOTED = r'"[^"]+"'

# As a phrase names the type -> as `parse` is given it.
NAMES = {"d": "whole", "F": "money", "id": "identifier", "email": "address", "q": "quoted"}
TYPES = {
    "whole": FieldType(_WHOLE, _whole),
    "money": FieldType(_MONEY, _money),
    "identifier": FieldType(_IDENTIFIER, _identifier),
    "address": FieldType(_EMAIL, _email),
    "quoted": FieldType(_QUOTED, _quoted),
}
