"""People are told by mail: of what they chose, a link and nothing that answers."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from approvals.delivering import deliver_due
from approvals.models import Delivery, MailChoice
from approvals.notices import hand_out
from runs.escalating import escalate_expired
from runs.notable import KINDS
from tests.factories import approve_all, question, start
from tests.integration.pages import signed_in, words
from tests.world import WORLD

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _mail(settings: Settings) -> None:
    settings.MAIL = True
    settings.DELIVERY_RETRY_SECONDS = 0


@pytest.fixture
def ana() -> Client:
    """Support, with an address."""
    client = signed_in("ana", "Ana Ferreira", "support")
    User.objects.filter(username="ana").update(email="ana@example.com")
    return client


def choose(client: Client, *kinds: str, **more: str) -> str:
    """What the page says once this was sent."""
    sent: dict[str, Any] = {"what": "mail", "kinds": list(kinds), **more}
    return words(client.post(reverse("settings"), sent, follow=True))


def mails() -> list[tuple[str, list[str]]]:
    """What was sent: subject, to whom."""
    hand_out()
    deliver_due()
    return [(str(one.subject), one.to) for one in mail.outbox]


def test_nobody_gets_mail_who_did_not_ask_for_it(agent: str, ana: Client) -> None:
    start(agent, "charge 1 40.00")
    assert mails() == []
    assert not Delivery.objects.exists()


def test_somebody_who_asked_gets_a_link_and_nothing_that_answers(agent: str, ana: Client) -> None:
    assert "You are told of 1 of 5" in choose(ana, "question.asked", only_mine="on")
    run = start(agent, "charge 1 40.00")
    assert mails() == [(f"[{run.name}] Asked to confirm: Charge 40.00 to order 1", ["ana@example.com"])]
    [message] = mail.outbox
    links = [word for word in str(message.body).split() if word.startswith("http")]
    page = f"http://localhost:8700/questions/{question(run).pk}/"
    assert links == [page, "http://localhost:8700/settings/"]
    assert message.extra_headers["Message-ID"] == f"<{Delivery.objects.get().message}@localhost>"
    assert message.extra_headers["Auto-Submitted"] == "auto-generated"
    ana.get(page)  # as a mail scanner would
    assert question(run).answer == ""


def test_of_questions_only_those_that_they_may_answer(agent: str, ana: Client) -> None:
    olga = signed_in("olga", "Olga Petrova", "operator")
    User.objects.filter(username="olga").update(email="olga@example.com")
    choose(ana, "question.asked", "run.ended", only_mine="on")
    choose(olga, "question.asked", only_mine="on")
    WORLD.script = {"charge": ["times out before"]}
    run = approve_all(start(agent, "charge 1 40.00"))
    assert mails() == [
        (f"[{run.name}] Asked to confirm: Charge 40.00 to order 1", ["ana@example.com"]),
        (f"[{run.name}] Asked: Did charge take effect? Charge 40.00 to order 1", ["olga@example.com"]),
    ]


def test_an_escalation_reaches_the_lead(agent: str) -> None:
    lea = signed_in("lea", "Lea Novak", "lead")
    User.objects.filter(username="lea").update(email="lea@example.com")
    choose(lea, "question.escalated", only_mine="on")
    run = start(agent, "charge 1 40.00")
    run.steps.update(expires_at=Now() - timedelta(seconds=1))
    escalate_expired()
    [(subject, to)] = mails()
    assert (to, "escalated to lead" in subject) == (["lea@example.com"], True)


def test_all_questions_for_those_who_want_them(agent: str) -> None:
    olga = signed_in("olga", "Olga Petrova", "operator")
    User.objects.filter(username="olga").update(email="olga@example.com")
    choose(olga, "question.asked")
    start(agent, "charge 1 40.00")
    assert len(mails()) == 1


def test_who_may_no_longer_sign_in_or_has_no_role_is_told_nothing(agent: str, ana: Client) -> None:
    choose(ana, *KINDS)
    User.objects.update(is_active=False)
    start(agent, "pay 1")
    assert mails() == []
    User.objects.update(is_active=True)
    User.objects.get(username="ana").groups.clear()
    start(agent, "pay 1", user="u-2")
    assert mails() == []


def test_mail_that_is_not_taken_is_sent_again(agent: str, ana: Client, settings: Settings) -> None:
    choose(ana, "run.ended")
    start(agent, "pay 1")
    working = settings.EMAIL_BACKEND
    settings.EMAIL_BACKEND, settings.EMAIL_PORT = "django.core.mail.backends.smtp.EmailBackend", 1
    settings.EMAIL_HOST = "127.0.0.1"
    assert mails() == []
    assert "ConnectionRefusedError" in Delivery.objects.get().error
    settings.EMAIL_BACKEND = working
    assert len(mails()) == 1
    assert Delivery.objects.get().state == "sent"


def test_the_page_shows_what_was_chosen_and_can_be_undone(ana: Client) -> None:
    choose(ana, "run.stuck", "run.ended")
    choice = MailChoice.objects.get()
    assert (choice.kinds, choice.only_mine) == (["run.stuck", "run.ended"], False)
    assert "You get no mail" in choose(ana, only_mine="on")
    assert MailChoice.objects.get().kinds == []


def test_a_kind_that_there_is_not_is_refused_and_nothing_is_kept(ana: Client) -> None:
    sent = {"what": "mail", "kinds": ["run.started"]}
    assert ana.post(reverse("settings"), sent).status_code == 422
    assert not MailChoice.objects.exists()


def test_the_page_says_why_there_would_be_no_mail(settings: Settings) -> None:
    settings.MAIL = False
    tom = signed_in("tom", "Tom Baker", "support")
    said = words(tom.get(reverse("settings")))
    assert "There is no address to send it to" in said
    assert "sends no mail yet" in said
