"""A saga beside others: operators, other processes, other sagas; and the forms in which a program uses it."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest
from django.db import transaction
from django.test import Client

from runs import heartbeat, services
from runs.access import Actor
from runs.errors import BadInput, ConfigurationError, LeaseLost, NotAllowed, SagaStopped, UndosFailed
from runs.handover import ticket
from runs.models import Attempt, Run
from runs.saga import Saga, recover
from runs.services import cancel, undo
from tests import boxes
from tests.boxes import add_dns, provision, world
from tests.factories import PERSON, answer, make_agent, question, reply, until
from tests.integration.pages import signed_in, words
from tests.sagas import DONE, UNDONE, Unhealthy, died, failing, taken_over, three_steps

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("boxes_world")]


@pytest.fixture
def olga(db: None) -> Client:
    """An operator."""
    return signed_in("olga", "Olga Petrova", "operator")


# --- Who else acts on it ------------------------------------------------------------------------------------


def test_an_operators_cancel_is_seen_at_the_next_step_and_undoes_it() -> None:
    with (
        pytest.raises(SagaStopped, match="takes no more steps: cancelled by Ana Ferreira"),
        Saga("provision box") as saga,
    ):
        saga.step("provision", provision, undo="deprovision", undo_args={"box": "$result.id"})
        cancel(PERSON, Run.objects.get(), "not today")
        saga.step("dns", add_dns, args={"box": "b"})
    assert world() == ["provision s", "deprovision box-s"]
    assert reply(Run.objects.get()).startswith("This run stopped: cancelled by Ana Ferreira.")


def test_a_saga_that_was_cancelled_in_its_last_step_is_not_committed() -> None:
    with pytest.raises(SagaStopped, match="was not committed"), Saga("provision box") as saga:
        saga.step("provision", provision, undo="deprovision", undo_args={"box": "$result.id"})
        cancel(PERSON, Run.objects.get(), "not today")
    assert world() == ["provision s", "deprovision box-s"]


def test_an_operator_undoes_a_committed_saga_later() -> None:
    with Saga("provision box") as saga:
        three_steps(saga)
    undo(PERSON, Run.objects.get())
    until(Run.objects.get(), "rolled_back")
    assert world() == DONE + UNDONE


def test_a_saga_that_was_taken_over_sends_nothing_more() -> None:
    """Its process was only frozen: it thaws, and another has undone what it did."""
    with (
        pytest.raises(LeaseLost, match="taken over by another process, which undoes it"),
        Saga("provision box") as saga,
    ):
        saga.step("provision", provision, undo="deprovision", undo_args={"box": "$result.id"})
        taken_over()
        saga.step("dns", add_dns, args={"box": "b"})
    assert world() == ["provision s", "deprovision box-s"]


def test_a_saga_that_was_taken_over_in_its_last_pause_is_not_committed() -> None:
    with pytest.raises(LeaseLost), Saga("provision box") as saga:
        saga.step("provision", provision, undo="deprovision", undo_args={"box": "$result.id"})
        taken_over()
    assert world() == ["provision s", "deprovision box-s"]


def test_a_step_that_returns_after_its_saga_was_taken_over_is_undone_after_all() -> None:
    def slow() -> dict[str, Any]:
        made = provision()
        taken_over()
        return made

    with pytest.raises(LeaseLost), Saga("provision box") as saga:
        saga.step("provision", slow, undo="tests.boxes.deprovision", undo_args={"box": "$result.id"})
    run = until(Run.objects.get(), "handed_over")
    assert world() == ["provision s", "deprovision box-s"]
    assert Attempt.objects.filter(late=True).count() == 1
    assert run.steps.get(tool="provision").state == "undone"


def test_a_program_that_was_taken_over_and_fails_raises_its_own_error() -> None:
    error = Unhealthy()
    with pytest.raises(Unhealthy), Saga("provision box") as saga:
        saga.step("provision", provision, undo="deprovision", undo_args={"box": "$result.id"})
        taken_over()
        raise error
    assert world() == ["provision s", "deprovision box-s"]
    assert isinstance(error.__cause__, UndosFailed)


def test_the_lease_is_kept_between_two_steps(settings: Any) -> None:
    settings.LEASE_SECONDS = 1
    heartbeat._forget()  # the beat of an earlier test still waits at the pace of a longer lease
    with Saga("provision box") as saga:
        saga.step("provision", provision)
        time.sleep(2)
        assert not Run.objects.with_work().exists()
        saga.step("dns", add_dns, args={"box": "b"})
    assert Run.objects.get().state == "succeeded"


def test_nobody_else_starts_a_run_of_a_saga_or_adds_a_step_to_it() -> None:
    shop = Actor("the shop", frozenset(), "agent")
    with Saga("provision box"):
        run = Run.objects.get()
        for verb in (
            lambda: services.start_thread(shop, "saga", "u-1"),
            lambda: services.propose(shop, run, services.Proposal("tests.boxes.deprovision", {"box": "b"})),
            lambda: services.close(PERSON, run),
            lambda: services.start(
                shop,
                run.thread,
                services.RunRequest(steps=[services.Proposal("tests.boxes.cool", {"box": "b"})]),
            ),
        ):
            with pytest.raises(NotAllowed):
                verb()
    assert world() == []


def test_an_agent_cannot_be_called_as_sagas_are(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="saga is not a name for an agent"):
        make_agent(tmp_path, "saga")


# --- How it is used -----------------------------------------------------------------------------------------


def test_a_saga_inside_a_transaction_is_refused_since_its_rows_would_not_be_committed() -> None:
    with transaction.atomic(), pytest.raises(SagaStopped, match="leave the transaction"), Saga("box"):
        pass
    with pytest.raises(SagaStopped, match="leave the transaction"), Saga("box") as saga, transaction.atomic():
        saga.step("provision", provision)
    assert world() == []


def test_a_saga_is_used_once_and_its_steps_inside_it() -> None:
    saga = Saga("provision box")
    with pytest.raises(SagaStopped, match="has not begun"):
        saga.step("provision", provision)
    with saga:
        pass
    with pytest.raises(SagaStopped, match="is over"):
        saga.step("provision", provision)
    with pytest.raises(SagaStopped, match="was begun already"), saga:
        pass
    assert world() == []


def test_steps_come_one_after_another() -> None:
    with (
        pytest.raises(SagaStopped, match="Another step of provision box is under way"),
        Saga("provision box") as saga,
    ):
        saga.step("outer", lambda: saga.step("inner", provision))
    assert world() == []


def test_a_saga_inside_a_saga_is_undone_first_and_each_undoes_its_own() -> None:
    with pytest.raises(Unhealthy), Saga("outer") as outer:
        outer.step("provision", provision, undo="deprovision", undo_args={"box": "$result.id"})
        with Saga("inner") as inner:
            inner.step("dns", add_dns, args={"box": "box-s"}, undo="del_dns")
            raise Unhealthy
    assert world() == ["provision s", "add_dns box-s", "del_dns box-s", "deprovision box-s"]
    assert [run.state for run in Run.objects.all()] == ["rolled_back", "rolled_back"]


def test_a_committed_saga_inside_one_that_fails_stays_committed() -> None:
    with pytest.raises(Unhealthy), Saga("outer") as outer:
        outer.step("provision", provision, undo="deprovision", undo_args={"box": "$result.id"})
        with Saga("inner") as inner:
            inner.step("dns", add_dns, args={"box": "box-s"}, undo="del_dns")
        raise Unhealthy
    assert world() == ["provision s", "add_dns box-s", "deprovision box-s"]


def test_a_failing_undo_of_an_inner_saga_and_of_an_outer_one_are_both_named() -> None:
    boxes.FAILS["del_dns"], boxes.FAILS["deprovision"] = [OSError()], [OSError()]
    error = Unhealthy()
    with pytest.raises(Unhealthy), Saga("outer") as outer:
        outer.step("provision", provision, undo="deprovision", undo_args={"box": "$result.id"})
        with Saga("inner") as inner:
            inner.step("dns", add_dns, args={"box": "box-s"}, undo="del_dns")
            raise error
    of_outer = error.__cause__
    assert isinstance(of_outer, UndosFailed) and isinstance(of_outer.__cause__, UndosFailed)
    assert "Undoing provision" in str(of_outer.exceptions)
    assert "Undoing dns" in str(of_outer.__cause__.exceptions)


def test_as_a_decorator_each_call_is_a_saga_of_its_own() -> None:
    @Saga("provision box")
    def program(saga: Saga, size: str, *, fails: bool = False) -> str:
        box = saga.step(
            "provision", provision, args={"size": size}, undo="deprovision", undo_args={"box": "$result.id"}
        )
        if fails:
            raise Unhealthy
        return str(box["id"])

    assert program("m") == "box-m"
    with pytest.raises(Unhealthy):
        program("l", fails=True)
    assert world() == ["provision m", "provision l", "deprovision box-l"]
    assert [run.state for run in Run.objects.order_by("pk")] == ["succeeded", "rolled_back"]


def test_a_generator_is_refused_as_a_program_and_as_an_action() -> None:
    def steps(saga: Saga) -> Iterator[int]:
        yield 1

    with pytest.raises(ConfigurationError, match="is a generator"):
        Saga("provision box")(steps)

    def lazy() -> Iterator[int]:
        provision()
        yield 1

    with pytest.raises(TypeError, match="nothing of it has run"), Saga("provision box") as saga:
        saga.step("provision", lazy)
    assert (world(), Run.objects.get().state) == ([], "failed")


def test_a_saga_in_a_generator_that_is_closed_is_undone() -> None:
    def program() -> Iterator[str]:
        with Saga("provision box") as saga:
            saga.step("provision", provision, undo="deprovision", undo_args={"box": "$result.id"})
            yield "half-way"
            saga.step("dns", add_dns, args={"box": "b"})

    running = program()
    assert next(running) == "half-way"
    running.close()  # type: ignore[attr-defined]
    assert world() == ["provision s", "deprovision box-s"]


def test_a_child_that_was_forked_inside_leaves_the_saga_to_its_parent() -> None:
    with Saga("provision box") as saga:
        saga.step("provision", provision, undo="deprovision", undo_args={"box": "$result.id"})
        saga._pid += 1  # as the child sees it
        with pytest.raises(SagaStopped, match="another process's"):
            saga.step("dns", add_dns, args={"box": "b"})
        saga.__exit__(Unhealthy, Unhealthy(), None)
        saga._pid -= 1
    assert (world(), Run.objects.get().state) == (["provision s"], "succeeded")


@pytest.mark.parametrize(("name", "why"), [("", "1 to 100"), ("x" * 101, "1 to 100"), ("a\x00", "1 to 100")])
def test_a_saga_needs_a_name(name: str, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        Saga(name)


def test_a_saga_is_on_the_page_of_runs_like_any_run(olga: Client) -> None:
    boxes.FAILS["del_dns"] = [OSError("the zone is locked")]
    run = failing(Unhealthy("no answer on 443"))
    page, runs = words(olga.get(f"/runs/{run.pk}/")), words(olga.get("/runs/"))
    assert "saga · provision box" in runs
    for said in (
        "saga · provision box",
        "provision() undone",
        "dns(box box-s) performed",
        "Undoing dns failed after 1 tries (OSError)",
        "tests.boxes.cool",
    ):
        assert said in page, said


def test_the_page_of_a_question_says_what_undoes_a_programs_step(olga: Client) -> None:
    boxes.FAILS["add_dns"] = [TimeoutError()]
    with pytest.raises(TimeoutError), Saga("provision box") as saga:
        three_steps(saga)
    page = words(olga.get(f"/questions/{question(Run.objects.get()).pk}/"))
    assert "Did dns take effect?" in page
    assert "tests.boxes.del_dns" in page


def test_a_saga_that_died_is_handed_over_like_any_run(olga: Client) -> None:
    run = died()
    recover()
    page = words(olga.get(f"/handovers/{run.pk}/"))
    assert "the run died mid-sequence" in page
    assert "tests.boxes.del_dns" in page
    assert ticket(Run.objects.get())["undone"] == [
        {"tool": "dns", "by": "tests.boxes.del_dns", "at": ANY},
        {"tool": "provision", "by": "tests.boxes.deprovision", "at": ANY},
    ]


def test_a_person_reads_a_sagas_conversation_and_sends_it_nothing(olga: Client) -> None:
    with Saga("provision box") as saga:
        three_steps(saga)
    thread = Run.objects.get().thread_id
    assert "Done: provision; dns; cache." in words(olga.get(f"/conversations/{thread}/"))
    assert olga.post(f"/conversations/{thread}/", {"text": "provision a box"}).status_code == 403
    assert Run.objects.count() == 1


def test_an_abandoned_undo_of_a_saga_is_tried_anew_when_an_operator_undoes_it() -> None:
    boxes.FAILS["del_dns"] = [OSError("the zone is locked")]
    run = answer(failing(Unhealthy()), "abandon", reason="later")
    assert run.state == "abandoned"
    undo(PERSON, run)
    assert until(run, "rolled_back").steps.get(tool="dns").state == "undone"
    assert world() == [*DONE, "cool box-s", "deprovision box-s", "del_dns box-s"]
