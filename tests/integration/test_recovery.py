"""A run whose worker died: its task says whether it is resumed, or undone and handed over."""

import time
from pathlib import Path
from typing import Any

import pytest

from runs import calls, draining
from runs.engine import advance
from runs.models import Run
from tests.factories import (
    answer,
    approve_all,
    die,
    expire,
    make_agent,
    reply,
    start,
    states,
    then_die,
    until,
)
from tests.world import WORLD

pytestmark = pytest.mark.django_db(transaction=True)
TASKS = {
    "status": {"recovery": "resume"},
    "returns": {"recovery": "resume_until_act"},
    "dispute": {"recovery": "compensate"},
    "urgent": {"recovery": "resume", "deadline": "1s"},
}


def test_resume_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = make_agent(tmp_path, tasks=TASKS)
    run = die(monkeypatch, start(agent, "tag 1, then mail 1", task="status"))
    run = approve_all(until(run, "waiting"))
    assert (run.state, WORLD.calls) == ("succeeded", ["tag", "mail"])


def test_resume_until_act_resumes_while_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = make_agent(tmp_path, tasks=TASKS)
    with monkeypatch.context() as patch:
        patch.setattr(calls, "dispatch", then_die)
        with pytest.raises(KeyboardInterrupt):
            start(agent, "read 1, then tag 1", task="returns")
    time.sleep(1.1)
    run = approve_all(until(Run.objects.get(), "waiting"))
    assert (run.state, WORLD.calls) == ("succeeded", ["read", "read", "tag"])


def test_a_read_under_way_when_its_run_died_is_settled_in_the_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = make_agent(tmp_path, tasks=TASKS)
    with monkeypatch.context() as patch:
        patch.setattr(calls, "dispatch", then_die)
        with pytest.raises(KeyboardInterrupt):
            start(agent, "read 1, then tag 1", task="dispute")
    run = until(expire(Run.objects.get()), "handed_over")
    assert states(run) == {"read": "cancelled", "tag": "cancelled"}
    assert run.steps.filter(tool="read", entry__state="failed").exists()


@pytest.mark.parametrize("task", ["returns", "dispute", "urgent"])
def test_a_run_that_had_acted_is_undone_and_handed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: str
) -> None:
    agent = make_agent(tmp_path, tasks=TASKS)
    run = die(monkeypatch, start(agent, "tag 1, then mail 1", task=task))
    Run.objects.filter(deadline_at__isnull=False).update(deadline_at=run.created_at)
    run = until(run, "handed_over")
    assert WORLD.calls == ["tag", "untag"]
    assert (run.handover_reason, states(run)["mail"]) == ("run_died_mid_sequence", "cancelled")
    assert reply(run) == "This run stopped: its process died. Undone, latest first: tag (by untag)."


def test_a_run_that_keeps_what_it_did_is_handed_over_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = make_agent(tmp_path, tasks=TASKS, runs="keep")
    run = die(monkeypatch, start(agent, "tag 1, then mail 1", task="returns"))
    run = until(run, "handed_over")
    assert (WORLD.calls, run.handover_reason) == (["tag"], "run_died_mid_sequence")


def test_a_run_that_waits_for_a_person_has_not_died_past_its_deadline(tmp_path: Path) -> None:
    agent = make_agent(tmp_path, tasks=TASKS)
    run = start(agent, "tag 1", task="urgent")
    time.sleep(1.1)
    assert answer(run, "approve").state == "succeeded"


def test_a_worker_that_is_asked_to_stop_records_the_call_and_lets_the_run_go(
    agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start(agent, "tag 1, then pay 1")
    with monkeypatch.context() as patch:
        patch.setattr(draining, "asked", lambda: "tag" in WORLD.calls)
        run = answer(run, "approve")
        assert (run.state, run.lease_owner, states(run)) == (
            "ready",
            "",
            {"tag": "performed", "pay": "proposed"},
        )
    advance(run.pk)
    run.refresh_from_db()
    assert (run.state, WORLD.calls) == ("succeeded", ["tag", "pay"])
    assert not run.events.filter(kind="step.interrupted").exists()


def test_a_long_run_is_given_back_when_its_turn_is_over(agent: str, settings: Any) -> None:
    settings.TURN_SECONDS = 0
    run = start(agent, "pay 1, then pay 2")
    assert (run.state, run.lease_owner) == ("ready", "")
    settings.TURN_SECONDS = 20
    run = until(run, "succeeded")
    assert WORLD.calls == ["pay", "pay"]
