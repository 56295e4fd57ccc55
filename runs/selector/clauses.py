"""A turn into clauses, by its connectives and full stops alone, before any phrase is looked at.

    turn     :=  [connective] clause (joint clause)* ["."]
    joint    :=  "." | ["," | "."] connective [","]

A "." or "," counts only before white space or the end, so 40.00, 1,250.00 and ana@shop.example are words.
Quotation marks are straight or curly, in pairs of one kind, and what they hold is never split. A mark
without its pair takes the rest of the turn with it, so that what may have been meant as quoted is never read
as a request.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from runs.selector.grammar import Grammar

_SPACE = r" \t\r\n\u00a0"
_QUOTED = r'"[^"\u201c\u201d]*"|\u201c[^"\u201c\u201d]*\u201d'
_MARK = rf"[.,](?=[{_SPACE}]|\Z)"
_WORD = rf'(?:{_QUOTED}|[^{_SPACE}"\u201c\u201d.,]|[.,](?![{_SPACE}]|\Z))+'
_STRAY = r'["\u201c\u201d].*'
_TOKEN = re.compile(f"(?P<mark>{_MARK})|(?P<word>{_WORD})|(?P<stray>{_STRAY})", re.DOTALL)
_QUOTED_TEXT = re.compile(_QUOTED)
MOST_WORDS = (
    500  # of one clause, marks among them: more than any phrase has, and any list that is carried out
)
_COMPOSED_OF_TWO = re.compile("[A-Za-z][\u0300-\u036f]")
# A digit, a quotation mark or an @; in a phrase, a field.
_VALUE = re.compile('[0-9"@{]')


class Token(NamedTuple):
    """A word, a mark ("," or "."), or a stray quotation mark with all that follows it."""

    kind: str
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Clause:
    """A clause as written, and its words.

    words  normalised: no optional words, straight quotation marks, letters with their accents in one character;
           None when the clause cannot be read in this language, whatever the phrases are
    text   the person's own words; where a clause is missing, the connectives around the gap
    joint  what joins it to the clause before, word by word, in small letters
    start  where its text begins and ends in the turn
    """

    words: tuple[str, ...] | None
    text: str
    joint: tuple[str, ...]
    start: int
    end: int


def split(turn: str, grammar: Grammar) -> Iterator[Clause]:
    """The clauses of a turn, in order. A turn of white space has none."""
    tokens = [Token(m.lastgroup or "", m[0], m.start(), m.end()) for m in _TOKEN.finditer(turn)]
    begin, joint = 0, (0, 0)  # the clause's first token; the joint before it, as tokens [from, to)
    at = 0
    while at < len(tokens):
        length = _joint(tokens, at, grammar)
        leading = at == 0 and tokens[0].kind == "word"
        if length and not leading:
            after = (joint[0], at + length)
            yield _clause(turn, tokens[begin:at], tokens[slice(*after)], tokens[slice(*joint)], grammar)
        if length:
            joint = (at, at + length)
            begin = at + length
        at += length or 1
    before = tokens[slice(*joint)]
    ended = begin == len(tokens) and _is_stop(before)
    if tokens and not ended:
        yield _clause(turn, tokens[begin:at], before, before, grammar)


def needed(words: Sequence[str], grammar: Grammar) -> list[int]:
    """Which of these words, in small letters, say something: all but courtesies, their commas, and articles.

    An article before a value counts: "order a 4411" may be meant as order A4411.
    """
    polite = _polite(words, grammar)
    kept = [at for at in range(len(words)) if at not in polite]
    following = (*(words[at] for at in kept[1:]), "")
    return [
        at
        for at, after in zip(kept, following, strict=False)
        if words[at] not in grammar.articles or _VALUE.search(after)
    ]


def _polite(words: Sequence[str], grammar: Grammar) -> set[int]:
    """Where the courtesies stand, and the commas that set them off."""
    found: set[int] = set()
    at = 0
    while at < len(words):
        length = next((len(c) for c in grammar.polite if tuple(words[at : at + len(c)]) == c), 0)
        if length:
            around = (at - 1, at + length)
            found.update(range(at, at + length))
            found.update(place for place in around if 0 <= place < len(words) and words[place] == ",")
        at += length or 1
    return found


def _joint(tokens: list[Token], at: int, grammar: Grammar) -> int:
    """How many tokens from `at` on join two clauses; 0 for none."""
    if tokens[at].kind == "word" and tokens[at].text.lower() not in grammar.connective_words:
        return 0  # as nearly all are
    after_mark = at + (tokens[at].kind == "mark")
    for connective in grammar.joints:
        end = after_mark + len(connective)
        if _folded(tokens[after_mark:end]) == connective:
            return end + (tokens[end : end + 1] != [] and tokens[end].text == ",") - at
    return int(tokens[at].kind == "mark" and tokens[at].text == ".")


def _is_stop(joint: list[Token]) -> bool:
    """Whether the joint is a full stop alone, which may end a turn. A connective may not."""
    return len(joint) == 1 and joint[0].kind == "mark"


def _folded(tokens: list[Token]) -> tuple[str, ...]:
    return tuple(token.text.lower() for token in tokens)


def _clause(
    turn: str, tokens: list[Token], around: list[Token], joint: list[Token], grammar: Grammar
) -> Clause:
    """The clause of these tokens; where there are none, a gap named by the tokens around it."""
    start, end = (tokens or around)[0].start, (tokens or around)[-1].end
    words = _words(tokens, grammar) if tokens else None
    return Clause(words, turn[start:end], _folded(joint), start, end)


def _words(tokens: list[Token], grammar: Grammar) -> tuple[str, ...] | None:
    if len(tokens) > MOST_WORDS or any(token.kind == "stray" for token in tokens):
        return None
    plain = [_plain(token.text) for token in tokens]
    kept = tuple(plain[at] for at in needed([word.lower() for word in plain], grammar))
    if not all(grammar.characters.fullmatch(_QUOTED_TEXT.sub("", word)) for word in kept):
        return None
    return kept or None


def _plain(word: str) -> str:
    """The word as a phrase has it; what quotation marks hold stays as it is."""
    if word.isascii():
        return word
    return "".join(_straight(part) for part in re.split(f"({_QUOTED})", word))


def _straight(part: str) -> str:
    if part[:1] in ('"', "\u201c"):
        return f'"{part[1:-1]}"'
    composed = _COMPOSED_OF_TWO.sub(lambda two: unicodedata.normalize("NFC", two[0]), part)
    return composed.replace("\u2019", "'")
