"""The list of runs: found by whole ids, filtered in the address, exported as files."""

import csv
import io
import json
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from runs import services
from runs.models import Run
from runs.views.finding import MANY
from tests.factories import AGENT, approve_all, make_agent, start
from tests.integration.pages import signed_in, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def ana() -> Client:
    """Support."""
    return signed_in("ana", "Ana Ferreira", "support")


@pytest.fixture
def paid(agent: str) -> Run:
    """A run that is done."""
    return approve_all(start(agent, "pay 4411", "mia@example.com", ticket="T-7", subject="4411"))


@pytest.fixture
def waiting(agent: str) -> Run:
    """Another user's, that waits."""
    return start(agent, "charge 2 40.00", "=cmd|' /C calc'!A0")


def found(client: Client, **query: str) -> list[str]:
    """The names of the runs on the page, newest first."""
    page = client.get(f"{reverse('runs')}?{urlencode(query)}")
    assert page.status_code == 200
    return [row.run.name for row in page.context["rows"]]


def exported(client: Client, kind: str, **query: str) -> str:
    """The file of a search."""
    response: Any = client.get(f"{reverse('runs-export', args=[kind])}?{urlencode(query)}")
    assert response["Content-Disposition"] == f'attachment; filename="runs.{kind}"'
    return b"".join(response.streaming_content).decode()


def test_a_run_is_found_by_each_of_its_ids(ana: Client, paid: Run, waiting: Run) -> None:
    entry = paid.steps.get().entry
    assert entry is not None
    ids = [
        paid.name,
        str(paid.pk),
        "T-7",
        "4411",
        "mia@example.com",
        str(paid.thread_id),
        entry.key,
        entry.key[:16],
    ]
    for text in ids:
        assert found(ana, q=f" {text} ") == [paid.name], text
    assert found(ana) == [waiting.name, paid.name]


@pytest.mark.parametrize("text", ["mia", "T-", "R-", "\x00", "9" * 30, "%", "' OR 1=1", "R-0"])
def test_what_names_no_run_finds_none(ana: Client, paid: Run, text: str) -> None:
    page = ana.get(reverse("runs"), {"q": text})
    if text == "\x00":
        assert paid.name in words(page)  # nothing is left of it to look for
    else:
        assert "No run matches" in words(page)


def test_filters_stand_in_the_address(ana: Client, paid: Run, waiting: Run) -> None:
    today = timezone.localdate()
    assert found(ana, state="succeeded") == [paid.name]
    assert found(ana, state="live") == [waiting.name]
    assert found(ana, agent="nobody") == []
    assert found(ana, since=today.isoformat(), until=today.isoformat()) == [waiting.name, paid.name]
    assert found(ana, since=(today + timedelta(days=1)).isoformat()) == []
    assert found(ana, state="nonsense", since="yesterday") == [waiting.name, paid.name]


def test_the_count_stops_at_a_thousand(ana: Client, agent: str) -> None:
    thread = services.start_thread(AGENT, agent, "u-1")
    Run.objects.bulk_create(Run(thread=thread, state="failed") for _ in range(MANY + 1))
    assert "more than 1,000 runs" in words(ana.get(reverse("runs")))
    assert "1,000 runs" not in words(ana.get(reverse("runs"), {"state": "live"}))


def test_a_search_is_exported_whole(ana: Client, paid: Run, waiting: Run) -> None:
    lines = list(csv.DictReader(io.StringIO(exported(ana, "csv"))))
    assert [line["run"] for line in lines] == [waiting.name, paid.name]
    assert lines[0]["user"].startswith("'="), "a spreadsheet must not calculate it"
    [row] = json.loads(exported(ana, "json", state="succeeded"))
    assert (row["run"], row["subject"], row["ended_at"] is not None) == (paid.name, "4411", True)
    assert json.loads(exported(ana, "json", q="nobody")) == []


def test_nobody_exports_without_a_role(paid: Run) -> None:
    assert Client().get(reverse("runs-export", args=["csv"])).status_code == 302
    assert signed_in("eve", "Eve Nobody").get(reverse("runs-export", args=["csv"])).status_code == 403


def test_what_a_run_is_about_is_the_argument_that_the_agent_file_names(tmp_path: Any, ana: Client) -> None:
    run = start(make_agent(tmp_path, "orders", subject="order"), "read 5, then pay 4411", "u-3")
    assert (run.subject, found(ana, q="5")) == ("5", [run.name])
