"""A soak of some seconds: whatever was killed, and whatever failed, the books equal the ledger in the end.

SOAK_SECONDS=240    for how long runs are started
SOAK_SEED=4711      the seed of an earlier soak, as it was printed
"""

import os
import random
import time

import httpx
import pytest

from tests.crash.load import Load
from tests.crash.site import Site
from tests.crash.soak import Soak
from tests.crash.times import SITE
from tests.processes import Processes

SECONDS = float(os.environ.get("SOAK_SECONDS", "20"))
SEED = int(os.environ.get("SOAK_SEED", random.randrange(1_000_000)))
PATIENCE = 60.0

pytestmark = [
    pytest.mark.usefixtures("transactional_db"),
    pytest.mark.timeout(SECONDS + 2 * PATIENCE),
]


def test_after_random_kills_and_faults_the_books_equal_the_ledger(
    books: httpx.Client, processes: Processes
) -> None:
    print(f"SOAK_SEED={SEED}")
    site = Site(processes, SITE)
    soak = Soak(site, Load(books), SEED)
    until = time.monotonic() + SECONDS
    soak.run(lambda count: time.monotonic() < until, PATIENCE)
    print(soak.report())
    assert len(soak.load.runs) >= soak.alive
