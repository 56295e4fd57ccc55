"""A call that returns after its worker lost the run: what it did is written down, and counts."""

import time
from typing import Any

import pytest

from runs import calls
from runs.engine import advance
from runs.models import Attempt, Run
from runs.rewind import memory
from runs.tools.dispatch import Outcome, dispatch
from tests.factories import answer, question, reply, start, states, until
from tests.world import WORLD

pytestmark = pytest.mark.django_db(transaction=True)


def _lose_the_run_in_mid_call(monkeypatch: pytest.MonkeyPatch, run: Run, *then: str) -> Run:
    """The call takes so long that another worker takes the run over; a person answers; then the call returns."""

    def slow(*args: Any) -> Outcome:
        monkeypatch.undo()
        outcome = dispatch(*args)
        taken = False
        while not taken:  # the heartbeat may renew the lease in between
            Run.objects.filter(pk=run.pk).update(lease_expires_at=run.created_at)
            taken = advance(run.pk, "another worker")
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
    time.sleep(0.35)
    run = answer(run, "did_not_happen")
    run = until(run, "rolled_back")
    assert (WORLD.calls, run.handover_reason) == (["tag", "untag"], "late_outcome")
