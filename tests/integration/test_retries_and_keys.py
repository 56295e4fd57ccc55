"""Retries and their keys (S0): the same call at the same step of the same thread always has the same key."""

import time
from typing import Any

import pytest

from runs import calls
from runs.digest import step_key
from runs.models import Attempt, LedgerEntry, Step
from tests.factories import approve_all, question, reply, start, states, then_die, until
from tests.world import WORLD

pytestmark = pytest.mark.django_db(transaction=True)


def _keys(tool: str) -> list[str]:
    """What each call of a tool carried."""
    return [key for name, key in WORLD.keys if name == tool]


def test_the_key_is_over_thread_step_tool_and_arguments(agent: str) -> None:
    run = start(agent, "pay 1, then pay 1")
    args = {"order": 1, "amount": "1.00"}
    expected = [step_key(str(run.thread_id), number, "pay", args) for number in (1, 2)]
    assert _keys("pay") == expected
    assert len(set(expected)) == 2  # two equal calls of one turn are two changes


def test_two_equal_turns_are_two_changes(agent: str) -> None:
    start(agent, "pay 1")
    start(agent, "pay 1", user="u-2")
    assert len(set(_keys("pay"))) == 2


def test_a_retry_carries_the_key_of_the_first_try(agent: str) -> None:
    WORLD.script = {"pay": ["times out before", "times out after"]}
    until(start(agent, "pay 1"), "succeeded")
    assert (len(_keys("pay")), len(set(_keys("pay"))), WORLD.landed) == (3, 1, ["pay"])


def test_a_resumed_run_carries_the_key_of_the_first_try(agent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(calls, "dispatch", then_die)
        with pytest.raises(KeyboardInterrupt):
            start(agent, "pay 1")
    time.sleep(1.1)  # the lease
    until(Step.objects.get().run, "succeeded")
    assert (len(_keys("pay")), len(set(_keys("pay"))), WORLD.landed) == (2, 1, ["pay"])


def test_an_undo_that_is_sent_again_carries_its_own_key(agent: str) -> None:
    WORLD.script = {"mail": ["raises"], "refund": ["raises", "raises"]}
    until(approve_all(start(agent, "charge 1 40.00, then mail 1")), "rolled_back")
    assert (len(_keys("refund")), len(set(_keys("refund")))) == (3, 1)
    assert set(_keys("refund")) != set(_keys("charge"))


def test_a_call_is_recorded_in_flight_before_it_is_sent(agent: str) -> None:
    seen: list[Any] = []

    def look(call: Any) -> None:
        attempt = Attempt.objects.get()
        seen.append((attempt.step.state, attempt.entry_id, attempt.entry.state, attempt.verdict))

    WORLD.watch = look
    start(agent, "pay 1")
    assert seen == [("sent", _keys("pay")[0], "intended", "")]


def test_a_read_is_tried_again_at_most_twice_more(agent: str) -> None:
    WORLD.script = {"read": ["times out before"] * 3}
    run = until(start(agent, "read 1"), "failed")
    assert WORLD.calls == ["read"] * 3
    assert reply(run) == "This run stopped: read failed (Timeout). Nothing had been done."


def test_any_other_write_is_sent_once(agent: str) -> None:
    WORLD.script = {"charge": ["times out before"]}
    run = approve_all(start(agent, "charge 1 40.00"))
    assert (WORLD.calls, states(run), question(run).asks) == (["charge"], {"charge": "unknown"}, "outcome")
    assert LedgerEntry.objects.get().calls == 1
