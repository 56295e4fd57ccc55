"""A call that returns after its worker lost the run: what it did is written down, and counts."""

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from runs import calls, services
from runs.engine import advance
from runs.models import Attempt, Run
from runs.recovery import sweep
from runs.rewind import memory
from runs.tools.dispatch import Outcome, dispatch
from runs.tools.reconciling import Reconciliation
from tests.factories import AGENT, answer, expire, make_agent, question, reply, start, states, until
from tests.reconciling import ANSWERS
from tests.world import WORLD

pytestmark = pytest.mark.django_db(transaction=True)


def _lose_the_run_in_mid_call(monkeypatch: pytest.MonkeyPatch, run: Run, *then: str) -> Run:
    """The call takes so long that another worker takes the run over; a person answers; then the call returns."""

    def slow(*args: Any) -> Outcome:
        monkeypatch.undo()
        outcome = dispatch(*args)
        assert advance(expire(run).pk, "another worker")
        for said in then:
            step = question(run)
            type(step).objects.filter(pk=step.pk).update(settles_at=run.created_at)
            answer(run, said)
        return outcome

    monkeypatch.setattr(calls, "dispatch", slow)
    answer(run, "approve")
    run.refresh_from_db()
    return run


def test_a_late_success_settles_an_unknown_outcome(agent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = _lose_the_run_in_mid_call(monkeypatch, start(agent, "charge 1 40.00"))
    assert states(run) == {"charge": "unknown"}
    assert Attempt.objects.get().late
    advance(run.pk)
    run.refresh_from_db()
    assert (run.state, states(run), WORLD.calls) == ("succeeded", {"charge": "performed"}, ["charge"])
    assert run.events.filter(kind="step.performed", data__late=True).exists()


def test_a_late_success_after_a_person_said_otherwise_is_undone_and_opens_a_ticket(
    agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start(agent, "charge 1 40.00")
    run = _lose_the_run_in_mid_call(monkeypatch, run, "did_not_happen")
    assert run.state == "failed"
    run = until(run, "rolled_back")
    assert (WORLD.calls, run.handover_reason) == (["charge", "refund"], "late_outcome")
    replies = run.messages.filter(role="agent").values_list("text", flat=True)
    assert list(replies)[-1].endswith("Undone, latest first: charge (by refund).")
    # The first reply said that nothing had been done: the next turn does not read it.
    assert [message.text for message in memory(run.thread)] == ["charge 1 40.00", list(replies)[-1]]


def test_a_late_failure_of_the_only_attempt_settles_it(agent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    WORLD.script = {"charge": ["refuses"]}
    run = _lose_the_run_in_mid_call(monkeypatch, start(agent, "charge 1 40.00"))
    run = until(run, "failed")
    assert reply(run) == "This run stopped: charge failed (Refused). Nothing had been done."


def test_what_was_settled_as_not_performed_is_looked_up_once_more_at_the_end(
    agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person was told that nothing happened, and was wrong."""
    WORLD.script = {"tag": ["times out after"], "find": ["cannot say"]}
    run = start(agent, "tag 1")
    run = answer(run, "approve")
    time.sleep(0.65)
    run = answer(run, "did_not_happen")
    run = until(run, "rolled_back")
    assert (WORLD.calls, run.handover_reason) == (["tag", "untag"], "late_outcome")


def test_a_late_outcome_wakes_a_run_that_waits_for_a_person(
    agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = _lose_the_run_in_mid_call(monkeypatch, start(agent, "charge 1 40.00"))
    assert run.state == "waiting"
    assert sweep() == 1


def _started(agent: str) -> Run:
    """A read that no worker has begun."""
    thread = services.start_thread(AGENT, agent, "u-1")
    return services.start(AGENT, thread, services.RunRequest(text="read 1"))


def test_a_late_success_of_a_read_outlives_the_failure_of_the_read_that_was_made_in_its_place(
    agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = _started(agent)
    WORLD.script = {"read": ["works", "raises"]}
    reading_again, written_down = threading.Event(), threading.Event()
    others: list[bool] = []

    def take_over() -> None:
        others.append(advance(run.pk, "another worker"))
        connection.close()

    other = threading.Thread(target=take_over)

    def slow(*args: Any) -> Outcome:
        monkeypatch.setattr(calls, "dispatch", slow_again)
        expire(run)
        outcome = dispatch(*args)
        other.start()
        assert reading_again.wait(10)
        return outcome

    def slow_again(*args: Any) -> Outcome:
        reading_again.set()
        assert written_down.wait(10)
        return dispatch(*args)

    monkeypatch.setattr(calls, "dispatch", slow)
    assert advance(run.pk) is False
    written_down.set()
    other.join()
    run.refresh_from_db()
    assert (others, run.state, states(run)) == ([True], "succeeded", {"read": "performed"})


def test_a_late_success_of_a_read_that_was_refused_since_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = _started(make_agent(tmp_path))

    def slow(*args: Any) -> Outcome:
        monkeypatch.undo()
        expire(run)
        make_agent(tmp_path, tools=["mail"])  # a deploy takes the tool away
        advance(run.pk, "another worker")
        return dispatch(*args)

    monkeypatch.setattr(calls, "dispatch", slow)
    advance(run.pk)
    advance(run.pk)
    run.refresh_from_db()
    assert (run.late, states(run)) == (False, {"read": "refused"})


@pytest.mark.parametrize(
    ("then", "state", "ends"), [((), "waiting", "needs_approval"), (("skip",), "succeeded", "declined")]
)
def test_a_late_success_of_a_read_that_a_person_is_asked_about_leaves_the_question_to_the_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, then: tuple[str, ...], state: str, ends: str
) -> None:
    ANSWERS[:] = [Reconciliation("waiting", detail="look first")]
    run = _started(make_agent(tmp_path, reconcile="tests.reconciling.reconcile"))

    def slow(*args: Any) -> Outcome:
        monkeypatch.undo()
        outcome = dispatch(*args)
        advance(expire(run).pk, "another worker")
        for said in then:
            answer(run, said)
        return outcome

    monkeypatch.setattr(calls, "dispatch", slow)
    advance(run.pk)
    advance(run.pk)
    run.refresh_from_db()
    assert (run.late, run.state, states(run)) == (False, state, {"read": ends})
