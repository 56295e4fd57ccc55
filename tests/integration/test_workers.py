"""Who is alive, what each holds and what waits; and the orders that an operator gives."""

import json
import os
import socket
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import ProgrammingError
from django.db.models.functions import Now
from django.test import Client

from runs import calls, queue, roster, services, tokens, workers
from runs.access import Actor
from runs.engine import advance, worker_name
from runs.errors import BadInput, Conflict, HeldUp, NotAllowed, NotFound
from runs.following import follow
from runs.models import Run, Worker, WorkerOrder
from runs.roster import State
from runs.tools.dispatch import dispatch
from runs.workers import DRAINED, FINISHES, PAUSED, RESTS, WORKS
from tests.factories import AGENT, answer, expire, question, start
from tests.integration.api.caller import Caller
from tests.integration.api.conftest import person
from tests.integration.pages import html, signed_in, words
from tests.processes import until

pytestmark = pytest.mark.django_db(transaction=True)
OLGA = Actor("Olga Petrova", frozenset({"operator"}))
LONG_AGO = timedelta(minutes=5)


@pytest.fixture
def worker() -> Worker:
    """One that lives, on another machine."""
    workers.beat("pod-7:12:cafe0123")
    return Worker.objects.get()


@pytest.fixture
def olga() -> Client:
    """An operator in the browser."""
    return signed_in("olga", "Olga Petrova", "operator")


def state(worker: Worker) -> State:
    return next(one.state for one in roster.roster().processes if one.worker.pk == worker.pk)


def silence(worker: Worker, since: timedelta = LONG_AGO) -> None:
    Worker.objects.filter(pk=worker.pk).update(seen_at=Now() - since)


# --- How a worker stands ------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("wanted", "doing", "says"),
    [
        ("", WORKS, "idle"),
        (PAUSED, WORKS, "pausing"),
        (PAUSED, FINISHES, "pausing"),
        (PAUSED, RESTS, "paused"),
        ("", RESTS, "resuming"),
        (DRAINED, WORKS, "draining"),
        (DRAINED, RESTS, "draining"),
        ("", FINISHES, "draining"),
    ],
)
def test_a_worker_stands_between_what_is_wanted_and_what_it_says(
    worker: Worker, wanted: str, doing: str, says: str
) -> None:
    Worker.objects.update(wanted=wanted, doing=doing)
    assert state(worker) == says


def test_one_that_has_stopped_says_whether_it_was_drained(worker: Worker) -> None:
    workers.stopped(worker.name)
    assert state(worker) == "stopped"
    Worker.objects.update(wanted=DRAINED)
    assert state(worker) == "drained"


def test_one_that_is_not_heard_from_is_silent_and_dead_only_where_that_is_known(worker: Worker) -> None:
    silence(worker)
    assert state(worker) == "silent"
    here = socket.gethostname()
    Worker.objects.update(name=f"{here}:{os.getpid()}:cafe0123")
    assert state(worker) == "silent"
    Worker.objects.update(name=f"{here}:99999999:cafe0123")
    assert state(worker) == "dead"


def test_one_that_is_not_heard_from_for_a_day_is_forgotten(worker: Worker) -> None:
    silence(worker, timedelta(days=2))
    assert roster.roster().processes == ()


def test_a_beat_says_what_is_wanted_and_who_it_is(worker: Worker) -> None:
    assert workers.beat(worker.name) == ""
    services.order(OLGA, "pause", worker.pk)
    assert workers.beat(worker.name, doing=FINISHES) == PAUSED
    worker.refresh_from_db()
    assert (worker.kind, worker.doing, worker.version) == ("worker", FINISHES, workers.version())
    assert worker.version


# --- What it holds ------------------------------------------------------------------------------------
def test_what_a_worker_holds_is_told_with_the_call_in_flight(
    agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers.beat(workers.own_name())  # the tests' own process, which carries runs out here
    run = start(agent, "charge 1 40.00")
    during: list[roster.Roster] = []

    def look(*args: Any) -> Any:
        during.append(roster.roster())
        return dispatch(*args)

    monkeypatch.setattr(calls, "dispatch", look)
    answer(run, "approve")
    [process] = during[0].processes
    [held] = process.holds
    assert process.state == "working"
    assert (held.run_id, held.tool, workers.family_of(held.owner)) == (
        run.pk,
        "charge",
        workers.family_of(process.worker.name),
    )
    assert held.since and held.sent_at and held.until and held.since <= held.sent_at < held.until
    assert [one.holds for one in roster.roster().processes] == [()]


def test_a_lease_says_which_worker_it_belongs_to() -> None:
    assert worker_name().startswith(f"{workers.own_name()}:")
    assert workers.family_of(worker_name()) == workers.family_of(workers.own_name())
    assert workers.family_of("a name of before") == ""


def test_what_a_dead_worker_held_is_his_until_somebody_takes_it_over(agent: str) -> None:
    run = start(agent, "charge 1 40.00")
    gone = f"{socket.gethostname()}:99999999:dead0000"
    workers.beat(gone)
    silence(Worker.objects.get())
    Run.objects.filter(pk=run.pk).update(
        state="running", lease_owner=f"{gone.replace('99999999', '99999998')}:1234", lease_expires_at=Now()
    )
    [process] = roster.roster().processes
    assert (process.state, [held.run_id for held in process.holds]) == ("dead", [run.pk])


def test_what_no_known_process_holds_is_told_apart(agent: str) -> None:
    run = expire(start(agent, "charge 1 40.00"))
    Run.objects.filter(pk=run.pk).update(state="running")
    assert [held.run_id for held in roster.roster().others] == [run.pk]


# --- What waits ---------------------------------------------------------------------------------------
def test_runs_that_nobody_holds_and_nudges_that_nobody_takes_are_counted_with_the_oldest(agent: str) -> None:
    assert roster.backlog() == roster.Backlog(0, None, 0, None, None)
    thread = services.start_thread(AGENT, agent, "u-1")
    run = services.start(AGENT, thread, services.RunRequest(text="pay 1"))
    waits = roster.backlog()
    assert (waits.runs, waits.nudges) == (1, 1)
    assert waits.oldest_run == run.events.latest("pk").at
    assert (waits.nudges, waits.oldest_nudge) == queue.waiting_since()
    advance(run.pk)
    assert roster.backlog().runs == 0


def test_a_run_that_waits_for_time_has_waited_since_then(agent: str) -> None:
    run = start(agent, "charge 1 40.00")
    Run.objects.filter(pk=run.pk).update(state="ready", due_at=Now() + LONG_AGO)
    assert roster.backlog().runs == 0
    Run.objects.filter(pk=run.pk).update(due_at=Now() - timedelta(milliseconds=1))
    run.refresh_from_db()
    assert roster.backlog().oldest_run == run.due_at


# --- Orders -------------------------------------------------------------------------------------------
def test_an_order_is_written_down_with_who_when_and_why(worker: Worker) -> None:
    services.order(OLGA, "pause", worker.pk, " the card service is down ")
    services.order(OLGA, "resume", worker.pk)
    services.order(OLGA, "drain", worker.pk)
    told = [(one.worker, one.what, one.by, one.reason) for one in WorkerOrder.objects.all()]
    assert told == [
        (worker.name, "pause", "Olga Petrova", "the card service is down"),
        (worker.name, "resume", "Olga Petrova", ""),
        (worker.name, "drain", "Olga Petrova", ""),
    ]
    worker.refresh_from_db()
    assert worker.wanted == DRAINED


def test_an_order_is_never_rewritten(worker: Worker) -> None:
    services.order(OLGA, "pause", worker.pk)
    with pytest.raises(ProgrammingError, match="Cannot update or delete"):
        WorkerOrder.objects.update(by="somebody else")


def test_the_same_order_again_changes_nothing(worker: Worker) -> None:
    for _ in range(2):
        services.order(OLGA, "pause", worker.pk)
    for _ in range(2):
        services.order(OLGA, "resume", worker.pk)
    assert [one.what for one in WorkerOrder.objects.all()] == ["pause", "resume"]


def test_all_workers_are_told_at_once_and_those_that_have_stopped_are_not(worker: Worker) -> None:
    workers.beat("pod-8:12:cafe0124")
    workers.beat("pod-9:12:cafe0125")
    workers.stopped("pod-9:12:cafe0125")
    workers.beat("pod-7:13:cafe0126", kind="sweep")
    told = services.order(OLGA, "pause")
    assert [one.name for one in told] == ["pod-7:12:cafe0123", "pod-8:12:cafe0124"]
    assert Worker.objects.filter(wanted=PAUSED).count() == WorkerOrder.objects.count() == 2


def test_nothing_takes_a_drain_back(worker: Worker) -> None:
    services.order(OLGA, "drain", worker.pk)
    for what in ("pause", "resume"):
        with pytest.raises(Conflict, match="is being drained, and ends: start another"):
            services.order(OLGA, what, worker.pk)
    services.order(OLGA, "resume")  # all: it is left as it is
    worker.refresh_from_db()
    assert worker.wanted == DRAINED


def test_who_may_not_and_what_is_not_there_is_said(worker: Worker) -> None:
    for roles in ({"support"}, {"lead"}, set[str]()):
        with pytest.raises(NotAllowed, match="Only an operator"):
            services.order(Actor("Ana", frozenset(roles)), "pause", worker.pk)
    with pytest.raises(NotAllowed):
        services.order(Actor("bot", frozenset(), "agent"), "drain")
    with pytest.raises(BadInput, match="A worker can be told: pause, resume, drain"):
        services.order(OLGA, "kill", worker.pk)
    for reason in ("x" * 501, "\x00"):
        with pytest.raises(BadInput, match="reason"):
            services.order(OLGA, "pause", worker.pk, reason)
    with pytest.raises(NotFound):
        services.order(OLGA, "pause", worker.pk + 999)
    workers.beat("pod-7:13:cafe0126", kind="web")
    with pytest.raises(Conflict, match="only those that carry runs out"):
        services.order(OLGA, "pause", Worker.objects.get(kind="web").pk)
    workers.stopped(worker.name)
    with pytest.raises(Conflict, match="has stopped"):
        services.order(OLGA, "drain", worker.pk)
    assert not WorkerOrder.objects.exists()


def test_whoever_waits_for_a_run_is_told_that_every_worker_is_paused(agent: str, worker: Worker) -> None:
    """A terminal's command does not do what an operator has just stopped."""
    run = start(agent, "charge 1 40.00")
    services.resolve(Actor("Ana", frozenset({"support"})), question(run).pk, "approve", question(run).digest)
    services.order(OLGA, "pause", worker.pk)
    assert workers.alive()
    with pytest.raises(HeldUp, match="every worker is paused. `stalwart workers resume`"):
        follow(run.pk)
    assert question_is_answered(run)
    Worker.objects.all().delete()
    assert follow(run.pk).state == "succeeded"


def question_is_answered(run: Run) -> bool:
    return run.steps.filter(state="needs_approval", answer="approve").exists()


# --- The page -----------------------------------------------------------------------------------------
def test_the_page_shows_who_is_there_and_takes_an_order(olga: Client, worker: Worker) -> None:
    page = words(olga.get("/workers/"))
    assert "1 worker is alive, and takes runs." in page
    assert "idle pod-7:12 worker" in page
    assert "What keeps running meanwhile" in page
    sent = olga.post("/workers/", {"worker": worker.pk, "do": "pause", "reason": "the card service is down"})
    assert sent["Location"] == f"/workers/?worker={worker.pk}"
    response = olga.get(sent["Location"])
    page = words(response)
    assert "pausing pod-7:12" in page
    assert "paused by Olga Petrova, just now" in page
    assert "“the card service is down”" in page
    assert "Resume pod-7:12" in page
    assert 'value="pause"' not in html(response)


def test_an_order_to_all_is_one_form(olga: Client, worker: Worker) -> None:
    workers.beat("pod-8:12:cafe0124")
    assert "Pause all 2 workers" in words(olga.get("/workers/"))
    chosen = words(olga.get(f"/workers/?worker={worker.pk}"))
    assert "Pause pod-7:12" in chosen
    assert "The other worker goes on, and takes what this one gives back." in chosen
    assert olga.post("/workers/", {"do": "drain"}).status_code == 302
    assert Worker.objects.filter(wanted=DRAINED).count() == 2
    assert "Every worker is paused or being drained: no new run is taken." in words(olga.get("/workers/"))


def test_where_no_worker_is_alive_the_page_teaches(olga: Client) -> None:
    page = olga.get("/workers/")
    assert "No worker is alive: nothing is carried out." in words(page)
    assert "Start stalwart worker" in words(page)
    assert 'name="do"' not in html(page)


def test_the_poll_never_touches_the_form(olga: Client, worker: Worker) -> None:
    part = html(olga.get(f"/workers/now/?worker={worker.pk}", headers={"HX-Request": "true"}))
    assert "pod-7:12" in part
    assert "<form" not in part
    assert "<html" not in part


@pytest.mark.parametrize("sent", [{"do": ""}, {"do": "kill"}, {"do": "pause", "worker": "1e9"}])
def test_an_order_that_is_none_is_refused_in_words(
    olga: Client, worker: Worker, sent: dict[str, str]
) -> None:
    assert olga.post("/workers/", sent).status_code == 422
    assert not WorkerOrder.objects.exists()


@pytest.mark.parametrize("role", ["support", "lead"])
def test_the_page_is_for_operators(worker: Worker, role: str) -> None:
    client = signed_in("ana", "Ana Ferreira", role)
    assert client.get("/workers/").status_code == 403
    assert client.get("/workers/now/").status_code == 403
    assert client.post("/workers/", {"do": "pause"}).status_code == 403
    assert 'href="/workers/"' not in html(client.get("/"))
    assert not WorkerOrder.objects.exists()


@pytest.mark.parametrize("role", ["operator", "admin"])
def test_operators_and_administrators_find_it_in_the_rail(role: str) -> None:
    client = signed_in("olga", "Olga Petrova", role)
    assert 'href="/workers/"' in html(client.get("/"))
    page = client.get("/workers/")
    assert page.status_code == 200
    assert page["Cache-Control"] == "no-store"


# --- The command --------------------------------------------------------------------------------------
def stalwart(capsys: pytest.CaptureFixture[str], *args: str, **options: Any) -> tuple[int, str, str]:
    code: Any = 0
    try:
        call_command("workers", *args, **options)
    except SystemExit as ended:
        code = ended.code
    said = capsys.readouterr()
    return code, said.out, said.err


def test_the_command_lists_them(worker: Worker, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = stalwart(capsys)
    assert (code, out.splitlines()[0].split()) == (
        0,
        ["idle", "worker", "pod-7:12", "heard", "from", "just", "now"],
    )
    assert "0 run(s) wait for a worker" in out
    document = json.loads(stalwart(capsys, json=True)[1])
    assert [(one["name"], one["state"]) for one in document["items"]] == [("pod-7:12", "idle")]
    assert document["waiting"]["runs"] == 0


def test_an_order_at_the_terminal_stays_until_it_is_carried_out(
    olga: Client, worker: Worker, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    beats = iter([FINISHES, RESTS, RESTS])
    monkeypatch.setattr("time.sleep", lambda _: workers.beat(worker.name, doing=next(beats)))
    code, out, _ = stalwart(capsys, "pause", "pod-7:12", login="olga", reason="a new table")
    assert code == 0
    assert out.startswith("paused    worker  pod-7:12")
    assert "by Olga Petrova: a new table" in out


def test_what_a_terminal_cannot_order_is_one_line(worker: Worker, capsys: pytest.CaptureFixture[str]) -> None:
    signed_in("ana", "Ana Ferreira", "support")
    signed_in("olga", "Olga Petrova", "operator")
    assert stalwart(capsys, "pause")[0] == 2
    assert stalwart(capsys, "pause", "pod-9:1", login="olga")[0] == 1
    code, _, err = stalwart(capsys, "pause", login="ana")
    assert (code, err.count("\n")) == (1, 1)
    assert not WorkerOrder.objects.exists()
    silence(worker)
    code, _, err = stalwart(capsys, "pause", login="olga")
    assert (code, "Not heard from, and so not known: pod-7:12." in err) == (1, True)
    Worker.objects.all().delete()
    assert stalwart(capsys, "drain", login="olga")[0] == 1


# --- The API ------------------------------------------------------------------------------------------
def test_an_operators_token_sees_and_orders(olga_by_token: Caller, worker: Worker) -> None:
    seen = olga_by_token.get("/workers")
    assert (seen.status, seen.body["items"][0]["state"], seen.body["items"][0]["order"]) == (
        200,
        "idle",
        None,
    )
    paused = olga_by_token.post(f"/workers/{worker.pk}/pause", {"reason": "a new table"})
    assert (paused.status, paused.body["items"][0]["state"]) == (202, "pausing")
    assert paused.body["items"][0]["order"]["reason"] == "a new table"
    assert olga_by_token.post(f"/workers/{worker.pk}/resume").status == 202
    assert olga_by_token.post(f"/workers/{worker.pk}/drain").body["items"][0]["state"] == "draining"
    assert olga_by_token.post(f"/workers/{worker.pk}/resume").problem == (409, "conflict")
    assert olga_by_token.post("/workers/999999/pause").problem == (404, "not-found")
    assert olga_by_token.post(f"/workers/{worker.pk}/pause", {"why": "x"}).problem == (422, "bad-input")


def test_other_tokens_do_not(ana_by_token: Caller, worker: Worker) -> None:
    assert ana_by_token.get("/workers").problem == (403, "not-allowed")
    assert ana_by_token.post(f"/workers/{worker.pk}/pause").problem == (403, "not-allowed")


# --- Processes that beat beside what they do ----------------------------------------------------------
def test_a_heartbeat_says_when_it_stops() -> None:
    heart = workers.Heartbeat("web")
    heart.start()
    until(lambda: Worker.objects.filter(kind="web", stopped_at=None).exists(), "its first beat")
    heart.stop()
    assert Worker.objects.get().stopped_at


@pytest.fixture
def olga_by_token() -> Caller:
    """An operator's token."""
    return _by_token("olga", "operator")


@pytest.fixture
def ana_by_token() -> Caller:
    """An approver's token."""
    return _by_token("ana", "approver")


def _by_token(login: str, scope: str) -> Caller:
    role = {"operator": "operator", "approver": "support"}[scope]
    return Caller(tokens.make(login, scope, user=person(login, login.title(), role))[1])
