"""The other side of replacing a cluster that hangs: one that is busy for long looks much like it, and is left alone."""

import httpx
import pytest

from runs.models import Event
from runs.queue import nudge, waiting
from tests.crash.load import ORDERS, Load, desk
from tests.crash.times import SITE
from tests.processes import Processes, until

pytestmark = pytest.mark.usefixtures("transactional_db")

# Longer than a cluster may do nothing, and than the lease.
LONG = {"STALWART_STALL_SECONDS": "2", "STALWART_WORKERS": "1", "STALWART_CALL_TIMEOUT_SECONDS": "10"}


def test_a_worker_in_a_long_call_is_left_alone_however_many_nudges_wait(
    books: httpx.Client, processes: Processes
) -> None:
    worker, load = processes.worker(**SITE | LONG), Load(books)
    run = load.start(desk(ORDERS[0], "charge_card"), {"charge_card": "slow:6"})
    load.until(lambda: load.in_flight, "the call to leave", 20)
    for _ in range(5):  # more than a cluster with one process takes
        nudge(0)
    until(lambda: waiting() < 5, "some to be taken")
    assert waiting()
    load.finish(20)
    until(lambda: not waiting(), "all to be taken")
    assert "hung" not in worker.said()
    assert not Event.objects.filter(run=run, kind="lease.taken_over").exists()
