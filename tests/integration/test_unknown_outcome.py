"""An outcome nobody knows (S0): neither sent again nor assumed. The rest of it is in test_doubt.py."""

import time

import pytest

from runs import calls
from runs.engine import advance
from runs.models import Run
from tests.factories import answer, approve_all, question, start, states, then_die, until
from tests.world import WORLD

pytestmark = pytest.mark.django_db(transaction=True)


def test_it_is_neither_sent_again_nor_taken_for_failed_and_a_person_is_asked(agent: str) -> None:
    WORLD.script = {"charge": ["times out after"]}
    run = approve_all(start(agent, "charge 1 40.00, then mail 1"))
    for _ in range(5):
        advance(run.pk)
    run.refresh_from_db()
    assert (run.state, WORLD.calls, states(run)["charge"]) == ("waiting", ["charge"], "unknown")
    assert question(run).question == "Did charge take effect? The call was sent and no answer came back."


def test_happened_and_the_run_goes_on_as_if_the_call_ran(agent: str) -> None:
    WORLD.script = {"charge": ["times out after"]}
    run = approve_all(start(agent, "charge 1 40.00, then tag 1"))
    run = approve_all(answer(run, "happened", result={"charge": "ch_1"}))
    assert (run.state, WORLD.calls) == ("succeeded", ["charge", "tag"])


def test_a_process_that_stops_in_mid_call_is_found_by_whichever_worker_resumes_the_run(
    agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start(agent, "charge 1 40.00")
    with monkeypatch.context() as patch:
        patch.setattr(calls, "dispatch", then_die)
        with pytest.raises(KeyboardInterrupt):
            answer(run, "approve")
    time.sleep(1.1)
    assert advance(run.pk, "a worker on another machine")
    assert question(run).question == "Did charge take effect? It was being sent when the run stopped."
    assert WORLD.calls == ["charge"]


def test_a_retry_safe_call_that_was_in_flight_is_sent_again_under_its_key(
    agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(calls, "dispatch", then_die)
        with pytest.raises(KeyboardInterrupt):
            start(agent, "pay 1")
    time.sleep(1.1)
    run = until(Run.objects.get(), "succeeded")
    assert (states(run), WORLD.calls, WORLD.landed) == ({"pay": "performed"}, ["pay", "pay"], ["pay"])
    assert len(set(WORLD.keys)) == 1


def test_nothing_but_a_person_settles_it_however_long_it_takes(agent: str) -> None:
    WORLD.script = {"charge": ["times out before"]}
    run = approve_all(start(agent, "charge 1 40.00"))
    long_ago = run.created_at.replace(year=2020)
    run.steps.update(asked_at=long_ago, sent_at=long_ago, settles_at=long_ago, expires_at=long_ago)
    assert advance(run.pk)
    run.refresh_from_db()
    assert (run.state, states(run), WORLD.calls) == ("waiting", {"charge": "unknown"}, ["charge"])
