"""`stalwart prune`: what nobody needs goes, and the record stays."""

import json
from datetime import timedelta

import pytest
from axes.models import AccessAttempt, AccessLog
from django.apps import apps
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from approvals.models import Delivery, Webhook
from runs import queue, workers
from runs.models import IdempotencyRecord, Run, Token, Worker
from stalwart_site import pruning
from tests.factories import approve_all, start

pytestmark = pytest.mark.django_db(transaction=True)
NOW = timezone.now()
RECORD = {
    "Thread",
    "Message",
    "Run",
    "Step",
    "LedgerEntry",
    "Attempt",
    "Event",
    "Token",
    "Answer",
    "Bulk",
    "Claim",
    "Note",
    "WorkerOrder",
}


def counts() -> dict[str, int]:
    """The rows of every table of ours, by its name."""
    models = [model for label in ("runs", "approvals") for model in apps.get_app_config(label).get_models()]
    return {model.__name__: model._default_manager.count() for model in models}


def prune(capsys: pytest.CaptureFixture[str], **options: object) -> dict[str, int]:
    """Run the command; returns how many rows of each kind."""
    call_command("prune", json=True, **options)
    return dict(json.loads(capsys.readouterr().out)["rows"])


@pytest.fixture
def run(agent: str) -> Run:
    """One that has ended, with everything that a run has."""
    return approve_all(start(agent, "charge 1 40.00"))


def _leave_things_behind(run: Run, age: timedelta) -> None:
    then = NOW - age
    Token.objects.create(name="bot", hash="h", scope="agent", revoked_at=then)
    IdempotencyRecord.objects.create(owner="token:1", key="k", body="b", run=run, created_at=then)
    for name in ("stopped", "killed"):
        workers.beat(name)
    workers.stopped("stopped")
    Worker.objects.update(seen_at=then)
    Worker.objects.filter(name="stopped").update(stopped_at=then)
    Session.objects.create(session_key="s", session_data="", expire_date=then)
    AccessAttempt.objects.create(username="mallory", failures_since_start=1)
    AccessAttempt.objects.update(attempt_time=then)
    AccessLog.objects.create(username="ana")
    AccessLog.objects.update(attempt_time=then)
    hook = Webhook.objects.create(url="https://hooks.example/", kinds=["run.ended"])
    for state in ("waiting", "sent", "dead"):
        Delivery.objects.create(
            message=state, kind="test", body="{}", webhook=hook, state=state, created_at=then
        )
    queue.nudge(run.pk)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE django_q_ormq SET lock = %s", [then])
        cursor.execute(
            "INSERT INTO django_q_task (id, name, func, started, stopped, success, attempt_count)"
            " VALUES ('t', 't', 'f', %s, %s, false, 1)",
            [then, then],
        )


def test_what_nobody_needs_goes_and_the_record_stays(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    _leave_things_behind(run, timedelta(days=40))
    before, events = counts(), list(run.events.values_list("pk", flat=True))
    counted = prune(capsys, dry_run=True)
    assert counts() == before
    gone = prune(capsys)
    assert gone == counted
    nudges = gone.pop("nudges")
    assert nudges >= 1
    assert gone == {
        "failed tasks": 1,
        "request keys": 1,
        "messages": 2,
        "workers": 2,
        "sessions": 1,
        "sign-in attempts": 1,
        "sign-in failures": 0,
        "sign-ins": 1,
    }
    after = counts()
    assert {name for name in before if after[name] != before[name]} == {
        "IdempotencyRecord",
        "Worker",
        "Delivery",
    }
    kept = {"Webhook", "MailChoice", "Notice"}  # what people chose, and what is still to be told
    assert set(before) - RECORD == {"IdempotencyRecord", "Worker", "Delivery"} | kept
    assert list(run.events.values_list("pk", flat=True)) == events
    assert set(prune(capsys).values()) == {0}


def test_what_is_young_stays(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    _leave_things_behind(run, timedelta(hours=2))
    gone = prune(capsys)
    assert gone.pop("sessions") == 1  # it had expired
    assert set(gone.values()) == {0}


def test_the_key_of_a_request_whose_run_is_alive_stays(
    agent: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = start(agent, "charge 1 40.00")
    IdempotencyRecord.objects.create(
        owner="o", key="k", body="b", run=run, created_at=NOW - timedelta(days=400)
    )
    assert prune(capsys)["request keys"] == 0


def test_a_live_worker_is_not_forgotten(capsys: pytest.CaptureFixture[str]) -> None:
    workers.beat("alive")
    assert (prune(capsys)["workers"], Worker.objects.count()) == (0, 1)


def test_many_rows_go_some_at_a_time(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pruning, "BATCH", 3)
    expired = NOW - timedelta(days=1)
    Session.objects.bulk_create(
        Session(session_key=str(number), session_data="", expire_date=expired) for number in range(10)
    )
    assert (prune(capsys)["sessions"], Session.objects.count()) == (10, 0)
