"""A saga (S2): a clean exit commits; any exception undoes the steps in reverse and is raised again."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import OperationalError, connection

from runs import undertaking
from runs.errors import UndosFailed
from runs.models import Attempt, Run, Step
from runs.saga import Saga, recover
from tests import boxes
from tests.boxes import provision, world
from tests.factories import answer, expire, reply, start
from tests.sagas import DONE, UNDONE, Unhealthy, died, failing, three_steps

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("boxes_world")]


# --- The ten claims ---------------------------------------------------------------------------------------
# Two more are in tests/acceptance/test_killed_saga.py: recovery from the record alone, after a real SIGKILL.


def test_a_clean_exit_undoes_nothing() -> None:
    with Saga("provision box") as saga:
        three_steps(saga)
    run = Run.objects.get()
    assert (world(), run.state, saga.run) == (DONE, "succeeded", run.name)
    assert reply(run) == "Done: provision; dns; cache."


def test_any_exception_undoes_the_completed_steps_in_reverse_order() -> None:
    run = failing(Unhealthy("no answer on 443"))
    assert (world(), run.state) == (DONE + UNDONE, "rolled_back")
    assert reply(run) == (
        "This run stopped: cancelled by its program (Unhealthy). Undone, latest first: cache (by tests.boxes.cool), "
        "dns (by tests.boxes.del_dns), provision (by tests.boxes.deprovision)."
    )


def test_the_original_error_is_raised_again() -> None:
    error = Unhealthy("no answer on 443")
    failing(error)
    assert error.__cause__ is None


def test_the_step_that_failed_is_not_compensated() -> None:
    boxes.FAILS["warm"] = [RuntimeError("the cache is down")]
    with pytest.raises(RuntimeError, match="the cache is down"), Saga("provision box") as saga:
        three_steps(saga)
    assert world() == DONE[:2] + UNDONE[1:]
    assert reply(Run.objects.get()).startswith(
        "This run stopped: cache failed (RuntimeError). Undone, latest first: dns"
    )


def test_one_failing_undo_does_not_stop_the_rest() -> None:
    boxes.FAILS["del_dns"] = [OSError("the zone is locked")]
    run = failing(Unhealthy())
    assert world() == [*DONE, "cool box-s", "deprovision box-s"]
    assert run.state == "stuck"


def test_one_error_names_every_undo_that_failed_and_the_original_is_still_caught() -> None:
    boxes.FAILS["cool"] = [OSError("no cache")]
    boxes.FAILS["deprovision"] = [RuntimeError("the cloud says no")]
    error = Unhealthy()
    run = failing(error)  # a program's own `except Unhealthy` is met
    assert isinstance(error.__cause__, UndosFailed)
    assert error.__cause__.message == f"{run.name} is not all undone: 2 questions for a person"
    assert {str(one).partition(". ")[0] for one in error.__cause__.exceptions} == {
        "Undoing cache failed after 1 tries (OSError)",
        "Undoing provision failed after 1 tries (RuntimeError)",
    }


def test_a_named_undo_and_its_json_arguments_are_recorded_per_step_before_it_is_carried_out() -> None:
    seen: list[Any] = []

    def action() -> None:
        step, attempt = Step.objects.get(), Attempt.objects.get()
        seen.extend([step.state, step.named, attempt.verdict, attempt.entry.args])

    with Saga("provision box") as saga:
        saga.step("dns", action, undo="tests.boxes.del_dns", undo_args={"box": "box-7"}, retries=2)
    assert seen == [
        "sent",
        {"undo": {"tests.boxes.del_dns": {"box": "box-7"}}, "lookup": None, "tries": 3},
        "",
        {},
    ]


def test_a_dead_process_is_cleaned_up_after_and_a_person_is_told() -> None:
    run = died()
    [left] = recover()
    assert world() == [*DONE[:2], *UNDONE[1:]]
    run.refresh_from_db()
    assert (left.run, run.state, run.handover_reason) == (run.name, "handed_over", "run_died_mid_sequence")
    assert left.text == (
        "This run stopped: its process died. Undone, latest first: dns (by tests.boxes.del_dns), "
        "provision (by tests.boxes.deprovision)."
    )


def test_a_recovery_that_is_run_twice_undoes_once() -> None:
    died()
    assert (len(recover()), len(recover())) == (1, 0)
    assert world() == [*DONE[:2], *UNDONE[1:]]


def test_two_recoveries_at_once_undo_once() -> None:
    died()
    with ThreadPoolExecutor(2) as both:
        found = [both.submit(_recover_and_hang_up) for _ in range(2)]
        assert [one.result() for one in found]
    assert world() == [*DONE[:2], *UNDONE[1:]]


def test_a_recovery_leaves_the_runs_of_agents_to_the_workers(agent: str) -> None:
    run = start(agent, "charge 1 40.00")
    Run.objects.filter(pk=run.pk).update(state="running")
    expire(run)
    assert recover() == []
    run.refresh_from_db()
    assert (run.state, run.lease_owner) == ("running", "elsewhere:1:dead")


def _recover_and_hang_up() -> bool:
    try:
        recover()
        return True
    finally:
        connection.close()


def test_a_committed_saga_is_left_alone() -> None:
    with Saga("provision box") as saga:
        three_steps(saga)
    expire(Run.objects.get())
    assert recover() == []
    assert world() == DONE


# --- What is raised ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), GeneratorExit(), Unhealthy()])
def test_whatever_leaves_the_block_undoes_it(error: BaseException) -> None:
    failing(error)
    assert world() == DONE + UNDONE


def test_an_error_keeps_its_own_cause_beside_the_undos_that_failed() -> None:
    boxes.FAILS["cool"] = [OSError()]
    error, cause = Unhealthy(), ValueError("why")
    error.__cause__ = cause
    failing(error)
    assert isinstance(error.__cause__, UndosFailed)
    assert error.__cause__.__cause__ is cause


def test_a_database_that_is_away_does_not_hide_the_programs_own_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def away(*_: Any, **__: Any) -> None:
        raise OperationalError("the connection is lost")

    error = Unhealthy()
    with pytest.raises(Unhealthy), monkeypatch.context() as patch, Saga("provision box") as saga:
        three_steps(saga)
        patch.setattr(undertaking, "commit", away)
        raise error
    assert isinstance(error.__cause__, UndosFailed)
    assert "was not undone by this process, and a worker goes on with it" in error.__cause__.message
    expire(Run.objects.get())
    recover()
    assert world() == DONE + UNDONE


def test_an_undo_is_tried_again_where_the_step_says_so() -> None:
    boxes.FAILS["deprovision"] = [OSError(), OSError()]
    with pytest.raises(Unhealthy), Saga("provision box") as saga:
        saga.step("provision", provision, undo="deprovision", undo_args={"box": "$result.id"}, retries=2)
        raise Unhealthy
    assert (world(), Run.objects.get().state) == (["provision s", "deprovision box-s"], "rolled_back")


def test_a_person_retries_an_undo_that_failed() -> None:
    boxes.FAILS["del_dns"] = [OSError("the zone is locked")]
    run = answer(failing(Unhealthy()), "retry")
    assert run.state == "rolled_back"
    assert world() == [*DONE, "cool box-s", "deprovision box-s", "del_dns box-s"]
