"""Finding runs: the search box and the filters of the list, as they stand in its address.

What is searched for is looked up exactly, in one index after the other, so that it costs the same however many runs
there are; nothing is matched by a part of it, but for a key, of which the first digits do.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import QuerySet, Subquery

from runs.models import Run, Step
from runs.states import RUN_ENDS, RunState
from runs.views.moments import midnight

NUMBER = re.compile(r"(?:[Rr]-)?(\d{1,18})")
KEY = re.compile(r"[0-9a-f]{12,64}")
AT_ONCE = 10_000  # runs that may start within the time in which one does
MANY = 1000  # more than these are not counted

# What the filter offers, in the order of a run's life.
STATES: dict[str, tuple[str, frozenset[RunState]]] = {
    "live": ("not ended", frozenset(RunState) - RUN_ENDS),
    "waiting": ("waiting for an answer", frozenset({RunState.WAITING})),
    "stuck": ("stuck", frozenset({RunState.STUCK})),
    "succeeded": ("done", frozenset({RunState.SUCCEEDED})),
    "rolled_back": ("rolled back", frozenset({RunState.ROLLED_BACK})),
    "handed_over": ("handed over", frozenset({RunState.HANDED_OVER})),
    "abandoned": ("abandoned", frozenset({RunState.ABANDONED})),
    "failed": ("failed", frozenset({RunState.FAILED})),
}


@dataclass(frozen=True)
class Search:
    """What is looked for. `since` and `until` are days of the console's time zone, both included."""

    text: str = ""
    state: str = ""
    agent: str = ""
    since: date | None = None
    until: date | None = None

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "Search":
        """From the address; what it does not know is left out."""
        state = query.get("state", "")
        return cls(
            query.get("q", "").replace("\x00", "").strip()[:200],
            state if state in STATES else "",
            query.get("agent", "")[:100].replace("\x00", ""),
            _day(query.get("since", "")),
            _day(query.get("until", "")),
        )

    @property
    def is_narrow(self) -> bool:
        """Something is looked for."""
        return self != Search()

    @property
    def as_query(self) -> str:
        """As it stands in an address, without the question mark."""
        asked = {
            "q": self.text,
            "state": self.state,
            "agent": self.agent,
            "since": self.since,
            "until": self.until,
        }
        return urlencode({name: value for name, value in asked.items() if value})

    def runs(self) -> "QuerySet[Run, Run]":
        """The runs that match, in no order."""
        found: QuerySet[Run, Run] = Run.objects.all()
        if self.text:
            first, *others = _with(self.text)
            found = found.filter(pk__in=first.union(*others, all=True))
        if self.state:
            found = found.filter(state__in=STATES[self.state][1])
        if self.agent:
            found = found.filter(thread__agent=self.agent)
        if self.since:
            found = found.filter(created_at__gte=midnight(self.since))
        if self.until:
            found = _until(found, midnight(self.until + timedelta(days=1)))
        return found


def count(runs: "QuerySet[Run, Run]") -> str:
    """How many, in words; past a thousand it is not counted on."""
    many = runs.order_by()[: MANY + 1].count()
    if many > MANY:
        return f"more than {MANY:,} runs"
    return f"{many:,} run" if many == 1 else f"{many:,} runs"


def _with(text: str) -> "Iterator[QuerySet[Any, Any]]":
    """The ids of the runs that this text names: by ticket, subject, user, number, conversation or key."""
    ids = Run.objects.order_by().values("pk")
    yield ids.filter(ticket=text)
    yield ids.filter(subject=text)
    yield ids.filter(thread__user=text)
    if number := NUMBER.fullmatch(text):
        yield ids.filter(pk=int(number[1]))
    if KEY.fullmatch(text.lower()):
        yield Step.objects.order_by().filter(attempts__entry__key__startswith=text.lower()).values("run")
    try:
        yield ids.filter(thread=UUID(text))
    except ValueError:
        return


def _until(runs: "QuerySet[Run, Run]", end: datetime) -> "QuerySet[Run, Run]":
    """Those before a moment. Ids rise with time but for what overlaps, so the newest need not be gone through."""
    last = Run.objects.filter(created_at__lt=end).order_by("-created_at").values("pk")[:1]
    return runs.filter(created_at__lt=end, pk__lte=Subquery(last) + AT_ONCE)


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
