"""The settings of a browser: the time zone in which the console is read."""

import pytest
from django.test import Client
from django.urls import reverse

from tests.factories import start
from tests.integration.pages import signed_in, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def ana() -> Client:
    """Support."""
    return signed_in("ana", "Ana Ferreira", "support")


def test_every_time_is_shown_in_the_zone_that_was_chosen(ana: Client, agent: str) -> None:
    run = start(agent, "pay 1")
    assert "UTC)" in words(ana.get(reverse("run", args=[run.pk])))
    saved = ana.post(reverse("settings"), {"zone": "Asia/Kolkata"}, follow=True)
    assert "Saved. It is" in words(saved)
    page = words(ana.get(reverse("run", args=[run.pk])))
    assert "IST)" in page
    assert "UTC)" not in page


def test_a_zone_that_there_is_not_is_refused_and_nothing_is_kept(ana: Client) -> None:
    refused = ana.post(reverse("settings"), {"zone": "../../etc/passwd"})
    assert (refused.status_code, "choose one of the list" in words(refused)) == (422, True)
    assert "time_zone" not in ana.cookies


def test_a_cookie_that_names_no_zone_changes_nothing(ana: Client) -> None:
    ana.cookies["time_zone"] = "Nowhere/Land"
    assert "UTC time" in words(ana.get(reverse("settings")))
