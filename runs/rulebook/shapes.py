"""`rules.yaml` as it is written: what a rule may say, and of which kind it is.

    rules:
      large_charges:
        tools: charge_card
        when: above(args.amount, '500.00')
        ask: lead

Each rule has a name, names its tools, and is of one kind: order, cap, refuse, ask, four_eyes, only_in or hours.
"""

import json
import re
import zoneinfo
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BeforeValidator, Field, model_validator

from runs.digest import sha256
from runs.roles import Role
from runs.rulebook.conditions import Condition
from runs.yamlfile import Strict

Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
DAYS: tuple[Day, ...] = get_args(Day)
# What the check itself says (runs/rulebook/check.py, runs/moves.py): no rule is called like that.
RESERVED = frozenset(
    {
        "approved",
        "arguments_not_valid",
        "being_undone_elsewhere",
        "confirm",
        "in_flight_elsewhere",
        "performed_before",
        "proposed_again",
        "text_of_others",
        "tool_not_of_agent",
        "undone_since",
    }
)
NAME = re.compile(r"[a-z][a-z0-9_]{0,59}")
MONEY = re.compile(r"[0-9]+(\.[0-9]+)?")
TIME = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]|24:00")


def _several(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _zone(value: str) -> str:
    try:
        zoneinfo.ZoneInfo(value)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"there is no time zone called {value!r}; write one such as Europe/Lisbon") from None
    return value


def _amount(value: object) -> object:
    if not isinstance(value, str) or not MONEY.fullmatch(value) or len(value) > 40:
        raise ValueError('an amount is exact: write it as text such as "500.00"')
    return value


def _moment(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool) and 60 <= value <= 24 * 60:
        value = "{:02}:{:02}".format(*divmod(value, 60))  # YAML reads 10:30 as a number of minutes
    if not isinstance(value, str) or not TIME.fullmatch(value):
        raise ValueError('write a time of the day as text such as "09:00"')
    return value


Names = Annotated[tuple[str, ...], BeforeValidator(_several), Field(min_length=1)]  # one name, or a list
Scope = Literal["run", "thread", "user", "ticket", "day"]
Scopes = Annotated[tuple[Scope, ...], BeforeValidator(_several), Field(min_length=1)]
Days = Annotated[tuple[Day, ...], BeforeValidator(_several), Field(min_length=1)]
Zone = Annotated[str, BeforeValidator(_zone)]
Amount = Annotated[str, BeforeValidator(_amount)]
Moment = Annotated[str, BeforeValidator(_moment)]


class Order(Strict):
    """The tool runs only after all of `after`, or after one of `after_one_of`, ran in the same conversation.

    `same` says which arguments must be equal: a name or a list of names that both calls have, or a mapping from
    an argument of the tool to `$args.x` or `$result.y` of the earlier call. With `net`, what was undone since
    does not count.
    """

    after: Names | None = None
    after_one_of: Names | None = None
    same: Annotated[dict[str, str], BeforeValidator(lambda value: _same(value))] = Field(default_factory=dict)
    net: bool = False

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools that must have run."""
        return self.after or self.after_one_of or ()

    @model_validator(mode="after")
    def _one_list(self) -> Self:
        if (self.after is None) == (self.after_one_of is None):
            raise ValueError("an order rule needs `after` (all of them) or `after_one_of`, and not both")
        return self


def _same(value: object) -> object:
    names = _several(value)
    if isinstance(names, list) and all(isinstance(name, str) for name in names):
        return {name: f"$args.{name}" for name in names}
    if isinstance(names, dict) and not all(
        isinstance(source, str) and re.fullmatch(r"\$(args|result)(\.\w+)+", source)
        for source in names.values()
    ):
        raise ValueError("write `$args.<name>` or `$result.<field>` of the earlier call")
    return names


class Cap(Strict):
    """At most `count` calls, or at most `most` as the sum of the argument `sum`, in each of `per`.

    What is in flight or unknown counts. With `net`, what was undone does not. A day is one of `zone`.
    """

    count: Annotated[int, Field(strict=True, ge=0)] | None = None
    sum: str | None = None
    most: Amount | None = None
    per: Scopes
    net: bool = False
    zone: Zone = "UTC"

    @property
    def limit(self) -> Decimal:
        """The largest total that passes."""
        return Decimal(self.most if self.most is not None else self.count or 0)

    def day(self, now: datetime) -> tuple[datetime, datetime]:
        """The day of this cap that `now` is in: its start, and that of the next one."""
        return _day_of(now, self.zone)

    @model_validator(mode="after")
    def _one_measure(self) -> Self:
        counts, sums = self.count is not None, self.sum is not None and self.most is not None
        if counts == sums or (counts and (self.sum or self.most)):
            raise ValueError("a cap needs `count`, or `sum` (an argument) with `most` (an amount)")
        if "day" not in self.per and "zone" in self.model_fields_set:
            raise ValueError("a zone is for a cap per day")
        return self


@lru_cache(16)
def _day_of(now: datetime, zone: str) -> tuple[datetime, datetime]:
    place = zoneinfo.ZoneInfo(zone)
    today = now.astimezone(place).date()
    start, end = (datetime.combine(day, time(), place) for day in (today, today + timedelta(days=1)))
    return start, end


class Hours(Strict):
    """The tool runs only from `from` until before `to`, by the clock of `zone`; a night belongs to its first day."""

    days: Days = ("mon", "tue", "wed", "thu", "fri")
    start: Moment = Field(alias="from")
    end: Moment = Field(alias="to")
    zone: Zone

    def holds(self, now: datetime) -> bool:
        """Whether `now` is within them."""
        local = now.astimezone(zoneinfo.ZoneInfo(self.zone))
        clock, today, yesterday = f"{local:%H:%M}", DAYS[local.weekday()], DAYS[local.weekday() - 1]
        if self.start < self.end:
            return today in self.days and self.start <= clock < self.end
        return (today in self.days and clock >= self.start) or (yesterday in self.days and clock < self.end)

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if self.start == self.end:
            raise ValueError("`from` and `to` are the same, so there is no time between them")
        return self


KINDS = ("order", "cap", "refuse", "ask", "four_eyes", "only_in", "hours")


class RuleSection(Strict):
    """One rule: which tools it speaks of, when, and what it says. Exactly one of KINDS is given.

    A rule speaks of every call of its tools, undos among them unless `undos: false`; ask and four_eyes rules
    never ask about an undo, which the person approved with its write.
    """

    tools: Names
    when: str | None = None
    undos: bool = True
    because: str = Field(default="", max_length=200)
    order: Order | None = None
    cap: Cap | None = None
    refuse: Literal[True] | None = None
    ask: Role | None = None
    four_eyes: Literal[True] | None = None
    only_in: Names | None = None
    hours: Hours | None = None

    @property
    def kind(self) -> str:
        """Which of KINDS it is."""
        return next(kind for kind in KINDS if getattr(self, kind) is not None)

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        found = [kind for kind in KINDS if getattr(self, kind) is not None]
        if len(found) != 1:
            said = f"and not {' and '.join(found)}" if found else "and it has none"
            raise ValueError(f"a rule is of one kind ({', '.join(KINDS)}), {said}")
        return self


def _named(value: object) -> object:
    for name in value if isinstance(value, dict) else ():
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise ValueError(f"{name}: a rule's name is a-z, 0-9 and _, starts with a letter, 60 at most")
        if name in RESERVED:
            raise ValueError(f"{name}: this is a word of the check itself; call the rule something else")
    return value


class RulesFile(Strict):
    """The whole file."""

    rules: Annotated[dict[str, RuleSection], BeforeValidator(_named)]


@dataclass(frozen=True)
class Rule:
    """A rule of a rulebook, with its condition ready to be asked."""

    name: str
    says: RuleSection
    condition: Condition | None = None
    amounts: frozenset[str] = frozenset()  # those that an order rule compares
    line: int = 0

    @property
    def asks(self) -> bool:
        """It asks a person rather than refuse."""
        return bool(self.says.ask or self.says.four_eyes)

    @property
    def cap(self) -> Cap:
        """The cap of a rule that is one."""
        assert self.says.cap is not None
        return self.says.cap

    def mark(self, args: Mapping[str, Any]) -> str:
        """What the cap must see of a call: all arguments for its condition, the amount that it adds up, or nothing.

        runs/rulebook/record.py says the same in SQL.
        """
        if self.condition:
            return json.dumps(args)
        value = args.get(self.cap.sum) if self.cap.sum else None
        return "" if value is None else str(value)


@dataclass(frozen=True)
class Rulebook:
    """The rules of an agent file, in the order in which they are written."""

    rules: tuple[Rule, ...] = ()
    file: str = ""

    @cached_property
    def digest(self) -> str:
        """64 hex digits over what the rules say."""
        return sha256([{"name": rule.name, **_written(rule.says)} for rule in self.rules])

    def line(self, name: str) -> int:
        """Where the rule of this name stands in `file`."""
        return next(rule.line for rule in self.rules if rule.name == name)

    def of(self, tool: str, *, undo: bool = False) -> tuple[Rule, ...]:
        """The rules that speak of a call of this tool."""
        return tuple(rule for rule in self._by_tool.get(tool, ()) if rule.says.undos or not undo)

    @cached_property
    def looks_back_at(self) -> frozenset[str] | None:
        """The tools whose earlier calls the rules look at in a conversation; None where a condition looks at all."""
        if any(rule.condition and "history" in rule.condition.names for rule in self.rules):
            return None
        return frozenset(tool for rule in self.rules if rule.says.order for tool in rule.says.order.tools)

    @cached_property
    def _by_tool(self) -> Mapping[str, tuple[Rule, ...]]:
        named = {tool for rule in self.rules for tool in rule.says.tools}
        return {tool: tuple(rule for rule in self.rules if tool in rule.says.tools) for tool in named}


def _written(says: RuleSection) -> dict[str, Any]:
    return says.model_dump(mode="json", exclude_none=True)
