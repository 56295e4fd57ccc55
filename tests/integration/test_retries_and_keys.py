"""Retries and their keys (S0): the same call at the same step of the same thread always has the same key."""

import hashlib
import time
from typing import Any

import pytest

from runs import calls
from runs.models import Attempt, LedgerEntry, Step
from tests.factories import approve_all, question, reply, start, states, then_die, until
from tests.world import WORLD

pytestmark = pytest.mark.django_db(transaction=True)


def _keys(tool: str) -> list[str]:
    """What each call of a tool carried."""
    return [key for name, key in WORLD.keys if name == tool]


def test_the_key_is_sha_256_over_the_thread_the_step_the_tool_and_the_arguments(agent: str) -> None:
    run = start(agent, "pay 1, then pay 1")
    canonical = '{"args":{"amount":"1.00","order":1},"step":%d,"thread":"%s","tool":"pay"}'
    expected = [
        hashlib.sha256((canonical % (number, run.thread_id)).encode()).hexdigest() for number in (1, 2)
    ]
    assert _keys("pay") == expected  # two equal calls of one turn are two changes


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


def test_an_undo_that_is_sent_again_carries_its_own_key_and_the_thing_is_done_once(agent: str) -> None:
    WORLD.script = {"mail": ["raises"], "refund": ["raises", "times out after"]}
    until(approve_all(start(agent, "charge 1 40.00, then mail 1")), "rolled_back")
    assert WORLD.landed == ["charge", "refund"]
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


@pytest.mark.parametrize("tool", ["read", "pay"])
@pytest.mark.parametrize("how", ["times out before", "times out after"])
def test_a_read_or_a_retry_safe_write_in_doubt_is_tried_again_under_its_key_at_most_twice_more(
    agent: str, tool: str, how: str
) -> None:
    WORLD.script = {tool: [how] * 3}
    run = until(start(agent, f"{tool} 1"), "failed", "waiting")
    assert (WORLD.calls, len(set(_keys(tool)))) == ([tool] * 3, 1)
    if tool == "pay":
        assert question(run).question == "Did pay take effect? The call was sent and no answer came back."
    else:
        assert reply(run) == "This run stopped: read failed (Timeout). Nothing had been done."


def test_any_other_write_is_sent_once(agent: str) -> None:
    WORLD.script = {"charge": ["times out before"]}
    run = approve_all(start(agent, "charge 1 40.00"))
    assert (WORLD.calls, states(run), question(run).asks) == (["charge"], {"charge": "unknown"}, "outcome")
    assert LedgerEntry.objects.get().calls == 1
