"""kill -9 of a program in a saga: from its rows alone, in a fresh process, what it did is undone, once."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runs.models import Run
from runs.saga import recover
from runs.states import PARKED
from tests.boxes import world
from tests.processes import Processes, Started, until

pytestmark = pytest.mark.django_db(transaction=True)
TWO = ["provision s", "add_dns box-s"]
THREE = [*TWO, "warm box-s"]
BOTH_UNDONE = ["del_dns box-s", "deprovision box-s"]


@pytest.fixture(autouse=True)
def _short_pauses(settings: Any) -> None:
    settings.LEASE_SECONDS, settings.RETRY_SECONDS = 1, 0.02


@pytest.fixture
def program(processes: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Started]:
    """Starts the program, or a recovery, in a process of its own."""
    monkeypatch.setenv("BOXES", str(tmp_path / "boxes"))

    def start(what: str = "", dies: str = "") -> Started:
        settings = {"BOXES": os.environ["BOXES"], "STALWART_FAULT_POINT": dies}
        return processes.python("tests.boxes_program", what, **settings)

    return start


def _killed(started: Started) -> None:
    assert started.process.wait(20) == -signal.SIGKILL, started.said()


def _recovered() -> Run:
    """After its lease this process, another one, cleans up; a second time there is nothing left to do."""
    time.sleep(1.1)
    recover()
    assert recover() == []
    return Run.objects.get()


def _asked(run: Run) -> list[str]:
    return [step.question for step in run.steps.filter(state__in=PARKED, answer="")]


def test_a_program_that_is_through_leaves_what_it_did(program: Callable[..., Started]) -> None:
    assert program().process.wait(20) == 0
    assert (world(), _recovered().state) == (THREE, "succeeded")
    assert world() == THREE


def test_a_program_that_is_killed_after_two_steps_is_cleaned_up_after_from_the_record_alone(
    program: Callable[..., Started],
) -> None:
    _killed(program(dies="after-outcome:dns"))
    assert world() == TWO
    time.sleep(1.1)
    recovery = program("recover")
    assert recovery.process.wait(20) == 0, recovery.said()
    run = _recovered()
    assert (world(), run.state, run.handover_reason) == (
        TWO + BOTH_UNDONE,
        "handed_over",
        "run_died_mid_sequence",
    )


def test_a_program_that_is_killed_before_a_step_is_recorded_never_sent_it(
    program: Callable[..., Started],
) -> None:
    _killed(program(dies="before-intent:dns"))
    run = _recovered()
    assert (world(), _asked(run)) == (["provision s", "deprovision box-s"], [])
    assert run.steps.filter(tool="dns").count() == 0


@pytest.mark.parametrize(("point", "sent"), [("after-intent", False), ("after-call", True)])
def test_a_step_that_was_in_flight_is_asked_about_and_the_rest_is_undone(
    program: Callable[..., Started], point: str, sent: bool
) -> None:
    _killed(program(dies=f"{point}:dns"))
    run = _recovered()
    assert _asked(run) == ["Did dns take effect? It was being sent when the run stopped."]
    assert world() == [*(TWO if sent else TWO[:1]), "deprovision box-s"]


@pytest.mark.parametrize(("point", "sent"), [("after-intent", False), ("after-call", True)])
def test_a_step_that_was_in_flight_is_looked_up_where_it_can_be(
    program: Callable[..., Started], point: str, sent: bool
) -> None:
    _killed(program("looked-up", dies=f"{point}:dns"))
    run = _recovered()
    assert (_asked(run), run.state) == ([], "handed_over")
    done = ["provision s", *(["provision m"] if sent else [])]
    assert world() == [
        *done,
        *(f"deprovision {line.replace('provision ', 'box-')}" for line in reversed(done)),
    ]


@pytest.mark.parametrize("point", ["after-intent", "after-call"])
def test_an_undo_that_may_be_repeated_is_sent_again_by_whoever_recovers(
    program: Callable[..., Started], point: str
) -> None:
    _killed(program("fails", dies=f"{point}:tests.boxes.del_dns"))
    run = _recovered()
    assert (world(), run.state) == ([*THREE, "cool box-s", *BOTH_UNDONE], "rolled_back")


@pytest.mark.parametrize(("point", "sent"), [("after-intent", []), ("after-call", ["cool box-s"])])
def test_any_other_undo_that_was_in_flight_is_asked_about_and_the_rest_is_undone(
    program: Callable[..., Started], point: str, sent: list[str]
) -> None:
    _killed(program("fails", dies=f"{point}:tests.boxes.cool"))
    run = _recovered()
    assert _asked(run) == ["Did tests.boxes.cool take effect? It was being sent when the run stopped."]
    assert world() == [*THREE, *sent, *BOTH_UNDONE]


def test_a_program_that_is_killed_between_its_undoing_and_its_error_has_undone_all(
    program: Callable[..., Started],
) -> None:
    _killed(program("fails", dies="after-outcome:tests.boxes.deprovision"))
    assert world() == [*THREE, "cool box-s", *BOTH_UNDONE]
    assert (_recovered().state, world()) == ("rolled_back", [*THREE, "cool box-s", *BOTH_UNDONE])


def test_a_program_that_fails_says_its_own_error(program: Callable[..., Started]) -> None:
    started = program("fails")
    assert started.process.wait(20) == 1
    assert started.said().rstrip().endswith("Unhealthy")
    assert world() == [*THREE, "cool box-s", *BOTH_UNDONE]


def test_two_recoveries_at_once_undo_once(program: Callable[..., Started]) -> None:
    _killed(program(dies="after-outcome:dns"))
    time.sleep(1.1)
    for recovery in [program("recover") for _ in range(2)]:
        assert recovery.process.wait(20) == 0, recovery.said()
    assert (world(), Run.objects.get().state) == (TWO + BOTH_UNDONE, "handed_over")


def test_the_workers_clean_up_by_themselves(processes: Processes, program: Callable[..., Started]) -> None:
    settings = {"BOXES": os.environ["BOXES"]}
    processes.worker(**settings), processes.sweep(**settings)
    _killed(program(dies="after-outcome:dns"))
    until(lambda: Run.objects.get().state == "handed_over", "the sweep and a worker", 40)
    assert world() == TWO + BOTH_UNDONE


def test_a_program_that_was_only_frozen_sends_nothing_more_when_it_thaws(
    processes: Processes, program: Callable[..., Started]
) -> None:
    frozen = program("pauses")
    go = Path(os.environ["BOXES"] + ".go")
    until(go.with_suffix(".ready").exists, f"its pause; {frozen.said()}")
    frozen.process.send_signal(signal.SIGSTOP)
    assert _recovered().state == "handed_over"
    go.touch()
    frozen.process.send_signal(signal.SIGCONT)
    assert frozen.process.wait(20) == 1
    assert "taken over by another process, which undoes it" in frozen.said()
    assert world() == TWO + BOTH_UNDONE
