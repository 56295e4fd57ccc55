"""What the check knows beside the call itself: who asks, where, when, and what was called before.

The engine reads it from the record (runs/rulebook/record.py), which is never rewound: a call that a rewind took from
the model's memory, and one that was undone, is still there. `stalwart rules test` reads it from a file.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from runs.rulebook.shapes import Cap, Rule
from runs.states import StepState

# What counts against a cap: what took effect, and what may have. An undone call did take effect.
COUNTED = frozenset({StepState.SENT, StepState.UNKNOWN, StepState.PERFORMED, StepState.UNDONE})
# What an order rule takes for done. Nobody knows yet whether what is in flight is.
RAN = frozenset({StepState.PERFORMED, StepState.UNDONE})

# How many calls count against a cap, by what the cap must see of them (Rule.mark): ten thousand are a few lines.
Tally = Mapping[str, int]


@dataclass(frozen=True)
class Call:
    """A call of a tool, earlier than the one that is checked or that one itself.

    `number` is its step's in the thread. `undo`: it undoes another. `replayed`: another run had done it, and nothing
    was sent. `sent_at` is its last sending.
    """

    tool: str
    args: Mapping[str, Any]
    state: StepState = StepState.PROPOSED
    number: int = 0
    result: Any = None
    undo: bool = False
    replayed: bool = False
    sent_at: datetime | None = None
    run: str = ""

    def fact(self) -> dict[str, Any]:
        """What a condition may say of it, as one of `history`."""
        return {
            "tool": self.tool,
            "args": self.args,
            "state": str(self.state),
            "undo": self.undo,
            "run": self.run,
        }

    def counts(self, rule: Rule, now: datetime) -> bool:
        """Whether it counts against this cap, as far as it can tell by itself."""
        named = self.tool in rule.says.tools and (rule.says.undos or not self.undo)
        return named and not self.replayed and self.state in counted(rule.cap) and self._today(rule.cap, now)

    def _today(self, cap: Cap, now: datetime) -> bool:
        if "day" not in cap.per:
            return True
        start, end = cap.day(now)
        return self.sent_at is not None and start <= self.sent_at < end


@dataclass(frozen=True)
class Setting:
    """In which run and conversation a call is made, and at which time of the database's clock."""

    now: datetime
    user: str
    thread: str
    agent: str
    run: str
    task: str = ""
    ticket: str = ""
    subject: str = ""
    started_by: str = ""

    @property
    def asked_by(self) -> tuple[str, ...]:
        """Those who asked for the run's calls: whose conversation it is, and who started the run."""
        return tuple(sorted({self.user, self.started_by} - {""}))

    def facts(self) -> dict[str, Any]:
        """What a condition may say of it."""
        run = {name: getattr(self, name) for name in ("task", "ticket", "subject", "started_by")}
        thread = {"id": self.thread, "agent": self.agent}
        return {"user": self.user, "thread": thread, "run": {"id": self.run, **run}}


class Past(Protocol):
    """The calls before the one that is checked, which is in none of its answers."""

    @property
    def setting(self) -> Setting:
        """In which run and conversation the call is."""

    def calls(self, tools: Sequence[str] = ()) -> Iterator[Call]:
        """Those of the same conversation that were sent or replayed, of these tools or of all, in no order."""

    def tallies(self, rules: Sequence[Rule]) -> list[Tally]:
        """For each of these caps what counts against it. Nothing is added to that by anybody else until the
        transaction ends."""


@dataclass
class GivenPast:
    """A past that is given in full."""

    setting: Setting
    given: Sequence[tuple[Setting, Call]] = field(default_factory=list)

    def calls(self, tools: Sequence[str] = ()) -> Iterator[Call]:
        here = (call for where, call in self.given if where.thread == self.setting.thread)
        return (call for call in here if not tools or call.tool in tools)

    def tallies(self, rules: Sequence[Rule]) -> list[Tally]:
        return [self._tally(rule) for rule in rules]

    def _tally(self, rule: Rule) -> Tally:
        scopes = [scope for scope in rule.cap.per if scope != "day"]
        here = (
            call
            for where, call in self.given
            if all(getattr(where, scope) == getattr(self.setting, scope) for scope in scopes)
        )
        return Counter(rule.mark(call.args) for call in here if call.counts(rule, self.setting.now))


def counted(cap: Cap) -> frozenset[StepState]:
    """The states that count against a cap."""
    return COUNTED - {StepState.UNDONE} if cap.net else COUNTED


def ran(*, net: bool) -> frozenset[StepState]:
    """The states in which a call ran, for an order rule."""
    return RAN - {StepState.UNDONE} if net else RAN
