"""Load: many runs of many flows at once, some made to fail, all answered by a person; and the count at the end."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import httpx
from django.db import connection
from django.db.utils import InterfaceError, OperationalError

from runs.models import Attempt, Run
from runs.states import RUN_ENDS
from runs.transitions import clock
from tests.crash import audit, people
from tests.flows import FLOWS, Flow, Step, start_flow

ORDERS = range(5000, 5200)  # the practice services have them for loads
T = TypeVar("T")
# Past the call's timeout of 1 s, and before it is settled after 2 s.
FAULTS = (
    "refused",
    "unavailable",
    "error_500",
    "drop_before",
    "drop_after",
    "timeout_before_write:1.2",
    "timeout_after_write:1.2",
    "slow:0.3",
    "slow:1.2",
    "slow_before:0.3",
    "slow_before:1.2",
)


def desk(order: int, *tools: str, agent: str = "desk-load") -> Flow:
    """A flow of the shop's desk for one order."""
    args = {"charge_card": {"amount": "4.00"}}
    steps: list[Step] = [(tool, {"order": order} | args.get(tool, {})) for tool in tools]
    return Flow(agent, "", tuple(steps))


@dataclass(frozen=True)
class Draw:
    """What one run of a random load is, drawn from its own seed, so that any of them can be had again."""

    flow: Flow
    faults: dict[str, str]


def draw(seed: int, number: int) -> Draw:
    """The run of this number: a desk's order, which nobody confirms, or another flow; a third of them with a fault."""
    dice = random.Random(f"{seed}/{number}")
    order = ORDERS[number % len(ORDERS)]
    desks = [
        desk(order, "charge_card", "update_crm", "provision_account"),
        desk(order, "charge_card", "update_crm", "send_receipt"),
        desk(order, "update_crm", "charge_card", "send_receipt", agent="desk"),
        desk(order, "charge_card", "update_crm", "send_receipt", agent="desk-blind"),
    ]
    others = [flow for name, flow in FLOWS.items() if not name.startswith("desk")]
    flow = dice.choices([*desks, dice.choice(others)], weights=[5, 5, 2, 1, 3])[0]
    if flow.ticket:
        flow = replace(flow, ticket=f"{flow.ticket}-{number}")
    faults = {dice.choice(flow.writes): dice.choice(FAULTS)} if flow.writes and dice.random() < 0.33 else {}
    return Draw(flow, faults)


class Load:
    """The runs that a test has started. The person who answers is the test itself: call `tend` again and again."""

    def __init__(self, books: httpx.Client) -> None:
        self.books = books
        self.runs: list[Run] = []
        self._looked = 0.0

    def start(self, flow: Flow, faults: dict[str, str] | None = None) -> Run:
        """Start one run; a worker carries it out."""
        run = again(lambda: start_flow(flow, faults))
        self.runs.append(run)
        return run

    @property
    def alive(self) -> int:
        """How many of the runs have not ended."""
        return again(lambda: Run.objects.filter(pk__in=self._ids).exclude(state__in=RUN_ENDS).count())

    @property
    def in_flight(self) -> list[Attempt]:
        """The calls that are under way, as the rows say."""
        return again(
            lambda: list(Attempt.objects.filter(step__run__in=self._ids, verdict="", step__state="sent"))
        )

    @property
    def _ids(self) -> list[int]:
        return [run.pk for run in self.runs]

    def tend(self) -> None:
        """Answer what is asked, truthfully; and no effect is without its row."""
        try:
            self._look_for_orphans()
            again(lambda: people.answer_all(self.books))
        except httpx.TransportError:
            pass  # the services are away: nobody can look at the books

    def _look_for_orphans(self) -> None:
        """All the time while there are few runs, and less often the longer the journal is."""
        if time.monotonic() - self._looked > len(self.runs) / 200:
            lines = audit.changes(self.books)
            again(lambda: audit.no_orphan_writes(lines))
            self._looked = time.monotonic()

    def until(self, condition: Callable[[], object], what: str, seconds: float) -> float:
        """Tend the load until the condition is true; how long it took. AssertionError after so many seconds."""
        started = time.monotonic()
        while not condition():
            assert time.monotonic() - started < seconds, (
                f"waited {seconds:.0f} s for {what}; {self.standing()}"
            )
            self.tend()
            time.sleep(0.02)
        return time.monotonic() - started

    def finish(self, seconds: float) -> float:
        """Until every run has ended, and nothing late is left to read."""
        open_ones = Run.objects.filter(pk__in=self._ids)
        return self.until(
            lambda: again(
                lambda: not open_ones.exclude(state__in=RUN_ENDS, late=False, undo_requested_at=None).exists()
            ),
            "every run to end",
            seconds,
        )

    def goes_on(self, seconds: float) -> float:
        """Until some call is sent after now, or none is left to send; how long it took."""
        now = again(clock)
        sent = Attempt.objects.filter(step__run__in=self._ids, sent_at__gt=now)
        return self.until(
            lambda: again(sent.exists) or not self.alive, "work to go on after the kill", seconds
        )

    def audit(self) -> None:
        """The books equal the ledger, entry by entry; and all else that must hold of each run."""
        for run in self.runs:
            audit.ended_well(self.books, run)
        audit.books_equal_ledger(self.books, self.runs)

    def standing(self) -> str:
        """The runs that have not ended, for whoever reads a failure."""
        open_ones = Run.objects.filter(pk__in=self._ids).exclude(state__in=RUN_ENDS, late=False)
        return "; ".join(audit.standing(run) for run in open_ones)


def again(question: Callable[[], T], seconds: float = 30.0) -> T:
    """Ask the database; one that went away is waited for."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return question()
        except (OperationalError, InterfaceError):
            connection.close()
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
