"""What a condition mentions: its chains such as `args.amount`, and what stands around each of them.

The library compiles and evaluates; it shows no syntax tree. What the check of a condition must know, above all that no
amount is compared by an operator, can be told from its tokens as long as it is strict: what is not plainly one
of the forms below is refused.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

TOKEN = re.compile(
    r"""
      (?P<space> \s+ | //[^\n]* )
    | (?P<text> (?: [rR][bB]? | [bB][rR] ) (?: '''.*?''' | \""".*?\""" | '[^'\n]*' | "[^"\n]*" )
              | [bB]? (?: '''(?:\\.|[^\\])*?''' | \"""(?:\\.|[^\\])*?\"""
                        | '(?:\\.|[^'\\\n])*' | "(?:\\.|[^"\\\n])*" ) )
    | (?P<number> 0x[0-9a-fA-F]+u? | \d+(?:\.\d+)?(?:[eE][-+]?\d+)?u? | \.\d+(?:[eE][-+]?\d+)? )
    | (?P<name> [A-Za-z_][A-Za-z0-9_]* )
    | (?P<mark> && | \|\| | [<>=!]= | [-+*/%<>!?:.,(){}\[\]] )
    """,
    re.VERBOSE | re.DOTALL,
)
PLAIN_TEXT = re.compile(r"""(['"])([^'"\\]*)\1""")
WORDS = frozenset({"in", "true", "false", "null"})
COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
MACROS = frozenset({"all", "exists", "exists_one", "map", "filter"})


@dataclass(frozen=True)
class Token:
    """A piece of the source: text, number, name or mark."""

    kind: str
    source: str


@dataclass(frozen=True)
class Chain:
    """A name with the fields that follow it: `args.items[0].price` is ('args', ('items', '0', 'price')).

    `before` and `after` are the tokens around it, `inside` the function whose brackets it stands in, `method`
    what is called on it. `earlier` is the token before `before`.
    """

    root: str
    parts: tuple[str, ...]
    before: str
    after: tuple[str, str]
    inside: str
    method: str = ""
    earlier: str = ""

    def __str__(self) -> str:
        return ".".join((self.root, *self.parts))

    @property
    def is_argument(self) -> bool:
        """It is a whole argument of the function that it stands in."""
        return bool(self.inside) and self.before in ("(", ",") and self.after[0] in (",", ")")

    @property
    def is_compared_with_null(self) -> bool:
        """`chain == null` and `chain != null` say nothing of an amount but whether it is there."""
        starts = self.before in ("", "(", "&&", "||", "!", ",", "?", ":")
        return starts and self.after[0] in ("==", "!=") and self.after[1] == "null"

    @property
    def compared_with(self) -> tuple[str, ...]:
        """The tokens on the other side of a comparison."""
        left = (self.earlier,) if self.before in COMPARISONS else ()
        return left + ((self.after[1],) if self.after[0] in COMPARISONS else ())


@dataclass(frozen=True)
class Mentions:
    """What a condition mentions. `literals` are the texts and numbers that are arguments: (function, source)."""

    chains: tuple[Chain, ...]
    bound: frozenset[str]  # the names that its macros bind
    literals: tuple[tuple[str, str], ...]
    macros: frozenset[str]  # the macros that it uses
    depth: int  # how deep they stand in one another: 2 for a.exists(x, b.exists(y, …))


def mentions(source: str) -> Mentions:
    """What this expression mentions. Raises ValueError for what cannot be told from its tokens."""
    tokens = list(_tokens(source))
    inside = list(_inside(tokens))
    literals = (
        (inside[index], token.source)
        for index, token in enumerate(tokens)
        if token.kind in ("text", "number") and inside[index]
    )
    bound, macros = frozenset(_bound(tokens)), frozenset(tokens[at].source for at in _macros(tokens))
    return Mentions(tuple(_chains(tokens, inside)), bound, tuple(literals), macros, _depth(tokens))


def _tokens(source: str) -> Iterator[Token]:
    position = 0
    while position < len(source):
        found = TOKEN.match(source, position)
        if found is None:
            raise ValueError(f"{source[position]!r} is not understood")
        position = found.end()
        if found.lastgroup and found.lastgroup != "space":
            yield Token(found.lastgroup, found.group())


def _inside(tokens: list[Token]) -> Iterator[str]:
    """For each token, the function in whose brackets it stands; '' where those are no function's."""
    calls: list[str] = []
    for index, token in enumerate(tokens):
        yield calls[-1] if calls else ""
        if token.source in ("(", "[", "{"):
            calls.append(
                tokens[index - 1].source if token.source == "(" and _is_name(tokens, index - 1) else ""
            )
        elif token.source in (")", "]", "}") and calls:
            calls.pop()


def _chains(tokens: list[Token], inside: list[str]) -> Iterator[Chain]:
    index = 0
    while index < len(tokens):
        token, before = tokens[index], _at(tokens, index - 1)
        if token.source == "[" and (
            before in (")", "]", "}") or _kind(tokens, index - 1) in ("text", "number")
        ):
            raise ValueError("an index follows a name; write it out as one chain, such as history[0].tool")
        if not _is_name(tokens, index) or _at(tokens, index + 1) == "(":
            index += 1  # a mark, a literal, or a function
            continue
        if before == ".":
            raise ValueError(
                f"the field {token.source} follows no name; write it out as one chain, such as args.order"
            )
        index, chain = _chain(tokens, index, inside[index])
        yield chain


def _chain(tokens: list[Token], start: int, inside: str) -> tuple[int, Chain]:
    """The chain that starts here, and the index after it."""
    parts: list[str] = []
    index, method = start + 1, ""
    while not method:
        if _at(tokens, index) == "[":
            parts.append(_index(tokens, index))
            index += 3
        elif _at(tokens, index) != "." or not _is_name(tokens, index + 1):
            break
        elif _at(tokens, index + 2) == "(":
            method, index = tokens[index + 1].source, index + 2
        else:
            parts.append(tokens[index + 1].source)
            index += 2
    around = (_at(tokens, index), _at(tokens, index + 1))
    before, earlier = _at(tokens, start - 1), _at(tokens, start - 2)
    chain = Chain(tokens[start].source, tuple(parts), before, around, inside, method, earlier)
    return index, chain


def _index(tokens: list[Token], opened: int) -> str:
    """What is between these square brackets: a number, or plain text."""
    if _at(tokens, opened + 2) == "]":
        inner = tokens[opened + 1]
        plain = PLAIN_TEXT.fullmatch(inner.source)
        if inner.kind == "number" or plain:
            return plain.group(2) if plain else inner.source
    raise ValueError("an index is a number or plain text, such as args['order']")


def _bound(tokens: list[Token]) -> Iterator[str]:
    for dot, macro, bracket, name, comma in zip(*(tokens[shift:] for shift in range(5)), strict=False):
        if (dot.source, bracket.source, comma.source) == (".", "(", ",") and macro.source in MACROS:
            yield name.source


def _macros(tokens: list[Token]) -> Iterator[int]:
    """Where a macro is used."""
    for at, token in enumerate(tokens):
        if token.source in MACROS and (_at(tokens, at - 1), _at(tokens, at + 1)) == (".", "("):
            yield at


def _depth(tokens: list[Token]) -> int:
    opens = {at + 1 for at in _macros(tokens)}
    brackets: list[bool] = []
    deepest = 0
    for at, token in enumerate(tokens):
        if token.source in ("(", "[", "{"):
            brackets.append(at in opens)
            deepest = max(deepest, sum(brackets))
        elif token.source in (")", "]", "}") and brackets:
            brackets.pop()
    return deepest


def _at(tokens: list[Token], index: int) -> str:
    return tokens[index].source if 0 <= index < len(tokens) else ""


def _kind(tokens: list[Token], index: int) -> str:
    return tokens[index].kind if 0 <= index < len(tokens) else ""


def _is_name(tokens: list[Token], index: int) -> bool:
    return _kind(tokens, index) == "name" and tokens[index].source not in WORDS
