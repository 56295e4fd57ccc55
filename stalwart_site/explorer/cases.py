"""The six cases: where the process stops, and whether the resume knows the key of what it did.

With the key, the real engine carries out the practice ticket T-90104, dies, and is resumed by another worker.
Without the key, a client that was made for this page does what people do: it calls again, as a new request.
"""

import time
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from itertools import count

from django.db.models.functions import Now

from examples.resolver.tickets import ticket
from runs import services
from runs.access import Actor
from runs.agentfile import agent
from runs.engine import advance
from runs.models import Event, Run
from runs.tools import Call
from runs.tools.dispatch import Verdict, dispatch
from stalwart_site.explorer.sandbox import Line, Stop, Stopped, World, sandbox

TICKET = ticket("T-90104")
ACTION = TICKET.proposal[0]
# A name of its own, so that the key is never that of a run that somebody makes of the ticket.
TICKET_HERE = f"explorer/{TICKET.id}"
AGENT = Actor(TICKET.agent, frozenset(), "agent")
APPROVER = Actor("Amira", frozenset({"support"}))


@dataclass(frozen=True)
class Case:
    """One of the six."""

    stop: Stop
    keyed: bool

    @property
    def resume(self) -> str:
        """How the resume calls the service: its part of the address."""
        return "with-the-key" if self.keyed else "without-the-key"


_SIX = [Case(stop, keyed) for stop in Stop for keyed in (True, False)]
CASES = {(case.stop.value, case.resume): case for case in _SIX}
SHOWN_FIRST = Case(Stop.AFTER, keyed=False)


@dataclass(frozen=True)
class Refund:
    """One refund on the services' books."""

    id: str
    amount: Decimal
    currency: str
    reason: str
    key: str


@dataclass(frozen=True)
class Told:
    """What came of a case. `calls` and `lookups` are those that reached the service, `record` the engine's own."""

    case: Case
    refunds: list[Refund]
    calls: int
    lookups: int
    lines: list[Line]
    record: list[Event]
    seconds: float

    @property
    def paid(self) -> str:
        """What the customer gets: `19.90 CAD`."""
        return f"{sum(refund.amount for refund in self.refunds)} {self.refunds[0].currency}"

    @property
    def milliseconds(self) -> int:
        """How long all of it took."""
        return round(self.seconds * 1000)


def play(case: Case) -> Told:
    """Carry a case out in a world of its own, and tell what came of it. Nothing is kept."""
    began = time.perf_counter()
    with sandbox(case.stop) as world:
        record = with_the_key(world) if case.keyed else without_the_key(world)
        refunds, network = refunds_of(world), world.network
    seconds = time.perf_counter() - began
    return Told(case, refunds, network.writes, network.lookups, world.lines, record, seconds)


# --- With the key: the engine -------------------------------------------------------------------------
def with_the_key(world: World) -> list[Event]:
    """The engine carries the approved refund out, and after a crash another worker does. Returns its record."""
    run = approved()
    try:
        advance(run.pk, "the first worker")
    except Stopped:
        world.lines.append(_checkpoint(run))
        run_lease_out(run)
        world.lines.append(Line("resume", "another worker takes over: a call without an outcome is in doubt"))
        advance(run.pk, "the second worker")
    run.refresh_from_db()
    world.lines.append(Line("end", f"the run {run.state}"))
    return list(Event.objects.filter(run=run).select_related("step"))


def approved() -> Run:
    """A run of the ticket, proposed by its agent and approved by a person; nothing is sent yet."""
    thread = services.start_thread(AGENT, TICKET.agent, TICKET.customer)
    steps = [services.Proposal(ACTION.tool, ACTION.args)]
    run = services.start(AGENT, thread, services.RunRequest(steps=steps, ticket=TICKET_HERE))
    advance(run.pk, "the first worker")
    step = run.steps.get()
    services.resolve(APPROVER, step.pk, "approve", step.digest)
    return run


def run_lease_out(run: Run) -> None:
    """The dead worker's lease ends now, not in some seconds."""
    Run.objects.filter(pk=run.pk).update(lease_expires_at=Now() - timedelta(seconds=1))


def _checkpoint(run: Run) -> Line:
    step = run.steps.select_related("entry").get()
    assert step.entry is not None
    text = f"the record says: refund {step.state}, call {step.calls}, no outcome yet"
    return Line("checkpoint", text, step.entry.key)


# --- Without the key: what people do -------------------------------------------------------------------
def without_the_key(world: World) -> list[Event]:
    """The client of this page sends the refund, and after a crash or a timeout sends it again."""
    shortcut = Shortcut()
    while not shortcut.done:
        try:
            shortcut.send()
        except Stopped:
            world.lines.append(Line("checkpoint", "the record says: refund not done (no key to ask about)"))
            world.lines.append(Line("resume", "the refund is not done, so send it"))
        else:
            if not shortcut.done:
                world.lines.append(Line("resume", "no answer came, so send it again as a new request"))
    world.lines.append(Line("end", "the client’s record says: done"))
    return []


class Shortcut:
    """ "Just call it again": every request is a new one, and the record knows done and not done alone.

    Made for the explorer and for the tests that show what it does; nothing of the product works like this.
    """

    def __init__(self) -> None:
        self.done = False
        self._names = (f"request-{number}" for number in count(1))

    def send(self) -> None:
        """Send the refund under a name that was never used before."""
        tool = agent(TICKET.agent).tools[ACTION.tool]
        outcome = dispatch(tool, dict(ACTION.args), Call(key=next(self._names), tool=tool.name))
        self.done = outcome.verdict is Verdict.PERFORMED


# --- The books ------------------------------------------------------------------------------------------
def refunds_of(world: World) -> list[Refund]:
    """What the payment service has on its books of this order, oldest first, and under which key."""
    rows = world.books.get("/payments/order-refunds", params={"order": TICKET.order}).json()
    keys = [change["key"] for change in world.books.get("/changes").json()]
    return [
        Refund(row["refund"], Decimal(row["amount"]), row["currency"], row["reason_code"], key)
        for row, key in zip(rows, keys, strict=True)
    ]
