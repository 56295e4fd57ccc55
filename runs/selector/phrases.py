"""A phrase, and its compilation: every check that makes reading a clause never a guess is made here, once."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import parse  # type: ignore[import-untyped]

from runs.selector.errors import Call, PhraseError, Value
from runs.selector.fields import NAMES, TYPES, NotThisType
from runs.selector.grammar import Grammar

# A field is a word of its own. The signs that may touch it are ones no type reads, so they move no boundary.
_FIELD_WORD = re.compile(r"(?P<before>[#$]?)\{(?P<name>[^{}:]*)(?::(?P<type>[^{}]*))?\}(?P<after>%?)")


@dataclass(frozen=True)
class Phrase:
    """How a person asks for a tool.

    tool  the tool's name; a tool may have several phrases
    says  the words and the typed fields: "charge order {order:d} {amount:F}" (types: `fields.py`)
    """

    tool: str
    says: str


@dataclass(frozen=True)
class CompiledPhrase:
    """A phrase that reads clauses.

    first  the clause's first word, in small letters, when that is a word and not a field
    shown  the phrase as a person is shown it: charge order <order> <amount>
    """

    phrase: Phrase
    parser: parse.Parser
    first: str | None
    shown: str

    def read(self, words: str, text: str) -> Call | None:
        """The call in a clause whose `words` are normalised and whose `text` is the person's, or None."""
        try:
            found = self.parser.parse(words)
        except NotThisType:
            return None
        if not isinstance(found, parse.Result):
            return None
        return Call(self.phrase.tool, cast(dict[str, Value], dict(found.named)), text)


def compile_phrase(phrase: Phrase, grammar: Grammar) -> CompiledPhrase:
    """Compile a phrase, without its optional words.

    Raises PhraseError for a phrase without a word of its own, with a connective or with signs; for a field
    that touches other text, has no type or an unknown one, or whose name is no identifier or is there twice.
    """
    if not phrase.tool:
        raise PhraseError(f'"{phrase.says}": the phrase names no tool.')
    words = [w for w in phrase.says.removesuffix(".").split() if w.lower() not in grammar.optional]
    formats = list(_formats(phrase, words, grammar))
    if not any("{" not in word for word in words):
        raise _error(phrase, "it has no word of its own, so it would read what other phrases are for")
    parser = parse.compile(" ".join(formats), TYPES)
    parser.parse("")  # `parse` compiles its expression at the first use: do that now
    first = None if "{" in words[0] else words[0].lower()
    return CompiledPhrase(phrase, parser, first, " ".join(_show(word) for word in words))


def _formats(phrase: Phrase, words: list[str], grammar: Grammar) -> Iterator[str]:
    """Each word as `parse` is given it."""
    names: set[str] = set()
    for word in words:
        if "{" in word or "}" in word:
            yield _field(phrase, word, names)
        else:
            yield _literal(phrase, word, grammar)


def _literal(phrase: Phrase, word: str, grammar: Grammar) -> str:
    if word.lower() in grammar.connective_words:
        raise _error(phrase, f'"{word}" joins two requests, so a turn would be split at it')
    if not grammar.literal.fullmatch(word):
        raise _error(phrase, f'"{word}" is not a plain {grammar.name} word')
    return word


def _field(phrase: Phrase, word: str, names: set[str]) -> str:
    """Check a field, add its name to `names`, and return it under the name that `parse` has for its type."""
    match = _FIELD_WORD.fullmatch(word)
    if match is None:
        raise _error(phrase, f'"{word}" is not one field with a space on either side')
    name, type_ = match["name"], match["type"]
    if not (name.isascii() and name.isidentifier() and name[0].isalpha()):
        raise _error(phrase, f'"{name}" cannot be the name of an argument')
    if name in names:
        raise _error(phrase, f"the field {name} is there twice")
    if type_ not in NAMES:
        known = ", ".join(NAMES)
        problem = f"has the unknown type {type_}" if type_ else "has no type"
        raise _error(phrase, f"the field {name} {problem}; the types are {known}")
    names.add(name)
    return f"{match['before']}{{{name}:{NAMES[type_]}}}{match['after']}"


def _show(word: str) -> str:
    return _FIELD_WORD.sub(r"\g<before><\g<name>>\g<after>", word)


def _error(phrase: Phrase, problem: str) -> PhraseError:
    return PhraseError(f'{phrase.tool} says "{phrase.says}": {problem}.')
