"""A phrase, and its compilation: every check that makes reading a clause never a guess is made here, once."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import parse  # type: ignore[import-untyped]

from runs.selector.calls import Call
from runs.selector.clauses import needed
from runs.selector.errors import PhraseError
from runs.selector.fields import FieldType, ListType, NotThisType, Vocabulary

# A field is a word of its own. The signs that may touch it are ones no type reads, so they move no boundary.
_FIELD_WORD = re.compile(
    r"(?P<before>[#$]?)\{(?P<name>[^{}:]*)(?::(?P<type>[^{}+]*)(?P<list>\+?))?\}(?P<after>%?)"
)
# "[order {order:d}]": words, of which the last is the noun, and one field.
_CALLED_IT = re.compile(r"(?<!\S)\[(?P<inside>[^\[\]{}]*[^\[\]{}\s]\s+\{[^{}]*\})\](?!\S)")

Mentions = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Phrase:
    """How a person asks for a tool.

    tool      the tool's name; a tool may have several phrases
    says      the words and the typed fields: "charge order {order:d} {amount:F}" (types: `fields.py`). A field with
              a "+" is a list, which is one call for each item: "charge orders {order:d+} {amount:F} each". What
              stands in brackets may be called "it": "send receipt for [order {order:d}]"
    language  the code of its language
    """

    tool: str
    says: str
    language: str = "en"


@dataclass(frozen=True)
class Pronoun:
    """A pronoun of a phrase, and what it stands for: this field, with a value that follows this noun elsewhere."""

    noun: str
    field: str
    type: FieldType


@dataclass(frozen=True)
class CompiledPhrase:
    """A phrase that reads clauses.

    fields   the type of each argument; of a list, the type of its items
    listed   the field that is a list, or ''
    pronoun  where the phrase has "it" in place of a field
    first    the clause's first word, in small letters, when that is a word and not a field
    shown    the phrase as a person is shown it: charge order <order> <amount>
    """

    phrase: Phrase
    parser: parse.Parser
    fields: Mapping[str, FieldType]
    listed: str
    first: str | None
    shown: str
    pronoun: Pronoun | None = None

    def read(self, words: str, text: str, mentions: Mentions) -> Iterator[tuple[Call, ...]]:
        """What a clause may ask for: its `words` are normalised, its `text` is the person's.

        `mentions` are the values that the turn named before it, by their noun.
        """
        try:
            found = self.parser.parse(words)
        except NotThisType:
            return
        if isinstance(found, parse.Result):
            for args in self._arguments(dict(found.named), mentions):
                yield tuple(Call(self.phrase.tool, each, text) for each in args)

    def _arguments(self, args: dict[str, Any], mentions: Mentions) -> Iterator[list[dict[str, Any]]]:
        """The arguments of each call; once for every value that a pronoun may stand for."""
        if self.listed:
            yield [args | {self.listed: item} for item in args[self.listed]]
        elif self.pronoun is None:
            yield [args]
        else:
            read = [self.pronoun.type.reads(words) for words in mentions.get(self.pronoun.noun, ())]
            if None not in read:  # a value that does not fit may still be what is meant
                yield from ([args | {self.pronoun.field: value}] for value in read)

    def takes(self, call: Call) -> bool:
        """Whether the phrase could ask for this call."""
        return (
            call.tool == self.phrase.tool
            and call.args.keys() == self.fields.keys()
            and all(self.fields[name].takes(value) for name, value in call.args.items())
        )


def compile_phrase(phrase: Phrase, vocabulary: Vocabulary) -> Iterator[CompiledPhrase]:
    """The phrase, without its optional words; and once more with "it" where it says what that stands for.

    Raises PhraseError for a phrase without a word of its own, with a connective or with signs; for a field
    that touches other text, has no type or an unknown one, or whose name is no identifier or is there twice; and for
    a list whose calls would share a number that is not said to be of each of them.
    """
    if not phrase.tool:
        raise PhraseError(f'"{phrase.says}": the phrase names no tool.')
    says = phrase.says.removesuffix(".")
    called_it = list(_CALLED_IT.finditer(says))
    if len(called_it) > 1:
        raise _error(
            phrase, "only one part of it can be in brackets, or it would not be known which is meant"
        )
    whole = _compile(phrase, _CALLED_IT.sub(r"\g<inside>", says), vocabulary)
    yield whole
    for found in called_it:
        pronoun = _pronoun(phrase, found["inside"], whole)
        for it in vocabulary.grammar.pronouns:
            yield replace(_compile(phrase, _CALLED_IT.sub(it, says), vocabulary), pronoun=pronoun)


def _pronoun(phrase: Phrase, inside: str, whole: CompiledPhrase) -> Pronoun:
    noun, field = inside.split()[-2:]
    name = field.strip("{}").partition(":")[0]
    if name == whole.listed:
        raise _error(phrase, "a list cannot be in brackets")
    return Pronoun(noun.lower(), name, whole.fields[name])


def _compile(phrase: Phrase, says: str, vocabulary: Vocabulary) -> CompiledPhrase:
    spelled = says.split()
    words = [spelled[at] for at in needed([word.lower() for word in spelled], vocabulary.grammar)]
    fields: dict[str, FieldType | ListType] = {}
    formats = [_format(phrase, word, fields, vocabulary) for word in words]
    if all("{" in word or word.lower() in vocabulary.grammar.articles for word in words):
        raise _error(phrase, "it has no word of its own, so it would read what other phrases are for")
    _refuse_connectives(phrase, words, vocabulary)
    listed = _list_of(phrase, words, fields, vocabulary)
    parser = parse.compile(" ".join(formats), {f"of_{name}": type_ for name, type_ in fields.items()})
    parser.parse("")  # `parse` compiles its expression at the first use: do that now
    items = {name: type_.item if isinstance(type_, ListType) else type_ for name, type_ in fields.items()}
    first = None if "{" in words[0] else words[0].lower()
    shown = " ".join(_show(word, vocabulary) for word in words)
    return CompiledPhrase(phrase, parser, items, listed, first, shown)


def _refuse_connectives(phrase: Phrase, words: list[str], vocabulary: Vocabulary) -> None:
    for connective in vocabulary.grammar.joints:
        for at in range(len(words)):
            found = words[at : at + len(connective)]
            if tuple(word.lower() for word in found) == connective:
                said = " ".join(found)
                raise _error(phrase, f'"{said}" joins two requests, so a turn would be split at it')


def _format(
    phrase: Phrase, word: str, fields: dict[str, FieldType | ListType], vocabulary: Vocabulary
) -> str:
    """The word as `parse` is given it; a field is added to `fields`."""
    grammar = vocabulary.grammar
    if "{" in word or "}" in word:
        return _field(phrase, word, fields, vocabulary)
    if not grammar.literal.fullmatch(word):
        raise _error(phrase, f'"{word}" is not a plain {grammar.name} word')
    return word


def _field(phrase: Phrase, word: str, fields: dict[str, FieldType | ListType], vocabulary: Vocabulary) -> str:
    match = _FIELD_WORD.fullmatch(word)
    if match is None:
        raise _error(phrase, f'"{word}" is not one field with a space on either side')
    name = match["name"]
    if not (name.isascii() and name.isidentifier() and name[0].isalpha()):
        raise _error(phrase, f'"{name}" cannot be the name of an argument')
    if name in fields:
        raise _error(phrase, f"the field {name} is there twice")
    fields[name] = _type(phrase, match, vocabulary)
    return f"{match['before']}{{{name}:of_{name}}}{match['after']}"


def _type(phrase: Phrase, match: re.Match[str], vocabulary: Vocabulary) -> FieldType | ListType:
    name, type_ = match["name"], match["type"]
    if type_ not in vocabulary.names:
        known = ", ".join(vocabulary.names)
        problem = f"has the unknown type {type_}" if type_ else "has no type"
        raise _error(phrase, f"the field {name} {problem}; the types are {known}")
    touched = bool(match["before"] or match["after"])
    if touched and match["list"]:
        raise _error(phrase, f"the list {name} has a sign at it, which would be of one item alone")
    found = vocabulary.type(type_, touched=touched)
    return ListType(found, vocabulary.grammar.list_word) if match["list"] else found


def _list_of(
    phrase: Phrase, words: list[str], fields: Mapping[str, FieldType | ListType], vocabulary: Vocabulary
) -> str:
    """The one field that is a list, or ''."""
    lists = [name for name, type_ in fields.items() if isinstance(type_, ListType)]
    if len(lists) > 1:
        raise _error(phrase, "it has two lists, and which items belong together would be a guess")
    shared = any(isinstance(type_, FieldType) and type_.counts for type_ in fields.values())
    each = vocabulary.grammar.each
    if lists and shared and each not in (word.lower() for word in words):
        raise _error(phrase, f'a number beside a list is of each item or of all of them: say "{each}"')
    return lists[0] if lists else ""


def _show(word: str, vocabulary: Vocabulary) -> str:
    item = r"\g<before><\g<name>>\g<after>"
    match = _FIELD_WORD.fullmatch(word)
    if match and match["list"]:
        item = f"{item}, … {vocabulary.grammar.list_word} {item}"
    return match.expand(item) if match else word


def _error(phrase: Phrase, problem: str) -> PhraseError:
    return PhraseError(f'{phrase.tool} says "{phrase.says}": {problem}.')
