"""The pages and the command by which an operator says which programs are told."""

import json
import re
from collections.abc import Iterator
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from approvals import webhooks
from approvals.models import Delivery, Webhook
from runs.notable import KINDS
from tests.integration.pages import html, signed_in, words
from tests.receiver import Receiver, is_signed, receiving

pytestmark = pytest.mark.django_db
SECRET = re.compile(r"whsec_[A-Za-z0-9+/]{43}=")


@pytest.fixture(autouse=True)
def _practice(settings: Settings) -> None:
    settings.WEBHOOKS_PRIVATE = settings.WEBHOOKS_PLAIN = True


@pytest.fixture
def olga() -> Client:
    """An operator."""
    return signed_in("olga", "Olga Petrova", "operator")


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as started:
        yield started


def add(olga: Client, url: str, **fields: object) -> str:
    """Add a webhook; the secret that is shown."""
    response = olga.post(reverse("webhooks"), {"url": url, "kinds": list(KINDS), **fields})
    assert response.status_code == 201, words(response)
    [secret] = set(SECRET.findall(html(response)))
    return str(secret)


def test_an_operator_adds_one_and_sees_its_secret_once(olga: Client, receiver: Receiver) -> None:
    secret = add(olga, receiver.url, kinds=["run.ended"], agent="desk")
    webhook = Webhook.objects.get()
    assert (webhook.url, webhook.kinds, webhook.agent) == (receiver.url, ["run.ended"], "desk")
    assert webhook.created_by == "Olga Petrova"
    for address in (reverse("webhooks"), reverse("webhook", args=[webhook.pk])):
        page = html(olga.get(address))
        assert receiver.url in page and secret not in page


def test_a_test_message_says_whether_it_arrives(olga: Client, receiver: Receiver) -> None:
    secret = add(olga, receiver.url)
    page = reverse("webhook", args=[Webhook.objects.get().pk])
    receiver.answers = [204, 503]
    assert "delivered" in words(olga.post(page, {"do": "test"}, follow=True))
    headers, body = receiver.posts[0]
    assert is_signed(secret, headers, body)
    assert json.loads(body)["type"] == "test"
    said = words(olga.post(page, {"do": "test"}, follow=True))
    assert "answered 503" in said and "waiting" in said


def test_a_new_secret_is_shown_once_too(olga: Client, receiver: Receiver) -> None:
    old = add(olga, receiver.url)
    response = olga.post(reverse("webhook", args=[Webhook.objects.get().pk]), {"do": "rotate"})
    [new] = set(SECRET.findall(html(response)))
    assert new != old and "holds for a day" in words(response)


def test_one_that_is_disabled_is_told_nothing_until_it_is_enabled(olga: Client, receiver: Receiver) -> None:
    add(olga, receiver.url)
    page = reverse("webhook", args=[Webhook.objects.get().pk])
    assert "by Olga Petrova" in words(olga.post(page, {"do": "disable"}, follow=True))
    refused = olga.post(page, {"do": "test"})
    assert (refused.status_code, receiver.posts) == (409, [])
    olga.post(page, {"do": "enable"})
    olga.post(page, {"do": "test"})
    assert len(receiver.posts) == 1


def test_it_is_told_of_other_things_or_removed(olga: Client, receiver: Receiver) -> None:
    add(olga, receiver.url)
    page = reverse("webhook", args=[Webhook.objects.get().pk])
    olga.post(page, {"do": "change", "kinds": ["run.stuck"], "agent": ""})
    assert Webhook.objects.get().kinds == ["run.stuck"]
    assert olga.post(page, {"do": "change", "kinds": []}).status_code == 422
    assert olga.post(page, {"do": "explode"}).status_code == 422
    assert Webhook.objects.get().kinds == ["run.stuck"]
    assert "No program is told" in words(olga.post(page, {"do": "remove"}, follow=True))
    assert not Webhook.objects.exists() and not Delivery.objects.exists()


def test_what_is_wrong_is_said_and_what_was_typed_is_kept(olga: Client) -> None:
    wrong = {"url": "ftp://hooks.example/", "kinds": ["run.ended"], "agent": "desk"}
    response = olga.post(reverse("webhooks"), wrong)
    assert response.status_code == 422
    assert "An address that begins with" in words(response)
    assert 'value="ftp://hooks.example/"' in html(response)
    assert html(response).count("checked") == 1
    assert not Webhook.objects.exists()


@pytest.mark.parametrize("role", ["support", "lead"])
def test_nobody_else_sees_them(role: str, receiver: Receiver, olga: Client) -> None:
    add(olga, receiver.url)
    other = signed_in("ana", "Ana Ferreira", role)
    page = reverse("webhook", args=[Webhook.objects.get().pk])
    assert other.get(reverse("webhooks")).status_code == 403
    assert other.get(page).status_code == 403
    assert other.post(page, {"do": "remove"}).status_code == 403
    assert "Webhooks" not in words(other.get(reverse("settings")))
    assert Webhook.objects.exists()


def test_there_is_no_such_webhook(olga: Client) -> None:
    assert olga.get(reverse("webhook", args=[10**25])).status_code == 404


# --- At the command line ------------------------------------------------------------------------------
def stalwart(*words_of_it: str) -> str:
    out = StringIO()
    call_command("webhooks", *words_of_it, stdout=out, stderr=StringIO())
    return out.getvalue().rstrip()


@pytest.mark.django_db(transaction=True)
def test_the_command_adds_lists_tries_and_removes(receiver: Receiver) -> None:
    secret = stalwart("add", receiver.url, "--kinds", "run.ended,run.stuck")
    webhook = Webhook.objects.get()
    assert secret == webhooks.secret_of(webhook)
    assert stalwart("list") == f"{webhook.pk:>4}  {receiver.url}  run.stuck,run.ended"
    assert secret not in stalwart("list", "--json")
    assert "answered 204" in stalwart("test", str(webhook.pk))
    assert is_signed(secret, *receiver.posts[0])
    receiver.answers = [500]
    with pytest.raises(SystemExit):
        stalwart("test", str(webhook.pk))
    assert "told nothing more" in stalwart("remove", str(webhook.pk))
    assert not Webhook.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "wrong", [["add", "nowhere"], ["test", "77"], ["add", "https://a.example", "--kinds", "x"]]
)
def test_a_wrong_command_is_one_line(wrong: list[str]) -> None:
    with pytest.raises(SystemExit):
        stalwart(*wrong)
    assert not Webhook.objects.exists()
