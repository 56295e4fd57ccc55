"""The kill matrix: at every point of every flow a process dies, hard; another one goes on; and the books balance."""

import os
import time
from dataclasses import dataclass, replace

import httpx
import psutil
import pytest

from runs.models import Run
from runs.states import StepState
from tests.crash import audit, people
from tests.crash.carriers import KILLED, Carriers
from tests.crash.points import Point, all_points, spread
from tests.flows import start_flow

pytestmark = pytest.mark.usefixtures("transactional_db")

POINTS = all_points()
TRIED = POINTS if os.environ.get("KILL_MATRIX") == "all" else spread(POINTS, 34)
PATIENCE = 40.0


@dataclass
class Life:
    """One run, carried out by one process after the other, and answered by a person who looks at the books."""

    run: Run
    books: httpx.Client
    carriers: Carriers
    missed: str  # what the person says of a write that is not on the books

    def carry_out(self, point: str = "") -> int:
        """A new process carries it out, with this point armed; how the process ended."""
        pid = self.carriers.start(self.run.pk, point)
        deadline = time.monotonic() + PATIENCE
        while (status := self.carriers.ended(0.02)) is None:
            audit.no_orphan_writes(audit.changes(self.books, self.run))
            people.answer_all(self.books, self.missed, self.run)
            assert time.monotonic() < deadline, f"{audit.standing(self.run)}; {self.carriers.said()}"
        assert not psutil.pid_exists(pid)
        return status


@pytest.mark.parametrize("point", TRIED, ids=[point.name for point in TRIED])
def test_killed_here_nothing_is_lost_and_nothing_doubled(
    books: httpx.Client, carriers: Carriers, point: Point
) -> None:
    missed = "send_again" if POINTS.index(point) % 2 else "did_not_happen"
    # A ticket of its own: what an earlier run of the same ticket did would not be done again.
    flow = replace(point.flow, ticket=point.name if point.flow.ticket else "")
    life = Life(start_flow(flow, point.faults), books, carriers, missed)
    try:
        for death in point.deaths:
            assert life.carry_out(death) in KILLED, f"it did not die at {death}: {carriers.said()}"
            audit.no_orphan_writes(audit.changes(books, life.run))
        died_where_it_should(point, life)
        assert life.carry_out() == 0, carriers.said()
        audit.ended_well(books, life.run)
        audit.books_equal_ledger(books, [life.run])
        assert life.run.state in ends(point, life.run)
    finally:
        carriers.kill()


def died_where_it_should(point: Point, life: Life) -> None:
    """What is left says at which point the process died."""
    step = life.run.steps.filter(tool=point.tool).first()
    attempt = step.attempts.last() if step else None
    landed = {line["key"] for line in audit.changes(life.books, life.run)}
    if point.kind == "before-intent":
        assert attempt is None
    elif point.kind == "after-outcome":
        assert attempt and attempt.verdict
    elif point.tool:
        assert step and step.state == StepState.SENT
        assert attempt and not attempt.verdict
        if point.kind in ("after-intent", "take-over"):
            assert step.entry_id not in landed
        if point.kind == "after-call" and point.tool in point.flow.writes and not point.fails:
            assert step.entry_id in landed


def ends(point: Point, run: Run) -> set[str]:
    """How a run that died at this point may end."""
    if point.gives_up:
        return {"handed_over"}
    missed = run.steps.filter(state=StepState.NOT_PERFORMED).exists()
    if point.fails or missed:
        wrote = run.steps.filter(state__in=[StepState.UNDONE, StepState.PERFORMED]).exists()
        refused = point.file.keys == "action" and not missed
        return {"handed_over"} if refused and not point.faults else {"rolled_back" if wrote else "failed"}
    return {"succeeded"}


def test_the_matrix_has_every_flow_every_write_and_every_place_to_die(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert len(POINTS) >= 200
    assert len({point.name for point in POINTS}) == len(POINTS)
    assert {point.kind for point in TRIED} == {point.kind for point in POINTS}
    assert {point.flow.agent for point in TRIED} == {point.flow.agent for point in POINTS}
    with capsys.disabled():
        print(f"\n{len(TRIED)} of {len(POINTS)} kill points are tried")
