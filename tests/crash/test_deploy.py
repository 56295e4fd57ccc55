"""A deploy: nineteen runs are in flight, every worker gets SIGTERM and is replaced; nobody is asked anything."""

from functools import partial

import httpx
import pytest

from runs.models import Event, Step
from runs.states import StepState
from tests.crash.load import ORDERS, Load, desk
from tests.crash.site import Site
from tests.crash.times import SITE
from tests.flows import on_the_books, operations
from tests.processes import Processes

pytestmark = pytest.mark.usefixtures("transactional_db")

IN_FLIGHT = 19
# However slow the machine is, no lease runs out: a take-over would be the deploy's doing.
LONG_LEASE = {"STALWART_LEASE_SECONDS": "10"}
WRITES = ("charge_card", "update_crm", "send_receipt")
NEVER = ("step.interrupted", "step.unknown", "step.late_outcome", "step.sent_again", "lease.taken_over")


def test_a_deploy_leaves_no_unknown_and_asks_nobody(books: httpx.Client, processes: Processes) -> None:
    site, load = Site(processes, SITE | LONG_LEASE, workers=3), Load(books)
    for order in ORDERS[:IN_FLIGHT]:
        load.start(desk(order, *WRITES), dict.fromkeys(WRITES, "slow:0.3"))
    for sent in (5, IN_FLIGHT):  # two deploys, in the midst of the calls
        load.until(partial(_is_under_way, load, sent), "calls in flight", 30)
        site.wait_until_open()
        site.deploy()
    load.finish(30)
    load.audit()
    for run in load.runs:
        run.refresh_from_db()
        assert run.state == "succeeded"
        assert on_the_books(books, run) == operations(WRITES)
    events = Event.objects.filter(run__in=load.runs)
    assert list(events.filter(kind__in=NEVER).values_list("kind", flat=True)) == []
    assert not Step.objects.filter(run__in=load.runs).exclude(asks="").exists()


def _is_under_way(load: Load, sent: int) -> bool:
    """Some calls are in flight, and so many steps have been sent."""
    steps = Step.objects.filter(run__in=load.runs).exclude(state=StepState.PROPOSED)
    return len(load.in_flight) >= 3 and steps.count() >= sent
