"""A rollback of 500 writes: each is undone once, last first, in little more memory than its rows take."""

import tracemalloc
from pathlib import Path

import pytest

from runs import services
from runs.engine import advance
from runs.models import Run
from tests.factories import AGENT, PERSON, make_agent, question
from tests.shelf import SHELF

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]
MANY = 500
MEGABYTE = 1024 * 1024


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A run that has stored 500 things, and asks about one more."""
    SHELF.reset()
    agent = make_agent(tmp_path, "keeper", ["store", "unstore", "enlist", "unlist"], module="tests.shelf")
    steps = [services.Proposal("store", {"n": number}) for number in range(MANY)]
    steps.append(services.Proposal("enlist", {"n": MANY}))
    started = services.start(
        AGENT, services.start_thread(AGENT, agent, "u-1"), services.RunRequest(steps=steps)
    )
    return _carry_on(started, "waiting")


def _carry_on(run: Run, state: str) -> Run:
    """Turn after turn: a long run is given back between two."""
    for _ in range(200):
        advance(run.pk)
        run.refresh_from_db()
        if run.state == state:
            return run
    raise AssertionError(f"{run} is {run.state}")


def test_five_hundred_writes_are_undone_last_first_in_bounded_memory(run: Run, figures: list[str]) -> None:
    step = question(run)
    services.resolve(PERSON, step.pk, "cancel_all", step.digest)
    tracemalloc.start()
    _carry_on(run, "rolled_back")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    undone = [number for tool, number, _ in SHELF.landed if tool == "unstore"]
    assert undone == list(reversed(range(MANY)))
    assert run.steps.filter(state="undone").count() == MANY
    # The rows themselves, a thousand steps with what the core sees of them: about 10 KB for each write.
    assert peak < 12 * MEGABYTE
    figures.append(f"A rollback of {MANY} writes took {peak / MEGABYTE:.1f} MB")
