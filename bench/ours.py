"""Ours: `advance()` on runs of writes. Imported once Django is set up."""

import secrets

from approvals.services import Reply, answer
from bench.stopwatch import Watch
from runs import services
from runs.access import Actor
from runs.engine import advance
from runs.models import Run, Step
from runs.states import PARKED, RunState

AGENT = "bench"
PROGRAM = Actor("bench", frozenset(), "agent")
PERSON = Actor("Ana Ferreira", frozenset({"support"}))


def start(writes: int, tool: str = "put") -> Run:
    """A run of this many writes, not carried out yet."""
    thread = services.start_thread(PROGRAM, AGENT, "u-1")
    steps = [services.Proposal(tool, {"n": number}) for number in range(writes)]
    return services.start(PROGRAM, thread, services.RunRequest(steps=steps))


def in_runs_of(length: int, writes: int, watch: Watch) -> None:
    """Carry out runs of `length` writes that nobody confirms, one after the other; starting them is not counted."""
    runs = [start(length) for _ in range(writes // length)]
    with watch.running():
        for run in runs:
            advance(run.pk)
    for run in runs:
        _expect_success(run)


def confirmed(writes: int, watch: Watch) -> None:
    """One run: started, and each of its writes parked, approved by a person, and carried out."""
    with watch.running():
        run = start(writes, "ask_put")
        advance(run.pk)
        while step := _question(run):
            answer(PERSON, step.pk, Reply("approve", step.digest, secrets.token_hex(16)))
            advance(run.pk)
    _expect_success(run)


def _question(run: Run) -> Step | None:
    return Step.objects.filter(run=run, state__in=PARKED, answer="").first()


def _expect_success(run: Run) -> None:
    run.refresh_from_db()
    assert run.state == RunState.SUCCEEDED, f"{run.name} is {run.state}"
