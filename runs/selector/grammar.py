"""What the selector knows of a language: a file of data, `languages/<code>/grammar.yaml`, and no code.

A language ships by having its folder here. Every English test has its twin in each language that ships
(tests/unit/selector/languages/).
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from runs.errors import ConfigurationError
from runs.yamlfile import Strict, YamlFile

LANGUAGES = Path(__file__).parent / "languages"
CURRENCY_CODE = r"^[A-Z]{3}$"  # ISO 4217


def _small(text: str) -> str:
    if not text or text != " ".join(text.lower().split()):
        raise ValueError(f'"{text}" must be one or more words in small letters, one space between')
    return text


def _longest_first(texts: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    return tuple(sorted((tuple(text.split()) for text in texts), key=len, reverse=True))


Words = Annotated[str, AfterValidator(_small)]
Word = Annotated[Words, Field(pattern=r"^\S+$")]
Mark = Literal[".", ","]


class Currency(Strict):
    """How one money is named: signs before or after the number, words after it."""

    signs: tuple[Annotated[str, Field(pattern=r"^[^\w\s.,]$|^[A-Z]{1,2}\$$")], ...]
    words: tuple[Word, ...]


class Grammar(Strict):
    """A language as data; the file says what each part is for. Every word is in small letters."""

    name: str = Field(min_length=1)
    letters: str = Field(pattern=r"^[^\W\d_a-z]*$")
    connectives: tuple[Words, ...] = Field(min_length=1)
    articles: frozenset[Word]
    courtesies: tuple[Words, ...]
    list_word: Word
    each: Word
    same: frozenset[Word]
    pronouns: tuple[Word, ...] = Field(min_length=1)
    decimal_mark: Mark
    group_mark: Mark
    quantities: Mapping[Word, Annotated[int, Field(ge=1)]]
    currencies: Mapping[Annotated[str, Field(pattern=CURRENCY_CODE)], Currency]

    @model_validator(mode="after")
    def _fits_together(self) -> "Grammar":
        if self.decimal_mark == self.group_mark:
            raise ValueError("decimal_mark and group_mark are the same, so 1,250 could be two amounts")
        if self.list_word not in self.connectives:
            raise ValueError(f'the list_word "{self.list_word}" is not among the connectives')
        known: set[str] = set()
        for word in self._roles():
            if not self.literal.fullmatch(word):
                raise ValueError(f'"{word}" has a letter that is not in a to z or in letters')
            if word in known:
                raise ValueError(f'"{word}" has two meanings: each word may have one')
            known.add(word)
        return self

    def _roles(self) -> Iterator[str]:
        """Every word, once for each part of the grammar that it is in."""
        yield from self.connective_words
        yield from {word for courtesy in self.courtesies for word in courtesy.split()}
        yield from (*self.articles, self.each, *self.same, *self.pronouns, *self.quantities)
        yield from {word for currency in self.currencies.values() for word in currency.words}

    @cached_property
    def joints(self) -> tuple[tuple[str, ...], ...]:
        """The connectives, each as its words, the longest first."""
        return _longest_first(self.connectives)

    @cached_property
    def polite(self) -> tuple[tuple[str, ...], ...]:
        """The courtesies, each as its words, the longest first."""
        return _longest_first(self.courtesies)

    @cached_property
    def connective_words(self) -> frozenset[str]:
        """The words that a phrase cannot hold, because a turn is split at them."""
        return frozenset(word for connective in self.joints for word in connective)

    @cached_property
    def literal(self) -> re.Pattern[str]:
        """What a word of a phrase looks like.

        Each letter is listed, in both cases. Without regard to case, the long s (U+017F) would equal "s" and the
        Kelvin sign (U+212A) "k".
        """
        letter = f"[A-Za-z0-9{self._letters}]"
        return re.compile(rf"{letter}+(?:['-]{letter}+)*")

    @cached_property
    def characters(self) -> re.Pattern[str]:
        """What a word of a turn may hold outside quotation marks."""
        signs = "".join(sign for currency in self.currencies.values() for sign in currency.signs)
        return re.compile(rf"[\x20-\x7e{self._letters}{re.escape(signs)}]*")

    @property
    def _letters(self) -> str:
        return self.letters + self.letters.upper()


@cache
def shipped() -> tuple[str, ...]:
    """The codes of the languages that ship."""
    return tuple(sorted(path.parent.name for path in LANGUAGES.glob("*/grammar.yaml")))


@cache
def grammar(code: str) -> Grammar:
    """The language of this code (BCP 47). Raises ConfigurationError for one that has not shipped."""
    if code not in shipped():
        raise ConfigurationError(f"the language {code!r} has not shipped; these have: {', '.join(shipped())}")
    return read_grammar(LANGUAGES / code / "grammar.yaml")


def read_grammar(path: Path) -> Grammar:
    """A file as a grammar. Raises ConfigurationError with the file, the line and what is wrong there."""
    return YamlFile(path).parse(Grammar)
