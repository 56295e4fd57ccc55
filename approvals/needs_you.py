"""What needs a person: the open questions, oldest first, in the words of their tools."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import QuerySet
from django.utils import timezone

from approvals import bulk
from runs.access import Actor
from runs.agentfile import AgentSpec, spec_of
from runs.models import Step
from runs.parking import says_irreversible
from runs.views.calls import sentence_of
from runs.views.looks import QUESTION_LOOKS, Look, look_of_escalation

PAGE = 50
OVERLAP = timedelta(seconds=5)  # a question becomes visible this long after its own time, at the most
KINDS = {"": "Everything", "confirm": "Confirm", "outcome": "Unknown", "undo": "Stuck"}
WHO = {"role": "My role", "all": "All"}


@dataclass(frozen=True)
class Filters:
    """Which questions: those that this person's roles may answer, or all; and of which kind."""

    who: str = "role"
    kind: str = ""

    @classmethod
    def of(cls, query: "dict[str, str]") -> "Filters":
        """From the address; what it does not know is the default."""
        who, kind = query.get("who", "role"), query.get("kind", "")
        return cls(who if who in WHO else "role", kind if kind in KINDS else "")

    def rows(self, actor: Actor) -> "QuerySet[Step, Step]":
        """The open questions, oldest first."""
        found = Step.objects.asking()
        if self.who == "role":
            found = found.filter(approver__in=sorted(actor.roles)).exclude(not_by__contains=actor.name)
        if self.kind:
            found = found.filter(asks=self.kind)
        return found.order_by("asked_at", "pk")


@dataclass(frozen=True)
class Row:
    """One question of the list."""

    step_id: int
    look: Look
    title: str
    detail: str
    facts: tuple[str, ...]
    irreversible: bool
    asked_at: datetime | None
    is_overdue: bool
    approver: str
    escalation: Look | None  # nobody answered in time
    pick: str  # what a tick of it sends; '' where it is not answered together with others


@dataclass(frozen=True)
class Listing:
    """One page of questions. `seen` are those so young that a poll could take them for new."""

    rows: tuple[Row, ...]
    after: str
    since: str
    seen: str

    @property
    def has_picks(self) -> bool:
        """Some of them can be approved together."""
        return any(row.pick for row in self.rows)


def listing(filters: Filters, actor: Actor, after: str = "") -> Listing:
    """The questions that this person asked for, from a cursor on. One query, and one for what they cover."""
    now = timezone.now()
    found = filters.rows(actor).select_related("run__thread", "undoes")
    found = _from(found, after)
    steps = list(found[: PAGE + 1])
    shown = steps[:PAGE]
    young = [str(step.pk) for step in steps if step.asked_at and step.asked_at > now - OVERLAP]
    covered = bulk.covered_by(shown)
    return Listing(
        tuple(_row(step, actor, covered.get(step.pk, []), now) for step in shown),
        _cursor(shown[-1]) if len(steps) > PAGE else "",
        now.isoformat(),
        ",".join(young),
    )


def count_new(filters: Filters, actor: Actor, since: str, seen: str) -> int:
    """How many were asked since a page was made. What is not a time of ours counts none."""
    try:
        start = datetime.fromisoformat(since) - OVERLAP
    except ValueError:
        return 0
    if start.tzinfo is None:
        return 0
    shown = [int(part) for part in seen.split(",") if part.isascii() and part.isdigit()][:PAGE]
    return filters.rows(actor).filter(asked_at__gt=start).exclude(pk__in=shown).count()


def next_for(actor: Actor, run_id: int) -> Step | None:
    """The question to go to next: of the same run first, then the oldest that this person may answer."""
    mine = Filters().rows(actor).select_related("run__thread", "undoes")
    return mine.filter(run_id=run_id).first() or mine.first()


def title_of(step: Step) -> str:
    """The question on one line."""
    return _title(step, spec_of(step.run.thread.agent))


def _from(found: "QuerySet[Step, Step]", after: str) -> "QuerySet[Step, Step]":
    """The rows after a cursor; one that is none of ours starts at the top."""
    moment, _, pk = after.rpartition("_")
    try:
        asked_at = datetime.fromisoformat(moment)
    except ValueError:
        return found
    if asked_at.tzinfo is None or not (pk.isascii() and pk.isdigit()):
        return found
    return found.filter(asked_at__gte=asked_at).exclude(asked_at=asked_at, pk__lte=int(pk))


def _cursor(step: Step) -> str:
    return f"{step.asked_at.isoformat()}_{step.pk}" if step.asked_at else ""


def _row(step: Step, actor: Actor, covered: Sequence[Step], now: datetime) -> Row:
    run, thread = step.run, step.run.thread
    spec = spec_of(thread.agent)
    facts = (thread.agent, thread.user, run.name, run.ticket)
    return Row(
        step_id=step.pk,
        look=QUESTION_LOOKS[step.asks],
        title=_title(step, spec),
        detail=_detail(step),
        facts=tuple(fact for fact in facts if fact),
        irreversible=says_irreversible(step.warnings),
        asked_at=step.asked_at,
        is_overdue=bool(step.expires_at and step.expires_at < now),
        approver=step.approver,
        escalation=look_of_escalation(step),
        pick=bulk.pick_of(actor, step, covered, spec),
    )


def _title(step: Step, spec: AgentSpec) -> str:
    if step.asks == "outcome":
        return f"Did {step.tool} take effect? {sentence_of(step, spec)}"
    if step.asks == "undo" and step.undoes:
        return f"Undo: {sentence_of(step.undoes, spec)}"
    return sentence_of(step, spec)


def _detail(step: Step) -> str:
    if step.asks == "outcome":
        return step.question.partition("? ")[2].rstrip(".")
    return step.question.rstrip(".") if step.asks == "undo" else ""
