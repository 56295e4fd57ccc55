"""English, as data."""

import re

from runs.selector.grammar import Grammar

CONNECTIVES = (("and", "then"), ("then",), ("and",))
ARTICLES = frozenset({"the"})
COURTESIES = frozenset({"please"})

# ASCII alone: without regard to case, the long s (U+017F) would equal "s" and the Kelvin sign (U+212A) "k".
LITERAL = re.compile(r"[a-z0-9]+(?:['-][a-z0-9]+)*", re.IGNORECASE | re.ASCII)
CHARACTERS = re.compile(r"[\x20-\x7e]*")

ENGLISH = Grammar(
    name="English",
    connectives=CONNECTIVES,
    articles=ARTICLES,
    courtesies=COURTESIES,
    literal=LITERAL,
    characters=CHARACTERS,
)
