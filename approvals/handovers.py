"""What people do with a run that was handed over: claim it, note, release it, resolve it.

A handover is open, claimed or resolved. It is claimed by one INSERT on a unique index: of two people, the second
is told who has it and since when. Each verb writes its own row and its line of the record in one transaction.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from django.db import IntegrityError, transaction
from django.db.models import Case, Count, Exists, IntegerField, Min, OuterRef, Q, QuerySet, Value, When
from django.db.models.functions import Now

from approvals.models import Claim, Note
from runs.access import Actor, may_handle, may_operate
from runs.errors import BadInput, Conflict, NotAllowed, NotFound
from runs.models import Event, Run
from runs.views.moments import clock

State = Literal["open", "claimed", "resolved"]
STATES: tuple[State, ...] = ("open", "claimed", "resolved")
MAX_TEXT = 5000


class AlreadyClaimed(Conflict):
    """Somebody else takes care of this handover."""

    type = "already-claimed"
    title = "Already claimed"


class NotClaimed(Conflict):
    """Nobody takes care of this handover yet: claim it first."""

    type = "not-claimed"
    title = "Not claimed"


class AlreadyResolved(Conflict):
    """This handover is resolved."""

    type = "already-resolved"
    title = "Already resolved"


@dataclass(frozen=True)
class Handover:
    """A run that was handed over, who takes care of it, and what was noted, oldest first."""

    run: Run
    claim: Claim | None
    notes: tuple[Note, ...] = ()

    @property
    def state(self) -> State:
        """Who must act: anybody, the one who claimed it, nobody."""
        if self.claim is None:
            return "open"
        return "resolved" if self.claim.resolved_at else "claimed"

    def is_held_by(self, actor: Actor) -> bool:
        """This person has it, and has not resolved it."""
        return self.state == "claimed" and _is_of(self.claim, actor)


# --- Reading ------------------------------------------------------------------------------------------


def read(run_id: int) -> Handover:
    """The handover of a run. Raises NotFound, also where the run was never handed over."""
    run = Run.objects.select_related("thread").filter(pk=run_id, handover_at__isnull=False).first()
    if run is None:
        raise NotFound(f"There is no such handover: R-{run_id} was not handed over.")
    return Handover(run, _claim_of(run), tuple(Note.objects.filter(run=run)))


def _claim_of(run: Run) -> Claim | None:
    return Claim.objects.filter(run=run, released_at=None).first()


CLAIMS = Claim.objects.filter(run=OuterRef("pk"), released_at=None)
IS = {
    "open": Q(taken=False),
    "claimed": Exists(CLAIMS.filter(resolved_at=None)),
    "resolved": Exists(CLAIMS.filter(resolved_at__isnull=False)),
}


def handed_over() -> "QuerySet[Any, Any]":
    """Every run with a ticket."""
    return Run.objects.filter(handover_at__isnull=False).select_related("thread")


def ranked(state: State | None = None) -> "QuerySet[Any, Any]":
    """All of them, or those of a state; `rank` is the place of its state in STATES: the open ones first."""
    ranks = [When(IS[state], then=Value(rank)) for rank, state in enumerate(STATES)]
    rank = Case(*ranks, output_field=IntegerField())
    rows: Any = of_state(state) if state else handed_over()
    found: QuerySet[Any, Any] = rows.annotate(rank=rank)
    return found


def of_state(state: State) -> "QuerySet[Any, Any]":
    """The runs whose ticket is open, claimed or resolved."""
    return handed_over().filter(IS[state])


def of_person(actor: Actor) -> "QuerySet[Any, Any]":
    """The runs that this person has claimed, and not resolved."""
    return of_state("claimed").filter(claims__user=actor.user_id, claims__released_at=None)


def with_claims(runs: Iterable[Run]) -> list[Handover]:
    """These handovers without their notes, in one query."""
    runs = list(runs)
    claims = {claim.run_id: claim for claim in Claim.objects.filter(run__in=runs, released_at=None)}
    return [Handover(run, claims.get(run.pk)) for run in runs]


def count_open() -> tuple[int, datetime | None]:
    """How many nobody takes care of, and since when the oldest waits."""
    found = of_state("open").aggregate(n=Count("pk"), oldest=Min("handover_at"))
    return found["n"], found["oldest"]


# --- The verbs ----------------------------------------------------------------------------------------


def claim(actor: Actor, run: Run) -> Claim:
    """Take care of a handover; who has it already gets the claim that they have.

    Raises NotAllowed, NotFound, AlreadyClaimed, AlreadyResolved.
    """
    _may_begin(actor, run)
    try:
        with transaction.atomic():
            made = Claim.objects.create(run=run, by=actor.name, user_id=actor.user_id)
            _take(run, True)
            _record(run, "handover.claimed", actor)
            return made
    except IntegrityError:
        held = _claim_of(run)
    if held is None:
        raise Conflict(f"{run.name} was released this moment: claim it again.")
    if held.resolved_at is None and _is_of(held, actor):
        return held
    raise _whose(held)


def release(actor: Actor, run: Run) -> None:
    """Give a handover back, so that somebody else can claim it. An operator may release another's claim.

    Raises NotAllowed, NotFound, NotClaimed, AlreadyClaimed, AlreadyResolved.
    """
    held = _held(actor, run, others=may_operate(actor))
    with transaction.atomic():
        _settle(held, "handover.released", actor, {}, released_at=Now(), released_by=actor.name)
        _take(run, False)


def resolve(actor: Actor, run: Run, done: str) -> Claim:
    """Close a handover that this person has, with what was done. The same words again are the same resolution.

    Raises NotAllowed, NotFound, BadInput, NotClaimed, AlreadyClaimed, AlreadyResolved.
    """
    _may_begin(actor, run)
    said = _text(done, "/done", "Say what was done")
    before = _claim_of(run)
    if before and before.resolved_at and before.done == said and _is_of(before, actor):
        return before
    held = _held(actor, run)
    _settle(held, "handover.resolved", actor, {"done": said}, resolved_at=Now(), done=said)
    held.refresh_from_db()
    return held


def note(actor: Actor, run: Run, text: str) -> Note:
    """Write something down beside a handover, whoever has it. Raises NotAllowed, NotFound, BadInput."""
    _may_begin(actor, run)
    said = _text(text, "/text", "Write a note")
    with transaction.atomic():
        _record(run, "handover.noted", actor, {"text": said})
        return Note.objects.create(run=run, text=said, by=actor.name, user_id=actor.user_id)


def _may_begin(actor: Actor, run: Run) -> None:
    if not may_handle(actor):
        raise NotAllowed("A handover is for a person of the console, never for an agent.")
    if run.handover_at is None:
        raise NotFound(f"There is no such handover: {run.name} was not handed over.")


def _held(actor: Actor, run: Run, *, others: bool = False) -> Claim:
    """The claim that this person may settle."""
    _may_begin(actor, run)
    found = _claim_of(run)
    if found is None:
        raise NotClaimed
    if found.resolved_at or not (others or _is_of(found, actor)):
        raise _whose(found)
    return found


def _settle(held: Claim, kind: str, actor: Actor, data: dict[str, str], **fields: object) -> None:
    """One guarded update: what somebody else did meanwhile is told, and nothing is stored."""
    with transaction.atomic():
        still = Claim.objects.filter(pk=held.pk, released_at=None, resolved_at=None)
        if not still.update(**fields):
            now = _claim_of(held.run)
            raise _whose(now) if now else NotClaimed()
        _record(held.run, kind, actor, data)


def _take(run: Run, taken: bool) -> None:
    """What the index of the open handovers goes by; written with the claim, whose own constraint decides."""
    Run.objects.filter(pk=run.pk).update(taken=taken)


def _whose(held: Claim) -> Conflict:
    """Who has it and since when, or who resolved it and how."""
    if held.resolved_at:
        return AlreadyResolved(
            f"Resolved by {held.by}, {clock(held.resolved_at)}: {held.done}",
            resolved_by=held.by,
            resolved_at=held.resolved_at.isoformat(),
        )
    return AlreadyClaimed(
        f"{held.by} has it, since {clock(held.at)}.",
        claimed_by=held.by,
        claimed_at=held.at.isoformat(),
    )


def _is_of(held: Claim | None, actor: Actor) -> bool:
    return held is not None and held.user_id is not None and held.user_id == actor.user_id


def _record(run: Run, kind: str, actor: Actor, data: dict[str, str] | None = None) -> None:
    Event.objects.create(run=run, kind=kind, actor=actor.name, data=data or {})


def _text(value: str, field: str, what: str) -> str:
    said = value.strip().replace("\r\n", "\n")
    if not said or len(said) > MAX_TEXT or "\x00" in said:
        raise BadInput(f"{what}, in at most {MAX_TEXT:,} characters, without NUL.", field=field)
    return said
