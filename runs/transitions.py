"""The only writer of a state.

A worker holds a run under a lease with an epoch (`claim`); each of its transactions begins with `fence`,
which must hit one row, and ends with `flush`, which writes every changed row by a guarded update and every
event. Rows in memory are kept current, so a step costs the same in a long run as in a short one; when the
run's version shows that somebody else wrote meanwhile (an answer, a cancel, a proposal), it is read again.

A move that runs/states.py does not allow, or a guard that hits no row, is a bug or a lost lease: it raises,
and the transaction leaves nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, cast

from django.conf import settings
from psycopg.types.json import Jsonb

from runs import rows
from runs.errors import LeaseLost
from runs.models import Attempt, Event, LedgerEntry, Run, Step
from runs.rulebook import Ruling
from runs.states import ENTRY_MOVES, RUN_ENDS, RUN_MOVES, STEP_MOVES, EntryState, RunState, StepState
from runs.view import StepView

ENGINE = "engine"
EVENT = ("run", "step", "kind", "before", "after", "actor", "data")
MOST = 20  # writes, and events, in one statement: a run of a thousand steps may have to cancel them all


class IllegalMove(AssertionError):
    """A move that the tables in runs/states.py do not allow: a bug in the engine."""


Row = Run | Step | LedgerEntry | Attempt


@dataclass
class Held:
    """A run that this worker holds. `now` is the database's clock at the last fence."""

    run: Run
    owner: str
    now: datetime
    taken_from: str = ""  # who held it before, where it was taken over
    unsure: bool = False  # a commit was lost with its connection: the rows must be read again
    steps: list[Step] = field(default_factory=list)  # by number, undos among them
    settled: int = 0  # every forward step before this index has ended
    views: list[StepView | None] = field(default_factory=list)  # beside `steps`
    stale: set[int] = field(default_factory=set)  # the indexes of the views whose row has changed
    places: dict[int, int] = field(default_factory=dict)  # step number -> index
    rulings: dict[int, Ruling] = field(default_factory=dict)  # by step number, until the step moves
    dirty: dict[int, "Dirty"] = field(default_factory=dict)
    added: list[Attempt | LedgerEntry] = field(default_factory=list)
    events: list[tuple[Any, ...]] = field(default_factory=list)  # the fields EVENT of each

    def step(self, number: int) -> Step:
        """The step of this number."""
        return self.steps[self.places[number]]

    def step_of(self, pk: int) -> Step:
        """The step with this primary key."""
        return next(step for step in self.steps if step.pk == pk)

    def take(self, steps: Iterable[Step]) -> None:
        """Hold these rows, and forget all that was kept of others."""
        self.steps, self.views, self.places = [], [], {}
        self.stale.clear()
        self.rulings.clear()
        self.settled = 0
        for step in steps:
            self.append(step)

    def discard(self) -> None:
        """A commit was lost with its connection: forget what it would have written, and read the rows again."""
        self.added.clear()
        self.dirty.clear()
        self.events.clear()
        self.unsure = True

    def append(self, step: Step) -> None:
        """Hold one more step."""
        self.places[step.number] = len(self.steps)
        self.steps.append(step)
        self.views.append(None)
        self.stale.add(len(self.steps) - 1)

    def touch(self, step: Step) -> None:
        """What the core sees of this step has changed."""
        self.stale.add(self.places[step.number])


@dataclass
class Dirty:
    """A row with changes that are not written yet; `stored` is what the database has in the column `guard`."""

    row: Row
    guard: str
    stored: str
    fields: set[str] = field(default_factory=set)


def claim(run_id: int, owner: str) -> Held | None:
    """Take the lease of a run that nobody live holds; None where there is nothing to take.

    Runs inside a transaction and locks the row. A run that has ended is claimed only to be undone.
    """
    row = Run.objects.select_for_update(of=("self",)).select_related("thread").filter(pk=run_id).first()
    if row is None or (row.state in RUN_ENDS and not row.undo_requested_at and not row.late):
        return None
    now = clock()
    if row.lease_expires_at and row.lease_expires_at > now:
        return None
    held = Held(row, owner, now, taken_from=row.lease_owner)
    lease = now + timedelta(seconds=settings.LEASE_SECONDS)
    change(
        held,
        row,
        lease_owner=owner,
        lease_expires_at=lease,
        lease_epoch=row.lease_epoch + 1,
        version=row.version + 1,
    )
    if row.state == RunState.READY:
        move_run(held, RunState.RUNNING)
    if held.taken_from:
        record(held, "lease.taken_over", data={"previous_owner": held.taken_from, "owner": owner})
    return held


def clock() -> datetime:
    """The database's clock: the only one that decides anything."""
    found = rows.one("SELECT clock_timestamp()", [])
    assert found is not None
    return cast(datetime, found[0])


FENCE = """
UPDATE runs_run
   SET version = version + 1, lease_expires_at = clock_timestamp() + $1 * interval '1 second'
 WHERE id = $2 AND lease_epoch = $3 AND lease_owner = $4
RETURNING version, clock_timestamp()
"""


def fence(held: Held) -> bool:
    """Renew the lease, or raise LeaseLost. True where somebody else wrote since: read the rows again."""
    run = held.run
    found = rows.one(FENCE, [settings.LEASE_SECONDS, run.pk, run.lease_epoch, held.owner])
    if found is None:
        raise LeaseLost
    expected, run.version, held.now = run.version + 1, found[0], found[1]
    return bool(run.version != expected)


def change(held: Held, row: Row, **changes: Any) -> None:
    """Set fields that are not states; written by `flush`."""
    dirty = held.dirty.get(id(row))
    if dirty is None:
        guard = "verdict" if isinstance(row, Attempt) else "state"
        dirty = held.dirty[id(row)] = Dirty(row, guard, getattr(row, guard))
    for name, value in changes.items():
        setattr(row, name, value)
        dirty.fields.add(name)
    if isinstance(row, Step):
        held.touch(row)


def record(
    held: Held,
    kind: str,
    step: Step | None = None,
    *,
    before: str = "",
    after: str = "",
    actor: str = ENGINE,
    data: dict[str, Any] | None = None,
) -> None:
    """Append a line to the record."""
    of_step = step.pk if step else None
    held.events.append((held.run.pk, of_step, kind, before, after, actor, Jsonb(data or {})))


def _move(
    held: Held,
    row: Run | Step | LedgerEntry,
    moves: Mapping[Any, frozenset[Any]],
    state: Any,
    fields: dict[str, Any],
) -> str:
    before = type(state)(row.state)
    if state not in moves[before]:
        raise IllegalMove(f"{row} may not go from {before} to {state}")
    change(held, row, state=state, **fields)
    return str(before)


def move_run(held: Held, state: RunState, *, actor: str = ENGINE, why: Any = None, **fields: Any) -> None:
    """Move the run, and say so in the record."""
    if state in RUN_ENDS:
        fields["ended_at"] = held.now
    before = _move(held, held.run, RUN_MOVES, state, fields)
    data = {"why": why} if why is not None else {}
    record(held, f"run.{state}", before=before, after=str(state), actor=actor, data=data)


def move_step(
    held: Held, step: Step, state: StepState, *, actor: str = ENGINE, data: Any = None, **fields: Any
) -> None:
    """Move a step, and say so in the record."""
    before = _move(held, step, STEP_MOVES, state, fields)
    record(held, f"step.{state}", step, before=before, after=str(state), actor=actor, data=data)


def move_entry(held: Held, entry: LedgerEntry, state: EntryState, **fields: Any) -> None:
    """Move a ledger entry; the step's own line in the record tells it."""
    _move(held, entry, ENTRY_MOVES, state, fields)


def add(held: Held, row: Attempt | LedgerEntry) -> None:
    """Have `flush` insert a new row."""
    held.added.append(row)


def flush(held: Held) -> None:
    """Write what changed, in one statement: new rows, every changed row by a guarded update, the events.

    A guard that hits no row means that this worker does not hold the run any more: LeaseLost.
    """
    writes = [rows.add(row) for row in held.added]
    writes += [
        rows.update(dirty.row, dirty.fields, dirty.guard, dirty.stored) for dirty in held.dirty.values()
    ]
    for start in range(0, max(len(writes), len(held.events)), MOST):
        parts, events = writes[start : start + MOST], held.events[start : start + MOST]
        if events:
            parts.append(rows.insert(Event, EVENT, events))
        if not rows.execute(parts):
            raise LeaseLost
    held.added.clear()
    held.dirty.clear()
    held.events.clear()
