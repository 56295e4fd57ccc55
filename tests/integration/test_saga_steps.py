"""The steps of a saga: what is recorded, what is wrong is said first, and what nobody knows is never assumed."""

import contextlib
import itertools
import os
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection

from runs import engine, undertaking
from runs.errors import BadInput, ConfigurationError, SagaStopped, UndoNotBound, UndosFailed
from runs.models import Attempt, Run, Step
from runs.saga import Saga, recover
from runs.tools import Call
from tests import boxes
from tests.boxes import add_dns, provision, warm, world
from tests.factories import answer, question, reply
from tests.sagas import DONE, Unhealthy, died, three_steps

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("boxes_world")]


# --- A step -----------------------------------------------------------------------------------------------


def test_a_step_returns_what_its_action_returns_whatever_that_is() -> None:
    thing = object()
    with Saga("provision box") as saga:
        assert saga.step("look", lambda: thing) is thing
        assert saga.step(
            "provision", provision, args={"size": "xl"}, undo="deprovision", undo_args={"box": 7 * "b"}
        ) == {"id": "box-xl"}


def test_a_step_without_an_undo_is_listed_as_left() -> None:
    with pytest.raises(Unhealthy), Saga("provision box") as saga:
        saga.step("announce", lambda: None)
        three_steps(saga, Unhealthy())
    assert reply(Run.objects.get()).endswith("Not undoable, and left as they are: announce.")


def test_a_step_whose_undo_cannot_be_bound_says_so_at_once_and_the_rest_is_undone() -> None:
    with (
        pytest.raises(
            UndoNotBound, match=r"provision took effect, and cannot be undone: .*box <- \$result.name"
        ),
        Saga("provision box") as saga,
    ):
        saga.step("dns", add_dns, args={"box": "box-s"}, undo="del_dns")
        saga.step("provision", provision, undo="deprovision", undo_args={"box": "$result.name"})
    assert world() == ["add_dns box-s", "provision s", "del_dns box-s"]
    assert reply(Run.objects.get()).endswith("Not undoable, and left as they are: provision.")


def test_the_key_reaches_an_action_that_asks_for_its_call() -> None:
    with Saga("provision box") as saga:
        saga.step("provision", boxes.keyed, args={"size": "m"})
    assert Path(os.environ["BOXES"]).read_text() == f"provision m {Attempt.objects.get().entry_id}\n"


def test_a_tool_is_a_step_with_its_own_undo_and_lookup() -> None:
    with pytest.raises(Unhealthy), Saga("provision box") as saga:
        saga.step("warm it", boxes.warm_up, args={"box": "box-1"})
        assert Step.objects.get().named == {
            "undo": {"tests.boxes.cool": {"box": "$args.box"}},
            "lookup": "tests.boxes.find_box",
            "tries": 1,
        }
        raise Unhealthy
    assert world() == ["warm_up box-1", "cool box-1"]


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ({"undo": "nobody"}, "tests.boxes.nobody is not a tool"),
        ({"undo": "provision"}, "tests.boxes.provision is not a tool"),
        ({"undo": "no.such.module"}, "no.such cannot be imported"),
        ({"undo": lambda: None}, "not found by another process"),
        ({"undo": "deprovision", "undo_args": {"crate": 1}}, "tests.boxes.deprovision takes no crate"),
        ({"undo": "deprovision", "undo_args": {"box": 7}}, "valid string"),
        ({"undo": "deprovision", "undo_args": {"box": "$40"}}, r"neither \$args.<name> nor \$result.<field>"),
        ({"undo": "deprovision", "undo_args": {"box": "$args.crate"}}, r"box <- \$args.crate"),
        ({"undo": "deprovision", "undo_args": {"box": object()}}, "undo_args cannot be kept as JSON"),
        ({"args": {"size": float("nan")}}, "args cannot be kept as JSON"),
        ({"lookup": "nobody"}, "tests.boxes.nobody is not a tool"),
        ({"retries": -1}, "0 or more"),
    ],
)
def test_what_is_wrong_with_a_step_is_said_before_it_is_carried_out(named: dict[str, Any], why: str) -> None:
    with pytest.raises((BadInput, ConfigurationError), match=why), Saga("provision box") as saga:
        saga.step("provision", provision, **named)
    assert (world(), Step.objects.count()) == ([], 0)


@pytest.mark.parametrize("name", ["", "x" * 101, "a\x00b", "tests.boxes.deprovision", 7])
def test_a_step_needs_a_name_that_is_no_path(name: Any) -> None:
    with pytest.raises(BadInput, match="A step needs a name"), Saga("provision box") as saga:
        saga.step(name, provision)
    assert world() == []


def test_an_undo_in_the_program_itself_is_refused_since_no_other_process_has_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", None)
    monkeypatch.setattr(boxes.deprovision, "__module__", "__main__")
    with (
        pytest.raises(ConfigurationError, match="a module that every worker can import"),
        Saga("box") as saga,
    ):
        saga.step("provision", provision, undo=boxes.deprovision, undo_args={"box": "b"})


def test_a_step_that_failed_stops_the_saga_also_where_the_program_goes_on() -> None:
    boxes.FAILS["add_dns"] = [RuntimeError("down")]
    with (
        pytest.raises(SagaStopped, match=r"takes no more steps: dns failed \(RuntimeError\)"),
        Saga("provision box") as saga,
    ):
        saga.step("provision", provision, undo="deprovision", undo_args={"box": "$result.id"})
        with contextlib.suppress(RuntimeError):
            saga.step("dns", add_dns, args={"box": "b"})
        saga.step("cache", warm, args={"box": "b"})
    assert world() == ["provision s", "deprovision box-s"]


def test_a_saga_with_a_failed_step_is_not_committed_though_the_program_swallowed_the_error() -> None:
    boxes.FAILS["add_dns"] = [RuntimeError("down")]
    with (
        pytest.raises(SagaStopped, match="was not committed. This run stopped: dns failed"),
        Saga("provision box") as saga,
    ):
        saga.step("provision", provision, undo="deprovision", undo_args={"box": "$result.id"})
        with contextlib.suppress(RuntimeError):
            saga.step("dns", add_dns, args={"box": "b"})
    assert world() == ["provision s", "deprovision box-s"]


# --- In doubt: looked up, or a person is asked -------------------------------------------------------------


def test_a_step_that_timed_out_is_not_assumed_and_the_rest_is_undone_meanwhile() -> None:
    boxes.FAILS["add_dns"] = [TimeoutError("no answer")]
    with pytest.raises(TimeoutError) as caught, Saga("provision box") as saga:
        three_steps(saga)
    assert world() == ["provision s", "deprovision box-s"]
    run = Run.objects.get()
    assert (run.state, question(run).question) == (
        "stuck",
        "Did dns take effect? The call was sent and no answer came back.",
    )
    assert isinstance(caught.value.__cause__, UndosFailed)
    run = answer(run, "happened")
    assert (run.state, world()[-1]) == ("rolled_back", "del_dns box-s")


def test_ctrl_c_in_the_middle_of_a_step_leaves_it_in_doubt() -> None:
    boxes.FAILS["add_dns"] = [KeyboardInterrupt()]
    with pytest.raises(KeyboardInterrupt), Saga("provision box") as saga:
        three_steps(saga)
    run = Run.objects.get()
    assert question(run).question == "Did dns take effect? It was being sent when the run stopped."
    assert world() == ["provision s", "deprovision box-s"]


def test_a_step_in_doubt_is_looked_up_where_it_can_be() -> None:
    def provisioned_and_gone(call: Call) -> None:
        boxes.keyed(call)
        raise TimeoutError

    with pytest.raises(TimeoutError) as caught, Saga("provision box") as saga:
        saga.step(
            "provision",
            provisioned_and_gone,
            undo="tests.boxes.deprovision",
            undo_args={"box": "$result.id"},
            lookup="tests.boxes.find_box",
        )
    assert (world(), caught.value.__cause__) == (["provision s", "deprovision box-s"], None)
    assert Run.objects.get().state == "rolled_back"


def test_a_lookup_that_is_not_to_be_had_here_leaves_it_to_a_person() -> None:
    run = died()
    last = run.steps.get(tool="dns")
    Step.objects.filter(pk=last.pk).update(state="sent", named={**(last.named or {}), "lookup": "gone.find"})
    recover()
    assert question(run).question == "Did dns take effect? It was being sent when the run stopped."
    assert world() == [*DONE[:2], "deprovision box-s"]


def test_an_undo_that_is_not_to_be_had_here_waits_for_a_person_and_is_not_given_up() -> None:
    run = died()
    last = run.steps.get(tool="dns")
    Step.objects.filter(pk=last.pk).update(
        named={**(last.named or {}), "undo": {"gone.del_dns": {"box": "$args.box"}}}
    )
    recover()
    stuck = question(run)
    assert (stuck.asks, stuck.tool, stuck.args) == ("undo", "gone.del_dns", {"box": "box-s"})
    assert world() == [*DONE[:2], "deprovision box-s"]


# --- Stopped in the middle of a commit ----------------------------------------------------------------------


def _ctrl_c_at(monkeypatch: pytest.MonkeyPatch, place: int, *, landed: bool) -> None:
    """Ctrl-C arrives in this commit of the saga (the first is 1): before it, or when it has landed."""
    commit, seen = engine.commit, itertools.count(1)

    def interrupted(*args: Any) -> Any:
        if next(seen) != place:
            return commit(*args)
        if landed:
            commit(*args)
        raise KeyboardInterrupt

    monkeypatch.setattr(undertaking, "commit", interrupted)


@pytest.mark.parametrize("landed", [False, True])
def test_ctrl_c_while_a_step_is_recorded_leaves_nothing_in_doubt_since_it_was_not_called(
    monkeypatch: pytest.MonkeyPatch, landed: bool
) -> None:
    _ctrl_c_at(monkeypatch, 3, landed=landed)
    with pytest.raises(KeyboardInterrupt), Saga("provision box") as saga:
        three_steps(saga)
    run = Run.objects.get()
    assert (world(), run.state) == (["provision s", "deprovision box-s"], "rolled_back")
    assert list(run.steps.filter(tool="dns").values_list("state", flat=True)) == (
        ["failed"] if landed else []
    )


@pytest.mark.parametrize("landed", [False, True])
def test_ctrl_c_while_an_outcome_is_recorded_loses_none_of_it(
    monkeypatch: pytest.MonkeyPatch, landed: bool
) -> None:
    _ctrl_c_at(monkeypatch, 4, landed=landed)
    with pytest.raises(KeyboardInterrupt), Saga("provision box") as saga:
        three_steps(saga)
    assert world() == [*DONE[:2], "del_dns box-s", "deprovision box-s"]
    assert Run.objects.get().state == "rolled_back"


def _cut_every_connection() -> None:
    with psycopg.connect(connection.connection.info.dsn, autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def test_the_outcome_of_a_step_outlives_a_lost_connection() -> None:
    with Saga("provision box") as saga:
        boxes.BEFORE["provision"] = _cut_every_connection
        box = saga.step("provision", provision)
        _cut_every_connection()
        saga.step("dns", add_dns, args={"box": box["id"]})
    assert (world(), Run.objects.get().state) == (DONE[:2], "succeeded")


def test_a_step_that_the_database_kept_waiting_for_too_long_is_not_called(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its lease may be over: others would take it for settled."""
    monkeypatch.setattr(undertaking, "leave_by", lambda held, tool: 0.0)
    kept = pytest.raises(SagaStopped, match="kept provision waiting, so it was not called")
    with kept, Saga("provision box") as saga:
        saga.step("provision", provision)
    assert (world(), Run.objects.get().state) == ([], "failed")


def test_what_was_interrupted_is_on_record_beside_a_connection_lost_while_it_is_undone() -> None:
    """The call that nobody waits for is not taken for the undo's."""
    boxes.FAILS["warm"] = [KeyboardInterrupt()]
    with pytest.raises(KeyboardInterrupt), Saga("provision box") as saga:
        boxes.BEFORE["deprovision"] = _cut_every_connection
        three_steps(saga)
    run = Run.objects.get()
    assert world() == [*DONE[:2], "del_dns box-s", "deprovision box-s"]
    assert run.steps.get(tool="provision").state == "undone"
    assert question(run).question == "Did cache take effect? It was being sent when the run stopped."
    assert Attempt.objects.get(step__tool="cache").verdict == "in_doubt"
