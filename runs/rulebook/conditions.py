"""Conditions in CEL: compiled once when the rules are read, asked of each call.

A condition may use `args, user, thread, run, history` and the functions of runs/rulebook/money.py. Amounts are
text: as text, '100.00' is below '40.00', so a condition that compares one in any other way is refused.
"""

import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runs.rulebook.arguments import amounts_of, types_of
from runs.rulebook.money import FUNCTIONS
from runs.rulebook.tokens import Chain, Mentions, mentions
from runs.tools.registry import Tool

# The library brings a command line of its own along, a fifth of the start of any `stalwart` command: it is loaded with
# the first condition, and most commands read none.
if TYPE_CHECKING:
    import cel

# What a condition may name, and the fields of each that are known; `args` depends on the tool.
FACTS: Mapping[str, frozenset[str]] = {
    "args": frozenset(),
    "user": frozenset(),
    "thread": frozenset({"id", "agent"}),
    "run": frozenset({"id", "task", "ticket", "subject", "started_by"}),
    "history": frozenset(),
}
# The functions of CEL that conditions have a use for.
KNOWN = frozenset(
    "contains duration double endsWith int matches size startsWith string timestamp uint".split()  # noqa: SIM905
)
FAILURES = (KeyError, ValueError, TypeError, ArithmeticError, RuntimeError, IndexError)
MOST = 2000  # characters
DEEPEST = 2  # a macro in a macro
MOST_PAIRS = 100_000  # that a macro in a macro looks through: half a second
EXACT = re.compile(r"""(['"])[0-9]+(\.[0-9]+)?\1|[0-9]+""")  # how an amount is written in a condition

# What a function of ours raises is the error of the expression; the library would print it too.
logging.getLogger("cel").addHandler(logging.NullHandler())
logging.getLogger("cel").propagate = False


class ConditionFailed(Exception):
    """A condition could not be told; the message says why. The call is refused."""


@dataclass(frozen=True)
class Condition:
    """A compiled condition. `names` are those of FACTS that it uses, `depth` how deep its macros stand."""

    source: str
    program: "cel.Program"
    names: frozenset[str]
    depth: int = 0

    def holds(self, facts: Mapping[str, Any]) -> bool:
        """Whether it is true of these facts. Raises ConditionFailed."""
        if self.depth == DEEPEST and _longest(facts) ** 2 > MOST_PAIRS:
            raise ConditionFailed(
                "it would look through too much: a macro in a macro, over lists that are too long"
            )
        try:
            found = _asked(self.program, facts)
        except FAILURES as error:
            raise ConditionFailed(_plainly(error)) from None
        if not isinstance(found, bool):
            raise ConditionFailed(f"it gave {type(found).__name__}, and not true or false")
        return found

    @property
    def constant(self) -> bool | None:
        """What it always gives, where it gives the same whatever the facts are."""
        found = _constant(self.program)
        return found if isinstance(found, bool) else None


def condition(source: str, tools: Iterable[Tool], catalogue: Iterable[Tool]) -> Condition:
    """Compile a condition of a rule about these tools. Raises ValueError with what is wrong and what to do."""
    import cel

    if len(source) > MOST:
        raise ValueError(f"a condition has at most {MOST} characters")
    try:
        program = cel.compile(source)
    except ValueError as error:
        raise ValueError(_first_line(error)) from None
    said = mentions(source)
    _refuse_endless(said)
    _refuse_unknown_functions(program)
    _refuse_constants(program)
    _refuse_unknown_names(said, tuple(tools))
    _refuse_text_of_money(said, tuple(tools), tuple(catalogue))
    names = frozenset(chain.root for chain in said.chains) & frozenset(FACTS)
    return Condition(source, program, names, said.depth)


def _asked(program: "cel.Program", facts: Mapping[str, Any]) -> Any:
    """What it gives of these facts. Raises one of FAILURES."""
    import cel

    return program.execute(cel.Context(dict(facts), dict(FUNCTIONS)))


def _longest(value: Any) -> int:
    """The length of the longest list in it, or of the longest mapping: a macro walks over either."""
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return max([len(inner), *map(_longest, inner)])


def _refuse_endless(said: Mentions) -> None:
    """What could take time or memory without bound, and be stopped by nobody while it does."""
    if "map" in said.macros:
        raise ValueError("map makes new lists, which may grow without bound; ask with exists, all or filter")
    if said.depth > DEEPEST:
        raise ValueError("a macro in a macro in a macro looks through too much; two deep is the most")


def _refuse_unknown_functions(program: "cel.Program") -> None:
    named = {name for name in program.functions() if name.isidentifier() and not name.startswith("_")}
    unknown = named - KNOWN - set(FUNCTIONS)  # what is no identifier is an operator
    if unknown:
        known = ", ".join((*FUNCTIONS, *sorted(KNOWN)))
        raise ValueError(f"there is no function called {min(unknown)}; there are {known}")


def _refuse_constants(program: "cel.Program") -> None:
    """A constant that is neither true nor false; true and false are found by `stalwart rules show`."""
    found = _constant(program)
    if found is not None and not isinstance(found, bool):
        raise ValueError(f"it is always {found!r}, and a condition is true or false")


def _constant(program: "cel.Program") -> Any:
    """What it gives whatever the facts are, or None."""
    try:
        return _asked(program, {})
    except FAILURES:
        return None


def _refuse_unknown_names(said: Mentions, tools: tuple[Tool, ...]) -> None:
    for chain in said.chains:
        if chain.root in said.bound:
            continue
        if chain.root not in FACTS:
            raise ValueError(f"there is no {chain.root}; a condition may use {', '.join(FACTS)}")
        first = chain.parts[0] if chain.parts else ""
        if FACTS[chain.root] and first not in FACTS[chain.root]:
            raise ValueError(f"{chain.root} has {', '.join(sorted(FACTS[chain.root]))}; name one of them")
        if chain.root == "user" and first:
            raise ValueError("user is text and has no fields")
        if chain.root == "args":
            _refuse_unknown_argument(first, tools)
            _refuse_another_type(chain, tools)


def _refuse_unknown_argument(name: str, tools: tuple[Tool, ...]) -> None:
    for tool in tools:
        if name and name not in tool.arguments.model_fields:
            known = ", ".join(tool.arguments.model_fields)
            raise ValueError(f"{tool.name} has no argument called {name}; it has: {known or 'none'}")


def _refuse_another_type(chain: Chain, tools: tuple[Tool, ...]) -> None:
    """A whole number never equals text, nor text a number: such a rule would never fire, or always."""
    kinds = {_kind(literal) for literal in chain.compared_with} - {None}
    for tool in tools if len(chain.parts) == 1 and not chain.method else ():
        types = set(types_of(tool.arguments.model_fields[chain.parts[0]].annotation)) - {type(None)}
        if (types == {int} and "text" in kinds) or (types == {str} and "number" in kinds):
            is_, written = ("a whole number", "4411") if types == {int} else ("text", "'4411'")
            raise ValueError(f"{chain} is {is_}; compare it with one, such as {chain} == {written}")


def _kind(literal: str) -> str | None:
    return "text" if literal[:1] in ("'", '"') else "number" if literal[:1].isdigit() else None


def _refuse_text_of_money(said: Mentions, tools: tuple[Tool, ...], catalogue: tuple[Tool, ...]) -> None:
    """An amount stands only as an argument of a function of ours, in has(), or beside `== null`."""
    here = {name for tool in tools for name in amounts_of(tool)}
    anywhere = here | {name for tool in catalogue for name in amounts_of(tool)}
    for chain in said.chains:
        _refuse_whole_arguments(chain)
        if not (here if chain.root == "args" else anywhere) & set(chain.parts):
            continue
        exact = chain.is_argument and not chain.method and chain.inside in {"has", *FUNCTIONS}
        if not (exact or chain.is_compared_with_null):
            raise ValueError(
                f"{chain} is an amount, and amounts are text: compare it as above({chain}, '100.00'), "
                f"with one of {', '.join(FUNCTIONS)}"
            )
    for function, literal in said.literals:
        if function in FUNCTIONS:
            _refuse_inexact(function, literal)


def _refuse_whole_arguments(chain: Chain) -> None:
    """Through the arguments as a whole an amount could be reached without being named."""
    if (*(("args",) if chain.root == "args" else ()), *chain.parts)[-1:] == ("args",):
        raise ValueError(
            f"{chain} is all arguments at once; name the one that is meant, such as {chain}.order"
        )


def _refuse_inexact(function: str, literal: str) -> None:
    if not EXACT.fullmatch(literal):
        raise ValueError(f"{function}(…, {literal}): an amount is exact, and is written as '100.00'")


def _plainly(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"there is no {error.args[0]}"
    text = _first_line(error)
    _, _, ours = text.partition("Python function call failed: NotAnAmount: ")
    return (ours or text).partition(". ")[0][:200]  # the library goes on with advice


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
