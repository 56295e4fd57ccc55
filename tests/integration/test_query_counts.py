"""No page asks the database more than twelve times, however many rows there are and however long a run is."""

from collections.abc import Iterator
from datetime import timedelta
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models.functions import Now
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import resolve, reverse

from approvals import handovers
from approvals.models import Answer, Bulk, Delivery, Note, Webhook
from runs import services
from runs.access import person
from runs.engine import advance
from runs.models import Event, Run, Step, Worker
from tests.factories import AGENT, answer, approve_all, question, start
from tests.handed_over import rows as handed_over
from tests.integration.pages import routes, signed_in
from tests.world import WORLD

pytestmark = pytest.mark.django_db
MOST = 12
# They are not pages, or carry the real engine out to show what it does.
OTHERS = {
    "questions/together/",
    "login/",
    "logout/",
    "health",
    "explorer/",
    "explorer/<slug:stop>/<slug:resume>/",
}


@pytest.fixture
def ana(db: None) -> Client:
    """An administrator, who sees what there is to see."""
    return signed_in("ana", "Ana Ferreira", "admin")


def _addresses(agent: str, many: int) -> dict[str, str]:
    """Every page, of a site with so many of everything."""
    for number in range(many):
        _one_of_each(agent, number)
    long = _long(agent, many)
    asked, said = question(long), question(_talk(agent, many))
    ended = _long(agent, many, asks=False)
    doubt, stuck = _doubt(agent, many), _stuck(agent)
    handed, answered = handed_over(), ended.steps.get(tool="charge")
    Answer.objects.create(step=answered, digest=f"d{many}", nonce=f"n{many}", answer="approve", by="Ana")
    for number in range(many):
        Note.objects.create(run=handed, by="Ana", text=f"note {number}")
    webhook = Webhook.objects.create(url=f"https://hooks.example.com/{many}", kinds=["run.ended"])
    Delivery.objects.bulk_create(
        Delivery(message=f"msg_{number}", kind="run.ended", body="{}", webhook=webhook)
        for number in range(many)
    )
    picked = [
        {"step": step.pk, "digest": step.digest}
        for step in Step.objects.asking().filter(asks="confirm")[:many]
    ]
    Bulk.objects.create(nonce=f"nonce-{many}", rows=picked, by="Ana", user=User.objects.get())
    return {
        "needs you": "/?who=all",
        "needs you, one kind": "/?who=all&kind=outcome",
        "news": f"{reverse('needs-you-news')}?who=all&since=2026-01-01T00:00:00Z",
        "confirmation": reverse("question", args=[asked.pk]),
        "confirmation, the last look": reverse("question", args=[asked.pk], query={"sure": 1}),
        "confirmation, as a card": reverse("question-card", args=[asked.pk]),
        "answered": reverse("question", args=[answered.pk]),
        "how the run goes on": reverse("question-run", args=[answered.pk]),
        "unknown outcome": reverse("question", args=[doubt.pk]),
        "what its lookup said": reverse("question-lookup", args=[doubt.pk]),
        "stuck undo": reverse("question", args=[stuck.pk]),
        "answered together": reverse("came-of-it", args=[f"nonce-{many}"]),
        "handovers": reverse("handovers"),
        "handovers, resolved": reverse("handovers", query={"kind": "resolved"}),
        "handover": reverse("handover", args=[handed.pk]),
        "dashboard": reverse("dashboard"),
        "runs": reverse("runs"),
        "runs, searched": reverse("runs", query={"q": "u-1", "state": "waiting", "agent": agent}),
        "runs, as a file": reverse("runs-export", args=["csv"]),
        "run": reverse("run", args=[ended.pk]),
        "run that waits": reverse("run", args=[long.pk]),
        "tools": reverse("tools", query={"agent": agent}),
        "plan": reverse("plan"),
        "settings": reverse("settings"),
        "webhooks": reverse("webhooks"),
        "webhook": reverse("webhook", args=[webhook.pk]),
        "workers": reverse("workers"),
        "workers, their poll": reverse("workers-now"),
        "conversations": reverse("conversations"),
        "conversation": reverse("conversation", args=[said.thread_id]),
        "conversation, its poll": reverse("conversation-pulse", args=[said.thread_id]),
    }


def _one_of_each(agent: str, number: int) -> None:
    """A confirmation, a handover of each kind; now and then an unknown outcome and a stuck undo."""
    WORLD.script = {}
    start(agent, f"read {number}, then charge {number} 1.00", f"u-{number}")
    held = start(agent, f"read {number}, then pay {number}", f"h-{number}")
    Run.objects.filter(pk=held.pk).update(
        state="running", lease_owner=f"elsewhere:{number}", lease_expires_at=Now() + timedelta(1)
    )
    if number % 5 == 0:
        _doubt(agent, 1)
        _stuck(agent)
    handed_over(f"T-{number}")
    Webhook.objects.create(url=f"https://hooks.example.com/{uuid4()}", kinds=["run.ended"])
    Worker.objects.create(name=f"elsewhere:{number}:{uuid4()}")
    ana = person(User.objects.get())
    for done in ("", "Refunded."):
        run = handed_over("T-9")
        handovers.claim(ana, run)
        if done:
            handovers.resolve(ana, run, done)


def _long(agent: str, many: int, *, asks: bool = True) -> Run:
    """A run of about so many reads and writes; each is a few lines of the record."""
    WORLD.script = {}
    last = ["mail 1"] if asks else ["read 2"]
    turn = ", then ".join(["charge 1 1.00", *["read 1"] * (many // 5), *["pay 1"] * (many // 2), *last])
    return answer(start(agent, turn, "u-long"), "approve")


def _talk(agent: str, many: int) -> Run:
    """The last of so many turns of one conversation."""
    thread = services.start_thread(AGENT, agent, "u-talks")
    for number in range(many):
        run = services.start(AGENT, thread, services.RunRequest(text=f"read {number}, then pay {number}"))
        advance(run.pk)
    run = services.start(AGENT, thread, services.RunRequest(text="charge 1 1.00"))
    advance(run.pk)
    return run


def _doubt(agent: str, many: int) -> Step:
    """A write of which nobody knows; its lookup said so many times that it cannot say."""
    WORLD.script = {"tag": ["times out before"], "find": ["cannot say"]}
    asked = question(approve_all(start(agent, "read 1, then tag 1, then mail 1", "u-doubt")))
    line = Event.objects.filter(step=asked, kind__contains="look").last()
    assert line
    for _ in range(many):
        Event.objects.create(run=asked.run, step=asked, kind=line.kind, actor=line.actor, data=line.data)
    return asked


def _stuck(agent: str) -> Step:
    """An undo of which a person is asked."""
    WORLD.script = {"mail": ["raises"], "refund": ["refuses"] * 4}
    run = approve_all(start(agent, "charge 1 40.00, then pay 1, then mail 1", "u-stuck"))
    while not run.steps.filter(state="undo_stuck").exists():
        Run.objects.filter(pk=run.pk).update(due_at=None)
        Step.objects.filter(run=run).update(due_at=None)
        advance(run.pk)
    return question(run)


def _counts(client: Client, addresses: dict[str, str]) -> Iterator[tuple[str, int]]:
    """How many times each page asks."""
    for name, address in addresses.items():
        with CaptureQueriesContext(connection) as counted:
            response = client.get(address)
            assert response.status_code == 200, address
            b"".join(response)
        yield name, len(counted)


def test_no_page_asks_more_often_where_there_is_more(ana: Client, agent: str) -> None:
    few = dict(_counts(ana, _addresses(agent, 5)))
    many = dict(_counts(ana, _addresses(agent, 50)))
    assert many == few
    assert {name: count for name, count in many.items() if count > MOST} == {}


def test_no_page_is_forgotten_here(ana: Client, agent: str) -> None:
    tested = {
        resolve(address.partition("?")[0]).route.removeprefix("^")
        for address in _addresses(agent, 1).values()
    }
    pages = {route for route in routes() if not route.startswith(("admin/", "api/"))}
    assert pages - OTHERS == tested
