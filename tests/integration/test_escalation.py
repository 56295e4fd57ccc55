"""A question that nobody answers in time: it is raised to the next role, once, and waits on."""

import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.urls import reverse

from runs import services
from runs.access import Actor
from runs.engine import advance
from runs.errors import NotAllowed
from runs.escalating import escalate_expired
from runs.models import Run, Step
from runs.trace import Trace
from tests.factories import answer, approve_all, make_agent, question, start, states
from tests.integration.pages import send, signed_in, words
from tests.world import WORLD

pytestmark = pytest.mark.django_db
LEAD = Actor("Lea Novak", frozenset({"support", "lead"}))
SUPPORT = Actor("Ana Ferreira", frozenset({"support"}))


def let_expire(run: Run) -> Step:
    """The time for its answer is over."""
    run.steps.filter(expires_at__isnull=False).update(expires_at=Now() - timedelta(seconds=1))
    return question(run)


def escalations(run: Run) -> list[tuple[str, dict[str, Any]]]:
    return list(run.events.filter(kind="step.escalated").values_list("actor", "data"))


def test_a_question_escalates_once_to_the_next_role_and_is_not_answered(agent: str) -> None:
    run = start(agent, "charge 1 40.00")
    assert escalate_expired() == 0  # it has an hour
    before = let_expire(run)
    assert [escalate_expired(), escalate_expired()] == [1, 0]
    step = question(run)
    assert (step.state, step.answer, step.escalated_to) == ("needs_approval", "", "lead")
    assert step.escalated_at is not None
    assert (step.digest, step.approver) == (before.digest, "support")
    assert escalations(run) == [
        ("sweep", {"kind": "confirm", "approver": "support", "not_by": [], "to": "lead"})
    ]
    assert advance(run.pk)  # and the engine goes nowhere by it
    run.refresh_from_db()
    assert (run.state, WORLD.calls) == ("waiting", [])


def test_whoever_waits_for_news_of_the_run_hears_of_it(agent: str) -> None:
    run = start(agent, "charge 1 40.00")
    let_expire(run)
    escalate_expired()
    assert Run.objects.get().version > run.version


@pytest.mark.parametrize("by", [SUPPORT, LEAD])
def test_an_escalated_question_is_answered_by_whoever_could_before(agent: str, by: Actor) -> None:
    run = start(agent, "charge 1 40.00")
    seen = question(run).digest  # somebody has the page open while the time runs out
    let_expire(run)
    escalate_expired()
    services.resolve(by, question(run).pk, "approve", seen)
    advance(run.pk)
    run.refresh_from_db()
    assert (run.state, WORLD.landed) == ("succeeded", ["charge"])


def test_a_rule_that_asks_for_a_lead_is_not_relaxed_by_time(tmp_path: Path) -> None:
    lead = make_agent(tmp_path, rules="all: {tools: [charge], ask: lead}")
    run = start(lead, "charge 1 250.00")
    let_expire(run)
    escalate_expired()
    step = question(run)
    assert (step.approver, step.escalated_to) == ("lead", "admin")
    with pytest.raises(NotAllowed):
        services.resolve(SUPPORT, step.pk, "approve", step.digest)
    services.resolve(LEAD, step.pk, "approve", step.digest)


def test_an_unknown_outcome_escalates_and_stays_unknown(agent: str) -> None:
    WORLD.script = {"charge": ["times out before"]}
    run = approve_all(start(agent, "charge 1 40.00"))
    let_expire(run)
    assert escalate_expired() == 1
    assert question(run).escalated_to == "admin"
    assert states(run) == {"charge": "unknown"}


def test_a_question_that_is_asked_anew_has_its_time_anew(agent: str) -> None:
    WORLD.script = {"charge": ["times out before"]}
    run = start(agent, "charge 1 40.00")
    let_expire(run)
    escalate_expired()
    answer(run, "approve")
    step = question(run)
    assert (step.asks, step.escalated_at, step.escalated_to) == ("outcome", None, "")
    assert step.expires_at is not None and step.asked_at is not None and step.expires_at > step.asked_at


def test_what_is_no_question_any_more_does_not_escalate(agent: str) -> None:
    answered = start(agent, "charge 1 40.00")
    let_expire(answered)
    step = question(answered)
    services.resolve(LEAD, step.pk, "approve", step.digest)  # the engine has not read it yet
    withdrawn = start(agent, "charge 2 40.00", user="u-2")
    services.cancel(Actor("Olga Petrova", frozenset({"operator"})), withdrawn)
    advance(withdrawn.pk)
    assert escalate_expired() == 0
    advance(answered.pk)
    assert not Step.objects.filter(expires_at__isnull=False).exists()


def test_the_agent_file_says_how_long_people_have_and_a_task_may_say_otherwise(tmp_path: Path) -> None:
    tasks = {"rush": {"expires": "5m"}, "slow": {"expires": "never"}}
    agent = make_agent(tmp_path, expires="2h", tasks=tasks)
    for number, (task, seconds) in enumerate({"": 7200, "rush": 300, "slow": None}.items()):
        step = question(start(agent, "charge 1 40.00", user=f"u-{number}", task=task))
        within = step.expires_at and step.asked_at and (step.expires_at - step.asked_at).total_seconds()
        assert within == seconds


def test_the_list_the_page_and_the_trace_say_so(agent: str) -> None:
    ana = signed_in("ana", "Ana Ferreira", "support")
    run = start(agent, "charge 1 40.00")
    step = let_expire(run)
    assert "escalated" not in words(ana.get(reverse("needs-you")))
    escalate_expired()
    assert "escalated to lead" in words(ana.get(reverse("needs-you")))
    assert "escalated to lead" in words(ana.get(reverse("question", args=[step.pk])))
    assert "not answered in time: escalated to lead" in words(ana.get(reverse("run", args=[run.pk])))
    said = "nobody answered in time (support): escalated to lead"
    assert said in [line.text for line in Trace(run).lines()]
    assert "Recorded" in words(ana.get(send(ana, step, "approve")["Location"]))


@pytest.mark.django_db(transaction=True)
def test_of_two_sweeps_at_the_same_time_one_escalates(agent: str) -> None:
    runs = [start(agent, "charge 1 40.00", user=f"u-{number}") for number in range(8)]
    for run in runs:
        let_expire(run)
    together, counts = threading.Barrier(2), []

    def sweep() -> None:
        together.wait()
        counts.append(escalate_expired())
        connection.close()

    sweeps = [threading.Thread(target=sweep) for _ in range(2)]
    for thread in sweeps:
        thread.start()
    for thread in sweeps:
        thread.join()
    assert sum(counts) == len(runs)
    assert [len(escalations(run)) for run in runs] == [1] * len(runs)
