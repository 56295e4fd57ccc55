"""A call whose outcome is not known is never repeated and never assumed."""

import time
from typing import TYPE_CHECKING

import pytest

from runs import calls, services
from runs.engine import advance
from runs.errors import NotSettledYet
from runs.models import LedgerEntry
from tests.factories import PERSON, answer, approve_all, question, reply, start, states, then_die, until
from tests.world import WORLD

if TYPE_CHECKING:
    from pytest_django import Settings

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_timeout_after_the_write_is_looked_up_not_repeated(agent: str) -> None:
    WORLD.script = {"tag": ["times out after"]}
    run = approve_all(start(agent, "tag 1"))
    assert (run.state, WORLD.calls) == ("succeeded", ["tag"])


def test_a_timeout_before_the_write_is_sent_again_only_once_that_is_settled(agent: str) -> None:
    WORLD.script = {"tag": ["times out before"]}
    run = approve_all(start(agent, "tag 1"))
    assert (run.state, WORLD.calls) == ("ready", ["tag"])
    run = until(run, "succeeded")
    assert WORLD.calls == ["tag", "tag"]
    assert LedgerEntry.objects.get(tool="tag").calls == 2


def test_a_retry_safe_write_in_doubt_is_sent_again_under_the_same_key(agent: str) -> None:
    WORLD.script = {"pay": ["times out after", "times out before"]}
    run = until(start(agent, "pay 1"), "succeeded")
    assert WORLD.calls == ["pay"] * 3
    assert (WORLD.landed, LedgerEntry.objects.filter(tool="pay").count()) == (["pay"], 1)
    assert run.steps.get().calls == 3


def test_after_three_calls_a_person_takes_over(agent: str) -> None:
    WORLD.script = {"pay": ["times out before"] * 3}
    run = until(start(agent, "pay 1"), "waiting")
    assert question(run).question == "Did pay take effect? The call was sent and no answer came back."


def test_a_service_that_was_not_reached_is_asked_three_times_in_all(agent: str) -> None:
    WORLD.script = {"charge": ["unavailable"] * 3}
    run = until(approve_all(start(agent, "charge 1 40.00")), "failed")
    assert WORLD.calls == ["charge"] * 3
    assert reply(run) == "This run stopped: charge failed (Unavailable). Nothing had been done."


def test_any_other_write_in_doubt_is_asked_about(agent: str) -> None:
    WORLD.script = {"charge": ["times out after"]}
    run = approve_all(start(agent, "charge 1 40.00, then mail 1"))
    assert (run.state, states(run)["charge"]) == ("waiting", "unknown")
    assert question(run).question == "Did charge take effect? The call was sent and no answer came back."
    run = answer(run, "happened", result={"charge": "ch_1"})
    assert states(run)["charge"] == "performed"
    run = answer(run, "cancel_all")
    assert reply(run).endswith("Undone, latest first: charge (by refund).")


def test_the_ledger_says_that_an_outcome_is_unknown(agent: str) -> None:
    WORLD.script = {"charge": ["times out after"]}
    run = approve_all(start(agent, "charge 1 40.00"))
    assert LedgerEntry.objects.get().state == "unknown"
    answer(run, "happened", result={"charge": "ch_1"})
    assert LedgerEntry.objects.get().state == "performed"


def test_happened_without_the_fields_that_the_undo_needs_is_not_undoable(agent: str) -> None:
    WORLD.script = {"charge": ["times out after"]}
    run = answer(approve_all(start(agent, "charge 1 40.00, then mail 1")), "happened")
    run = answer(run, "cancel_all")
    assert reply(run).endswith("Not undoable, and left as they are: charge.")


def test_did_not_happen_is_refused_while_the_call_can_still_arrive(agent: str, settings: "Settings") -> None:
    settings.CALL_TIMEOUT_SECONDS = 0.2
    WORLD.script = {"charge": ["times out before"]}
    run = approve_all(start(agent, "charge 1 40.00"))
    step = question(run)
    with pytest.raises(NotSettledYet):
        services.resolve(PERSON, step.pk, "did_not_happen", step.digest)
    time.sleep(0.45)
    run = answer(run, "did_not_happen")
    assert (run.state, reply(run)) == (
        "failed",
        "This run stopped: charge did not take effect. Nothing had been done.",
    )


def test_send_again_sends_the_same_step_under_the_same_key(agent: str, settings: "Settings") -> None:
    settings.CALL_TIMEOUT_SECONDS = 0.1
    WORLD.script = {"charge": ["times out before"]}
    run = approve_all(start(agent, "charge 1 40.00"))
    time.sleep(0.25)
    run = answer(run, "send_again")
    assert (run.state, WORLD.calls) == ("succeeded", ["charge", "charge"])
    assert LedgerEntry.objects.filter(tool="charge").count() == 1


def test_doubt_is_sticky(agent: str) -> None:
    """ "Already done" is the common answer to a second call: it says nothing of the first."""
    WORLD.script = {"pay": ["times out after", "refuses", "refuses"]}
    run = until(start(agent, "pay 1"), "waiting")
    assert states(run) == {"pay": "unknown"}


def test_an_error_after_sending_is_in_doubt(agent: str) -> None:
    WORLD.script = {"charge": ["drops"]}
    run = approve_all(start(agent, "charge 1 40.00"))
    assert states(run) == {"charge": "unknown"}


def test_a_lookup_that_fails_is_asked_again(agent: str) -> None:
    WORLD.script = {"tag": ["times out after"], "find": ["raises", "raises"]}
    until(approve_all(start(agent, "tag 1")), "succeeded")
    assert (WORLD.calls, len(WORLD.lookups)) == (["tag"], 3)


def test_a_lookup_that_cannot_say_leaves_it_to_a_person(agent: str) -> None:
    WORLD.script = {"tag": ["times out after"], "find": ["cannot say"]}
    run = approve_all(start(agent, "tag 1"))
    assert states(run) == {"tag": "unknown"}


def test_nothing_is_undone_while_a_write_is_unknown(agent: str) -> None:
    WORLD.script = {"charge": ["works", "times out after"]}
    run = approve_all(start(agent, "charge 1 40.00, then charge 2 40.00"))
    services.cancel(PERSON, run, "changed our mind")
    advance(run.pk)
    run.refresh_from_db()
    assert (run.state, WORLD.calls) == ("waiting", ["charge", "charge"])
    run = answer(run, "happened", result={"charge": "ch_2"})
    assert WORLD.calls == ["charge", "charge", "refund", "refund"]
    assert reply(run).startswith("This run stopped: cancelled by Ana Ferreira.")


def test_an_undo_is_done_only_when_the_world_says_so(agent: str) -> None:
    """A cancel that returns success and cancels nothing is a failed undo."""
    WORLD.script = {"mail": ["raises"], "untag": ["says yes and does nothing"]}
    until(approve_all(start(agent, "tag 1, then mail 1")), "rolled_back")
    assert WORLD.calls == ["tag", "mail", "untag", "untag"]


def test_a_process_that_dies_in_mid_call_leaves_an_intent_and_is_looked_up(
    agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start(agent, "tag 1")
    with monkeypatch.context() as patch:
        patch.setattr(calls, "dispatch", then_die)
        with pytest.raises(KeyboardInterrupt):
            answer(run, "approve")
    assert states(run) == {"tag": "sent"}
    time.sleep(1.1)  # the lease
    run = until(run, "succeeded")
    assert WORLD.calls == ["tag"]
    kinds = list(run.events.values_list("kind", flat=True))
    assert "lease.taken_over" in kinds and "step.interrupted" in kinds


def test_a_write_that_was_being_sent_when_the_process_died_and_cannot_be_looked_up_is_asked_about(
    agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start(agent, "charge 1 40.00")
    with monkeypatch.context() as patch:
        patch.setattr(calls, "dispatch", then_die)
        with pytest.raises(KeyboardInterrupt):
            answer(run, "approve")
    time.sleep(1.1)
    run = until(run, "waiting")
    assert question(run).question == "Did charge take effect? It was being sent when the run stopped."


def test_whatever_a_tool_says_when_it_fails_can_be_written_down(agent: str) -> None:
    WORLD.script = {"charge": ["raises nonsense"]}
    run = approve_all(start(agent, "charge 1 40.00"))
    assert run.state == "failed"
    assert run.steps.get().error.startswith("a zero: \ufffd")
