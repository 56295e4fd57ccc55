"""Two deploys: nineteen runs are in flight, every worker gets SIGTERM and is replaced; nobody is asked anything."""

import httpx
import pytest

from runs.models import Event, Step
from tests.crash.load import ORDERS, Load, desk
from tests.crash.site import Site
from tests.crash.times import SITE
from tests.flows import on_the_books, operations
from tests.processes import Processes

pytestmark = pytest.mark.usefixtures("transactional_db")

IN_FLIGHT = 19
# However slow the machine is, no lease runs out and no drain: a take-over would be the deploy's doing.
LONG_TIMES = {"STALWART_LEASE_SECONDS": "10", "STALWART_DRAIN_SECONDS": "15"}
WRITES = ("charge_card", "update_crm", "send_receipt")
NEVER = ("step.interrupted", "step.unknown", "step.late_outcome", "step.sent_again", "lease.taken_over")


def test_a_deploy_leaves_no_unknown_and_asks_nobody(books: httpx.Client, processes: Processes) -> None:
    site, load = Site(processes, SITE | LONG_TIMES, workers=3), Load(books)
    for first in (0, IN_FLIGHT):  # two deploys, each in the midst of calls
        site.wait_until_open()
        for order in ORDERS[first : first + IN_FLIGHT]:
            load.start(desk(order, *WRITES), dict.fromkeys(WRITES, "slow:0.3"))
        load.until(lambda: len(load.in_flight) >= 3, "calls in flight", 30)
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
