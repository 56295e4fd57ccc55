"""`stalwart doctor`: what is wrong is found, named, and told what to do about."""

import json
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from approvals.models import Delivery, Webhook
from runs import queue, services, workers
from runs.demo import make_logins
from runs.engine import advance
from runs.escalating import escalate_expired
from runs.models import Event, Notice, Run, Step, Worker
from stalwart_site.doctor import BAD, OK, WARN, Finding, examine_database, examine_settings
from tests.factories import AGENT, approve_all, make_agent, question, start
from tests.world import WORLD

if TYPE_CHECKING:
    from pytest_django import Settings

pytestmark = pytest.mark.django_db(transaction=True)
LONG_AGO = timedelta(minutes=5)


@pytest.fixture(autouse=True)
def _well(settings: "Settings") -> None:
    """A worker is alive, and the settings are those of production."""
    workers.beat("alive")
    settings.FAULTS_ALLOWED = settings.DEBUG = False
    settings.SECRET_KEY = "k" * 50
    settings.ALLOWED_HOSTS = ["localhost"]
    settings.CALL_TIMEOUT_SECONDS, settings.DRAIN_SECONDS = 10, 30


def found(state: str) -> list[Finding]:
    """What is so, without what tests alone do: fsync is off, and their role owns the tables."""
    of_tests = ("fsync", "may empty")
    findings = [*examine_database(), *examine_settings()]
    return [
        one for one in findings if one.state == state and not any(words in one.text for words in of_tests)
    ]


def of(part: str, *states: str) -> str:
    """What was found of this part, in words."""
    findings = [*examine_database(), *examine_settings()]
    return "\n".join(
        str(one) for one in findings if one.part == part and one.state in (states or (BAD, WARN))
    )


def test_nothing_is_wrong_where_nothing_is() -> None:
    assert (found(BAD), found(WARN)) == ([], [])
    parts = {one.part for one in found(OK)}
    assert (
        {"database", "tables", "workers", "queue", "work", "questions", "agents"}
        >= parts
        >= {"database", "queue"}
    )


# --- The database -------------------------------------------------------------------------------------
def test_a_record_that_may_be_lost_or_changed_is_bad() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SHOW fsync")
        assert cursor.fetchone() == ("off",)  # of the tests' server
    assert "fsync is off: an intent may be lost that a call has left for: turn it on" in of("database", BAD)
    assert "this role may empty the record" in of("tables", WARN)
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE runs_event DISABLE TRIGGER ALL")
        try:
            assert "the record can be changed: its trigger is gone" in of("tables", BAD)
        finally:
            cursor.execute("ALTER TABLE runs_event ENABLE TRIGGER ALL")


def test_tables_that_are_not_up_to_date_are_all_that_is_said() -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE django_migrations SET app = 'later' WHERE app = 'approvals'")
        try:
            assert examine_database()[-1] == Finding(
                BAD, "tables", "they are not up to date", "run `stalwart migrate` once"
            )
        finally:
            cursor.execute("UPDATE django_migrations SET app = 'approvals' WHERE app = 'later'")


# --- Work ---------------------------------------------------------------------------------------------
def test_workers_that_are_gone_are_named() -> None:
    Worker.objects.update(seen_at=timezone.now() - LONG_AGO)
    said = of("workers")
    assert "bad   workers    none is alive: start `stalwart worker`" in said
    assert "ended without a word: alive 5 min ago" in said
    workers.stopped("alive")
    assert "without a word" not in of("workers")


def test_a_queue_that_nobody_takes_from_is_old() -> None:
    queue.nudge(1)
    assert "1 nudge(s) wait" in of("queue", OK)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE django_q_ormq SET lock = now() - interval '5 minutes'")
    assert "bad   queue      1 nudge(s) wait, the oldest for 5 min: start more workers" in of("queue")


def test_a_run_that_could_move_and_that_nothing_moves_is_stuck(
    agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = services.start_thread(AGENT, agent, "u-1")
    run = services.start(AGENT, thread, services.RunRequest(text="pay 1"))
    assert of("work") == ""
    late = timezone.now() + LONG_AGO
    monkeypatch.setattr("stalwart_site.doctor.clock", lambda: late)
    Worker.objects.update(seen_at=late)
    said = of("work")
    assert f"bad   work       1 run(s) could move, and nothing moves them: {run.name}" in said
    advance(run.pk)
    assert of("work") == ""


def test_a_question_that_waits_for_people_is_not_stuck_but_told(agent: str) -> None:
    WORLD.script = {"tag": ["times out after"], "find": ["cannot say"]}
    run = approve_all(start(agent, "tag 1"))
    Step.objects.update(asked_at=timezone.now() - LONG_AGO, expires_at=timezone.now() - LONG_AGO)
    said = of("questions")
    assert "1 unknown outcome(s), the oldest asked 5 min ago: `stalwart lookup`" in said
    assert "1 question(s) past their time that have not escalated" in said
    assert escalate_expired() == 1
    assert "1 question(s) that nobody answered in time" in of("questions")
    assert (of("work"), question(run).state) == ("", "unknown")


def test_a_call_that_never_came_back_is_told(agent: str) -> None:
    run = start(agent, "charge 1 40.00")
    Step.objects.update(state="sent", sent_at=timezone.now() - LONG_AGO)
    Run.objects.update(state="running", lease_expires_at=timezone.now() + LONG_AGO)
    assert f"1 call(s) under way for over a minute: {run.name} charge" in of("work")


def test_who_is_not_told_is_told_here(agent: str) -> None:
    run = start(agent, "pay 1")
    assert of("messages") == ""
    hook = Webhook.objects.create(url="https://hooks.example/", kinds=[], disabled_at=timezone.now())
    Delivery.objects.create(message="msg_1", kind="test", body="{}", webhook=hook, state="dead")
    Event.objects.create(run=run, kind="run.stuck", actor="engine", at=timezone.now() - LONG_AGO)
    Notice.objects.exclude(event__kind="run.stuck").delete()
    said = of("messages")
    assert "1 line(s) wait to be told, the oldest for 5 min: is a `stalwart sweep` running?" in said
    assert "1 message(s) were given up within a day" in said
    assert "disabled: https://hooks.example/" in said


@pytest.mark.parametrize(
    ("trigger", "says"),
    [("append_only", "the record can be changed"), ("notable", "nobody is told of anything")],
)
def test_a_trigger_that_is_gone_is_bad(trigger: str, says: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT tgname FROM pg_trigger WHERE tgname LIKE %s", [f"pgtrigger_{trigger}_%"])
        [name] = cursor.fetchone()
        cursor.execute(f"ALTER TABLE runs_event DISABLE TRIGGER {name}")
        try:
            assert says in of("tables")
        finally:
            cursor.execute(f"ALTER TABLE runs_event ENABLE TRIGGER {name}")


# --- Settings -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ({"ALLOWED_HOSTS": ["*"]}, "any host name is answered"),
        ({"ALLOWED_HOSTS": ["stalwart.example"]}, "people sign in without TLS"),
        (
            {"ALLOWED_HOSTS": ["stalwart.example"], "FAULTS_ALLOWED": True},
            "set STALWART_FAULTS=0, since it is reached",
        ),
        ({"ALLOWED_HOSTS": ["stalwart.example"], "DEBUG": True}, "STALWART_DEBUG is on"),
        ({"SECRET_KEY": "insecure-key-of-a-practice-machine"}, "there is no secret key of your own"),
        ({"TASK_TIMEOUT_SECONDS": 10}, "raise it: the queue kills such a call"),
        ({"CALL_TIMEOUT_SECONDS": 40}, "a deploy kills such a call"),
        ({"AGENT_FILES": [Path("/nowhere/agent.yaml")]}, "no run of this installation can go on"),
    ],
)
def test_a_setting_that_is_unsafe_is_bad(setting: dict[str, Any], says: str, settings: "Settings") -> None:
    for name, value in setting.items():
        setattr(settings, name, value)
    assert says in "\n".join(str(finding) for finding in examine_settings() if finding.state == BAD)


def test_a_practice_machine_of_its_own_is_fine(settings: "Settings") -> None:
    settings.FAULTS_ALLOWED, settings.SECRET_KEY = True, "insecure-key-of-a-practice-machine"
    make_logins()
    assert found(BAD) == []


def test_logins_with_the_password_that_everybody_knows_are_bad_outside_practice() -> None:
    make_logins()
    User.objects.get(username="tom").delete()
    User.objects.filter(username="lea").update(is_active=False)
    assert "demo logins still have their password: admin, ana, olga" in of("logins", BAD)


# --- The command --------------------------------------------------------------------------------------
def test_the_command_ends_with_1_where_something_is_bad(capsys: pytest.CaptureFixture[str]) -> None:
    Worker.objects.all().delete()
    with pytest.raises(SystemExit) as ended:
        call_command("doctor", json=True)
    said = capsys.readouterr()
    findings = json.loads(said.out)
    assert ended.value.code == 1
    assert {"state": "bad", "part": "workers"}.items() <= next(
        f for f in findings if f["part"] == "workers"
    ).items()
    assert said.err.count("\n") == 1


def test_a_model_that_cannot_be_asked_is_found_before_a_turn_comes(
    tmp_path: Path, settings: "Settings", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    make_agent(tmp_path, section={"model": "anthropic:claude-sonnet-5-5", "on_unread": "ask_model"})
    settings.MODEL_TIMEOUT_SECONDS = 200
    lines = [str(finding) for finding in examine_settings() if finding.state == BAD]
    assert any(
        "a request to a model may take 200 s: raise STALWART_TASK_TIMEOUT_SECONDS" in line for line in lines
    )
    assert any(
        "tester: The model anthropic:claude-sonnet-5-5 cannot be asked: Set the" in line for line in lines
    )
