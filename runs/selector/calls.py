"""A call, a reading, and the form in which a call is written so that it reads in one way alone.

    charge_card(order=4411, amount=40.00)
    add_note(note="leave it, then go", order=7)

Whole numbers, money with two places, and text in quotation marks; the same in every language. A phrase holds no
"(", so no phrase ever reads such a clause, and what is printed can be sent back as it is.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

Value = int | str | Decimal

_FORM = re.compile(r"(?P<tool>[^\W\d]\w*)\((?P<args>.*)\)", re.DOTALL)
_VALUE = r'"[^"]*"|[0-9]{1,12}\.[0-9]{2}|[0-9]{1,16}'
_ARGUMENT = re.compile(rf"(?P<name>[A-Za-z_][A-Za-z0-9_]*)=(?P<value>{_VALUE})(?:, |\Z)")


@dataclass(frozen=True)
class Call:
    """One clause, read; of a list, one of its items.

    tool  the name of the tool to call
    args  what the clause gave, by name: int for `d` and `n`, Decimal with two places for `F`, str for the others
    text  the clause in the person's own words, without what joins it to the next
    """

    tool: str
    args: dict[str, Value]
    text: str

    @property
    def meaning(self) -> tuple[str, frozenset[tuple[str, type, Value]]]:
        """Equal for equal calls. The types count too: order 40 and amount 40.00 are equal as numbers only."""
        return self.tool, frozenset((name, type(value), value) for name, value in self.args.items())


@dataclass(frozen=True)
class Reading:
    """A turn that was read as a whole: its calls, in the order they were asked for."""

    calls: tuple[Call, ...]

    @property
    def meaning(self) -> tuple[object, ...]:
        """Equal for readings that ask for equal calls."""
        return tuple(call.meaning for call in self.calls)

    @property
    def text(self) -> str:
        """A turn that asks for these calls, and can be read in no other way."""
        return ". ".join(map(written, self.calls))


def written(call: Call) -> str:
    """The call as a clause that nothing else reads."""
    return f"{call.tool}({', '.join(f'{name}={_write(value)}' for name, value in call.args.items())})"


def read_written(text: str) -> Call | None:
    """The call in a clause that is written exactly like that. Whether a turn may ask for it is not looked at."""
    form = _FORM.fullmatch(text)
    if form is None:
        return None
    call = Call(form["tool"], dict(_arguments(form["args"])), text)
    return call if written(call) == text else None


def _arguments(text: str) -> Iterator[tuple[str, Value]]:
    found = _ARGUMENT.match(text)
    while found:
        yield found["name"], _read(found["value"])
        found = _ARGUMENT.match(text, found.end())


def _write(value: Value) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def _read(value: str) -> Value:
    if value.startswith('"'):
        return value[1:-1]
    return Decimal(value) if "." in value else int(value)
