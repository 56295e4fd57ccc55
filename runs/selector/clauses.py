"""A turn into clauses, by its connectives and full stops alone, before any phrase is looked at.

    turn     :=  [connective] clause (joint clause)* ["."]
    joint    :=  "." | ["," | "."] connective [","]

A "." or "," counts only before white space or the end, so 40.00, 1,250.00 and ana@shop.example are words.
Quotation marks are straight or curly, in pairs of one kind, and what they hold is never split. A mark
without its pair takes the rest of the turn with it, so that what may have been meant as quoted is never read
as a request.
"""

import re
from collections.abc import Iterator
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


class Token(NamedTuple):
    """A word, a mark ("," or "."), or a stray quotation mark with all that follows it."""

    kind: str
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Clause:
    """A clause as written, and its words.

    words  normalised: no optional words, straight quotation marks, one space between; None when the clause
           cannot be read in this language, whatever the phrases are
    text   the person's own words; where a clause is missing, the connectives around the gap
    """

    words: str | None
    text: str


def split(turn: str, grammar: Grammar) -> Iterator[Clause]:
    """The clauses of a turn, in order. A turn of white space has none."""
    tokens = [Token(m.lastgroup or "", m[0], m.start(), m.end()) for m in _TOKEN.finditer(turn)]
    begin, joint = 0, (0, 0)  # the clause's first token; the joint before it, as tokens [from, to)
    at = 0
    while at < len(tokens):
        length = _joint(tokens, at, grammar)
        leading = at == 0 and tokens[0].kind == "word"
        if length and not leading:
            yield _clause(turn, tokens, begin, at, (joint[0], at + length), grammar)
        if length:
            joint = (at, at + length)
            begin = at + length
        at += length or 1
    ended = tokens and begin == len(tokens) and _is_stop(tokens, joint)
    if tokens and not ended:
        yield _clause(turn, tokens, begin, at, joint, grammar)


def _joint(tokens: list[Token], at: int, grammar: Grammar) -> int:
    """How many tokens from `at` on join two clauses; 0 for none."""
    after_mark = at + (tokens[at].kind == "mark")
    for connective in grammar.connectives:
        end = after_mark + len(connective)
        if tuple(token.text.lower() for token in tokens[after_mark:end]) == connective:
            return end + (tokens[end : end + 1] != [] and tokens[end].text == ",") - at
    return int(tokens[at].kind == "mark" and tokens[at].text == ".")


def _is_stop(tokens: list[Token], joint: tuple[int, int]) -> bool:
    """Whether the joint is a full stop alone, which may end a turn. A connective may not."""
    return joint[1] - joint[0] == 1 and tokens[joint[0]].kind == "mark"


def _clause(
    turn: str, tokens: list[Token], begin: int, end: int, around: tuple[int, int], grammar: Grammar
) -> Clause:
    """The clause of the tokens [begin, end); where there are none, a gap named by the tokens around it."""
    if begin == end:
        return Clause(None, turn[tokens[around[0]].start : tokens[around[1] - 1].end])
    return Clause(_words(tokens[begin:end], grammar), turn[tokens[begin].start : tokens[end - 1].end])


def _words(tokens: list[Token], grammar: Grammar) -> str | None:
    if any(token.kind == "stray" for token in tokens):
        return None
    kept = [_plain(token.text) for token in _needed(tokens, grammar)]
    if not all(grammar.characters.fullmatch(_QUOTED_TEXT.sub("", word)) for word in kept):
        return None
    return " ".join(kept) or None


def _needed(tokens: list[Token], grammar: Grammar) -> Iterator[Token]:
    """The tokens without the optional words, and without the commas that set off a courtesy."""
    folded = ["", *(token.text.lower() for token in tokens), ""]
    for before, token, after in zip(folded, tokens, folded[2:], strict=False):
        sets_off = token.text == "," and (before in grammar.courtesies or after in grammar.courtesies)
        if not sets_off and token.text.lower() not in grammar.optional:
            yield token


def _plain(word: str) -> str:
    """The word with straight quotation marks and apostrophes; what the marks hold stays as it is."""
    if word.isascii():
        return word
    return "".join(_straight(part) for part in re.split(f"({_QUOTED})", word))


def _straight(part: str) -> str:
    if part[:1] in ('"', "\u201c"):
        return f'"{part[1:-1]}"'
    return part.replace("\u2019", "'")
