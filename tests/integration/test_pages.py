"""Every page: who may see it, what it holds, and that it holds to the strict policy."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from approvals.models import Bulk
from runs import agentfile, services
from runs.models import Message, Run, Thread
from tests.factories import AGENT, answer, approve_all, make_agent, question, start
from tests.handed_over import rows as handed_over
from tests.integration.pages import html, signed_in, words
from tests.world import WORLD

pytestmark = pytest.mark.django_db


@pytest.fixture
def ana(db: None) -> Client:
    """Support."""
    return signed_in("ana", "Ana Ferreira", "support")


@pytest.fixture
def olga(db: None) -> Client:
    """An operator."""
    return signed_in("olga", "Olga Petrova", "operator")


@pytest.fixture
def failed_run(agent: str) -> Run:
    """A run that was undone, but for a mail."""
    WORLD.script = {"tag": ["raises"]}
    return approve_all(start(agent, "read 1, then charge 1 40.00, then mail 1, then tag 1", "u-1"))


@pytest.fixture
def waiting(agent: str) -> Run:
    """A run that asks to send a mail: irreversible, after a charge, before a tag."""
    return answer(start(agent, "read 2, then charge 2 40.00, then mail 2, then tag 2", "u-2"), "approve")


@pytest.fixture
def addresses(failed_run: Run, waiting: Run) -> list[str]:
    """The address of every page."""
    handed, asked = handed_over(), question(waiting)
    bulk = Bulk.objects.create(nonce="n" * 22, rows=[{"step": asked.pk, "digest": asked.digest}], by="Ana")
    return [
        reverse("needs-you"),
        reverse("needs-you-news"),
        reverse("question", args=[question(waiting).pk]),
        reverse("question", args=[question(waiting).pk]) + "?sure=1",
        reverse("question-card", args=[question(waiting).pk]),
        reverse("question-run", args=[question(waiting).pk]),
        reverse("question", args=[failed_run.steps.get(tool="mail").pk]),
        reverse("runs"),
        reverse("run", args=[failed_run.pk]),
        reverse("run", args=[waiting.pk]),
        reverse("conversations"),
        reverse("conversation", args=[failed_run.thread_id]),
        reverse("conversation", args=[waiting.thread_id]),
        reverse("conversation-pulse", args=[waiting.thread_id]),
        reverse("came-of-it", args=[bulk.nonce]),
        reverse("tools"),
        reverse("tools") + "?agent=tester&q=charge",
        reverse("plan"),
        reverse("plan") + "?agent=tester",
        reverse("handovers"),
        reverse("handover", args=[handed.pk]),
        reverse("handover", args=[handed.pk]) + "?format=text",
        reverse("handover", args=[handed.pk]) + "?format=json",
        reverse("settings"),
    ]


# --- What is not there; who may see what is, is in test_access_matrix.py --------------------------------


@pytest.mark.parametrize(
    "address",
    ["/questions/999999/", "/runs/999999/", "/questions/99999999999999999999/", "/handovers/999999/"],
)
def test_what_is_not_there_is_a_404_in_words(ana: Client, address: str) -> None:
    response = ana.get(address)
    assert response.status_code == 404
    assert "There is no such" in words(response)


def test_health_answers_once_the_database_does(client: Client) -> None:
    response = client.get("/health")
    assert (response.status_code, response.content) == (200, b"ok")


# --- The policy of the pages --------------------------------------------------------------------------


def test_a_strict_policy_holds_and_no_page_needs_more(
    ana: Client, client: Client, addresses: list[str]
) -> None:
    for response in [client.get(reverse("login")), *(ana.get(address) for address in addresses)]:
        policy = response["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        page = html(response)
        assert not re.search(r"\sstyle\s*=", page)
        assert not re.search(r"\son[a-z]+\s*=", page)
        assert "<style" not in page
        assert all("src=" in tag for tag in re.findall(r"<script[^>]*>", page))
        assert "javascript:" not in page
        assert not re.search(r'(src|href)="(https?:)?//', page)


def test_no_page_is_kept_by_a_browser(ana: Client, addresses: list[str]) -> None:
    assert {ana.get(address)["Cache-Control"] for address in addresses} == {"no-store"}


def test_what_users_wrote_is_shown_and_never_run(ana: Client, agent: str) -> None:
    run = start(agent, "charge 7 40.00", "<script>alert(1)</script>\"'")
    for address in ("/", "/runs/", f"/runs/{run.pk}/", "/conversations/", f"/questions/{question(run).pk}/"):
        page = html(ana.get(address))
        assert "<script>alert" not in page
        assert "&lt;script&gt;alert(1)" in page


# --- Needs you ----------------------------------------------------------------------------------------


def test_needs_you_lists_the_questions_of_my_role_oldest_first(ana: Client, waiting: Run, agent: str) -> None:
    start(agent, "charge 3 12.50", "u-3")
    page = words(ana.get("/"))
    assert page.index("mail(order 2)") < page.index("Charge 12.50 to order 3")
    assert "cannot be undone" in page
    assert "2 confirmations" in page


def test_unknown_outcomes_are_for_operators(ana: Client, olga: Client, agent: str) -> None:
    WORLD.script = {"charge": ["times out before"]}
    answer(start(agent, "charge 4 40.00"), "approve")
    title = "Did charge take effect? Charge 40.00 to order 4"
    assert title not in words(ana.get("/"))
    assert title in words(ana.get("/?who=all"))
    assert title in words(olga.get("/"))
    assert title not in words(olga.get("/?kind=confirm"))


def test_the_poll_tells_how_many_are_new_and_sends_no_rows(ana: Client, waiting: Run, agent: str) -> None:
    page = html(ana.get("/"))
    [poll] = re.findall(r'hx-get="(/news/[^"]*)"', page)
    poll = poll.replace("&amp;", "&")
    assert "new, show" not in html(ana.get(poll))
    start(agent, "charge 5 12.50", "u-5")
    news = ana.get(poll)
    assert "1 new, show" in words(news)
    assert "Charge 12.50" not in html(news)
    assert 'id="tallies" hx-swap-oob="true"' in re.sub(r"\s+", " ", html(news))


@pytest.mark.parametrize("query", ["?after=x", "?after=2026-01-01_1", "?who=x&kind=y", "?after=_"])
def test_an_address_that_is_not_ours_shows_the_first_page(ana: Client, waiting: Run, query: str) -> None:
    assert "mail(order 2)" in words(ana.get(f"/{query}"))
    assert ana.get(f"/news/{query}&since=never&seen=a,b").status_code == 200


def test_the_next_page_starts_after_the_last_row(
    ana: Client, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("approvals.needs_you.PAGE", 2)
    for number in range(3):
        start(agent, f"charge {number} 1.00", f"u-{number}")
    first = ana.get("/")
    assert "order 0" in words(first)
    assert "order 2" not in words(first)
    [after] = re.findall(r"after=([^\"]*)\"", html(first))
    second = words(ana.get(f"/?after={after}"))
    assert "order 2" in second
    assert "order 1" not in second


# --- Runs ---------------------------------------------------------------------------------------------


def test_the_run_page_tells_its_reply_its_order_and_what_is_left(ana: Client, failed_run: Run) -> None:
    page = words(ana.get(f"/runs/{failed_run.pk}/"))
    reply = "This run stopped: tag failed (RuntimeError). Undone, latest first: charge (by refund)."
    assert f"{reply} Not undoable, and left as they are: mail." in page
    assert "Stopped at step 4, and undone" in page
    assert "stays: nothing undoes it" in page
    happened = [
        "Charge 40.00 to order 1",
        "mail(order 1)",
        "RuntimeError: a bug in the tool",
        "refund(charge",
    ]
    places = [page.index(words) for words in [*happened, "Memory rewound", "The run ended: rolled back"]]
    assert places == sorted(places)


def test_the_undo_order_is_drawn_and_listed(ana: Client, failed_run: Run) -> None:
    page = html(ana.get(f"/runs/{failed_run.pk}/"))
    assert 'class="undo-picture"' in page
    assert re.search(r"refund: performed", page)


def test_a_run_whose_agent_is_gone_can_still_be_read(ana: Client, failed_run: Run, waiting: Run) -> None:
    del agentfile._known["tester"]
    assert "charge(order 1, amount 40.00)" in words(ana.get(f"/runs/{failed_run.pk}/"))
    for address in (f"/questions/{question(waiting).pk}/", "/", f"/conversations/{waiting.thread_id}/"):
        assert ana.get(address).status_code == 200


def test_only_an_operator_cancels_and_says_why(ana: Client, olga: Client, waiting: Run) -> None:
    address = f"/runs/{waiting.pk}/"
    assert "Cancel this run" not in words(ana.get(address))
    assert ana.post(address, {"reason": "no"}).status_code == 403
    assert olga.post(address, {"reason": " "}).status_code == 422
    waiting.refresh_from_db()
    assert waiting.cancel_requested_at is None
    assert olga.post(address, {"reason": "wrong customer"}).status_code == 302
    waiting.refresh_from_db()
    assert (waiting.cancel_requested_by, waiting.cancel_reason) == ("Olga Petrova", "wrong customer")


def test_runs_come_newest_first_by_key(ana: Client, agent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runs.views.runs.PAGE", 2)
    names = [start(agent, f"read {number}", f"u-{number}").name for number in range(3)]
    first = words(ana.get("/runs/"))
    assert first.index(names[2]) < first.index(names[1])
    assert names[0] not in first
    [after] = re.findall(r"\?after=(\d+)", html(ana.get("/runs/")))
    assert names[0] in words(ana.get(f"/runs/?after={after}"))


# --- Conversations ------------------------------------------------------------------------------------


def test_a_person_starts_a_conversation_and_sends_a_turn(ana: Client, agent: str) -> None:
    started = ana.post("/conversations/", {"agent": agent, "user": "u-9"})
    thread = Thread.objects.get()
    assert started["Location"] == f"/conversations/{thread.pk}/"
    assert ana.post(started["Location"], {"text": "charge 9 40.00"}).status_code == 302
    run = Run.objects.get()
    assert (run.started_by, run.thread_id) == ("Ana Ferreira", thread.pk)
    page = words(ana.get(started["Location"]))
    assert "charge 9 40.00" in page
    assert "1. Charge 40.00 to order 9" in page


@pytest.mark.parametrize(
    ("fields", "status"), [({"agent": "nobody", "user": "u"}, 404), ({"agent": "tester", "user": ""}, 422)]
)
def test_a_conversation_that_cannot_start_says_why(
    ana: Client, agent: str, fields: dict[str, str], status: int
) -> None:
    assert ana.post("/conversations/", fields).status_code == status
    assert not Thread.objects.exists()


def test_a_turn_that_is_not_read_is_kept_and_nothing_is_done(ana: Client, agent: str) -> None:
    thread = services.start_thread(AGENT, agent, "u-9")
    response = ana.post(f"/conversations/{thread.pk}/", {"text": "sing 9 a song"})
    assert response.status_code == 422
    assert "sing 9 a song</textarea>" in html(response)
    assert not Run.objects.exists()


def test_a_turn_sent_meanwhile_says_what_the_conversation_waits_for(ana: Client, waiting: Run) -> None:
    response = ana.post(f"/conversations/{waiting.thread_id}/", {"text": "read 1"})
    assert response.status_code == 409
    assert f"{waiting.name} of this conversation is not done" in words(response)
    assert f"/questions/{question(waiting).pk}/" in html(response)
    assert Run.objects.count() == 1


def test_what_was_rewound_is_struck_and_stays_readable(ana: Client, failed_run: Run) -> None:
    Message.objects.create(
        thread=failed_run.thread, run=failed_run, role="tool", text="a trace", rewound_at=failed_run.ended_at
    )
    page = html(ana.get(f"/conversations/{failed_run.thread_id}/"))
    assert re.search(r"<del[^>]*>a trace</del>", page)
    assert "kept in the record" in page


def test_the_pulse_is_silent_until_something_changes(ana: Client, waiting: Run) -> None:
    page = html(ana.get(f"/conversations/{waiting.thread_id}/"))
    [pulse] = re.findall(r'hx-get="([^"]*/pulse/[^"]*)"', page)
    assert ana.get(pulse).status_code == 204
    answer(waiting, "approve")
    typing = ana.get(f"{pulse}&typing=1")
    assert "The conversation moved on, show" in words(typing)
    assert "HX-Retarget" not in typing
    assert ana.get(pulse)["HX-Retarget"] == "#exchanges"


def test_faults_are_offered_on_practice_machines_alone(ana: Client, waiting: Run, settings: Any) -> None:
    address = f"/conversations/{waiting.thread_id}/"
    assert "Practice: let a call fail" in words(ana.get(address))
    settings.FAULTS_ALLOWED = False
    assert "Practice: let a call fail" not in words(ana.get(address))


def test_an_agent_of_another_kind_of_rollback_says_so(ana: Client, tmp_path: Path) -> None:
    kept = make_agent(tmp_path, "keeper", runs="keep")
    run = answer(start(kept, "charge 1 1.00, then charge 2 1.00"), "approve")
    page = words(ana.get(f"/questions/{question(run).pk}/"))
    assert "nothing is undone by itself, and the run is handed over to a person" in page
