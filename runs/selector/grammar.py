"""What the selector needs to know of a language. A language is one value of `Grammar`, and no code."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Grammar:
    """A language as data. Every word is written in small letters; capitals are free in a turn.

    connectives  what joins two clauses, each as its words, the longest first
    articles     words that may be left out, or put in, anywhere
    courtesies   the same, and a comma may set them off ("…, please")
    literal      what a word of a phrase looks like
    characters   what a turn may hold outside quotation marks
    """

    name: str
    connectives: tuple[tuple[str, ...], ...]
    articles: frozenset[str]
    courtesies: frozenset[str]
    literal: re.Pattern[str]
    characters: re.Pattern[str]

    @property
    def optional(self) -> frozenset[str]:
        """The words that change nothing."""
        return self.articles | self.courtesies

    @property
    def connective_words(self) -> frozenset[str]:
        """The words that a phrase cannot hold, because a turn is split at them."""
        return frozenset(word for connective in self.connectives for word in connective)
