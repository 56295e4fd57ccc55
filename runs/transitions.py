"""The only writer of a state.

A worker holds a run under a lease with an epoch (`claim`). What it decided is written by `flush`: every changed row
by a guarded update, and every event, all in one statement. The first of them is the fence, the run's own row: it
renews the lease, and hits only where the run is still held under this epoch and nobody else wrote since it was read
(an answer, a cancel, a proposal). Where it misses, nothing is written, and the rows are read again. Rows in memory
are kept current, so a step costs the same in a long run as in a short one.

Every commit brings the database's clock back. What is decided within a second of that may count on from it; else it
is asked for (`observe`). The fence misses as well where our count is seconds behind: the machine had been asleep.

A move that runs/states.py does not allow is a bug: it raises, and the transaction leaves nothing.
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, cast

from django.conf import settings
from psycopg.types.json import Jsonb

from runs import rows
from runs.errors import LeaseLost
from runs.models import Attempt, Event, LedgerEntry, Message, Run, Step, Thread
from runs.rulebook import Ruling
from runs.rulebook.past import Call
from runs.states import ENTRY_MOVES, PARKED, RUN_ENDS, RUN_MOVES, STEP_MOVES, EntryState, RunState, StepState
from runs.view import StepView

ENGINE = "engine"
EVENT = ("run", "step", "kind", "before", "after", "actor", "data")
CLOCK_HOLDS = 1.0  # seconds for which the database's clock is counted on from, and not asked again
CLOCK_SLACK = 5.0  # seconds by which that count may be behind it
MOST = 20  # writes, and events, in one statement: a run of a thousand steps may have to cancel them all


class IllegalMove(AssertionError):
    """A move that the tables in runs/states.py do not allow: a bug in the engine."""


class Overtaken(Exception):
    """Somebody else wrote to the run since it was read; nothing was written. Read the rows again, and decide again."""


Row = Run | Step | LedgerEntry | Attempt
# What guards the run's own row: that it is held, and unchanged since it was read.
FENCE = ("version", "lease_epoch", "lease_owner")


@dataclass
class Held:
    """A run that this worker holds. `now` is the database's clock when what follows is decided. Ours showed `heard`
    before that, and `told` after it.

    `owner` is '' where it holds no lease, but has locked the row of a run that nobody holds.
    """

    run: Run
    owner: str
    now: datetime
    heard: float = 0  # time.monotonic()
    told: float = 0
    taken_from: str = ""  # who held it before, where it was taken over
    lease_ended: datetime | None = None  # when that lease expired
    unsure: bool = False  # what the rows say is not known: they must be read again
    steps: list[Step] = field(default_factory=list)  # by number, undos among them
    settled: int = 0  # every forward step before this index has ended
    views: list[StepView | None] = field(default_factory=list)  # beside `steps`
    stale: set[int] = field(default_factory=set)  # the indexes of the views whose row has changed
    places: dict[int, int] = field(default_factory=dict)  # step number -> index
    rulings: dict[int, Ruling] = field(default_factory=dict)  # by step number, until the step moves
    history: list[Call] | None = None  # of the thread's other runs, once a rule has looked back
    timed: set[int] = field(default_factory=set)  # the numbers of those whose window was looked at
    dirty: dict[int, "Dirty"] = field(default_factory=dict)
    added: list[Attempt | LedgerEntry | Message] = field(default_factory=list)
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
        self.timed.clear()
        self.history = None
        self.settled = 0
        for step in steps:
            self.append(step)

    def discard(self) -> None:
        """A commit did not land, or was lost with its connection: forget what it would have written."""
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
    """A row with changes that are not written yet; `stored` is what the database has in the guarding columns."""

    row: Row
    stored: dict[str, Any]
    fields: set[str] = field(default_factory=set)


CLAIM = """
SELECT {columns}, clock_timestamp()
  FROM runs_run JOIN runs_thread ON runs_thread.id = runs_run.thread_id
 WHERE runs_run.id = $1 FOR UPDATE OF runs_run
"""


def claim(run_id: int, owner: str) -> Held | None:
    """Take the lease of a run that nobody live holds; None where there is nothing to take.

    Runs inside a transaction and locks the row. A run that has ended is claimed only to be undone. Where the lock was
    waited for, the time may be that from before: behind the database's clock, never ahead of it.
    """
    heard = time.monotonic()
    found = next(rows.fetch(CLAIM, [run_id], Run, Thread), None)
    if found is None:
        return None
    row, row.thread, now = found
    if row.state in RUN_ENDS and not row.undo_requested_at and not row.late:
        return None
    if row.lease_expires_at and row.lease_expires_at > now:
        return None
    held = Held(row, owner, now, heard, taken_from=row.lease_owner, lease_ended=row.lease_expires_at)
    lease = now + timedelta(seconds=settings.LEASE_SECONDS)
    change(
        held,
        row,
        lease_owner=owner,
        lease_expires_at=lease,
        lease_epoch=row.lease_epoch + 1,
        claimed_at=now,
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


OBSERVE = """
SELECT version, clock_timestamp() FROM runs_run WHERE id = $1 AND lease_epoch = $2 AND lease_owner = $3
"""


def observe(held: Held, *, soon: bool) -> bool:
    """What time is it, and must the rows be read again? LeaseLost where the run is seen to be held no longer.

    `soon`: within a second of the last commit nobody is asked. Where somebody else has written since, the fence of
    the next one misses.
    """
    heard = time.monotonic()
    passed = heard - held.told
    if soon and passed < CLOCK_HOLDS and not held.unsure:
        held.now, held.heard, held.told = held.now + timedelta(seconds=passed), held.heard + passed, heard
        return False
    found = rows.one(OBSERVE, [held.run.pk, held.run.lease_epoch, held.owner])
    if found is None:
        raise LeaseLost
    version, held.now = found
    held.heard = heard
    return held.unsure or bool(version != held.run.version)


def change(held: Held, row: Row, **changes: Any) -> None:
    """Set fields that are not states; written by `flush`."""
    dirty = held.dirty.get(id(row))
    if dirty is None:
        dirty = held.dirty[id(row)] = Dirty(row, {name: getattr(row, name) for name in _guards(row)})
    for name, value in changes.items():
        setattr(row, name, value)
        dirty.fields.add(name)
    if isinstance(row, Step):
        held.touch(row)


def _guards(row: Row) -> tuple[str, ...]:
    if isinstance(row, Run):
        return FENCE
    return ("verdict",) if isinstance(row, Attempt) else ("state",)


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
    """Move a step, and say so in the record. What is no question any more waits for nobody, and for no time."""
    if step.waits and state not in PARKED:
        fields |= {"waits": False, "expires_at": None}
    before = _move(held, step, STEP_MOVES, state, fields)
    record(held, f"step.{state}", step, before=before, after=str(state), actor=actor, data=data)


def by_lookup(step: Step) -> dict[str, Any]:
    """What the record says of a question that is settled, where nobody's answer did it."""
    return {"settled_by": "lookup"} if step.state == StepState.UNKNOWN and not step.answer else {}


def move_entry(held: Held, entry: LedgerEntry, state: EntryState, **fields: Any) -> None:
    """Move a ledger entry; the step's own line in the record tells it."""
    _move(held, entry, ENTRY_MOVES, state, fields)


def add(held: Held, row: Attempt | LedgerEntry | Message) -> None:
    """Have `flush` insert a new row."""
    held.added.append(row)


def flush(held: Held) -> None:
    """Write what changed: the fence, new rows, every other changed row by a guarded update, the events.

    The last thing in its transaction, mostly the only one: then it is a transaction by itself. Overtaken where
    a guard missed: nothing is written, not even what this transaction wrote before.
    """
    parts = [_fence(held), *(rows.add(row) for row in held.added)]
    parts += [rows.update(dirty.row, dirty.fields, dirty.stored) for dirty in held.dirty.values()]
    size = max(len(parts), len(held.events))
    heard = time.monotonic()
    try:
        for start in range(0, size, MOST):
            events = held.events[start : start + MOST]
            last = [rows.insert(Event, EVENT, events)] if events else []
            held.now = rows.execute(parts[start : start + MOST] + last, only=size <= MOST)
    except rows.Missed:
        raise Overtaken from None
    held.heard, held.told = heard, time.monotonic()
    held.added.clear()
    held.dirty.clear()
    held.events.clear()


def _fence(held: Held) -> rows.Part:
    """The run's own row, with the lease renewed where there is one that is ours."""
    run = held.run
    change(held, run, version=run.version + 1)
    if run.lease_owner and run.lease_owner == held.owner:
        change(held, run, lease_expires_at=held.now + timedelta(seconds=settings.LEASE_SECONDS))
    dirty = held.dirty.pop(id(run))
    since = time.monotonic() - held.heard
    latest = held.now + timedelta(seconds=since + CLOCK_SLACK)
    return rows.until(latest, rows.update(run, dirty.fields, dirty.stored))
