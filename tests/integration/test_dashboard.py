"""The dashboard: its figures are those of the rows."""

from datetime import date, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from approvals.dashboard import dashboard, runs_by_day
from approvals.services import Reply
from approvals.services import answer as say
from runs.engine import advance
from runs.models import Run
from tests.factories import PERSON, approve_all, question, start, until
from tests.integration.pages import signed_in, words
from tests.world import WORLD

pytestmark = pytest.mark.django_db


@pytest.fixture
def runs(agent: str) -> None:
    """One done, one undone, one whose undo is stuck, one in doubt."""
    start(agent, "pay 1", "u-1")
    WORLD.script = {
        "tag": ["raises", "raises"],
        "refund": ["works", *["raises"] * 4],
        "odd": ["times out before"],
    }
    assert approve_all(start(agent, "charge 2 40.00, then tag 2", "u-2")).state == "rolled_back"
    until(approve_all(start(agent, "charge 3 40.00, then tag 3", "u-3")), "stuck")
    run = start(agent, "charge 4 40.00", "u-4")
    WORLD.script = {"charge": ["times out before"]}
    step = question(run)
    say(PERSON, step.pk, Reply("approve", step.digest, "nonce-of-ana"))
    advance(run.pk)
    assert question(run).asks == "outcome"


def test_it_says_how_runs_ended_and_what_is_in_doubt(runs: None) -> None:
    board = dashboard(7)
    [today] = [day for day in board.table if day.day == timezone.localdate()]
    assert (today.counts, today.rest, len(board.table)) == ((1, 1, 0, 0, 0), 2, 7)
    values = {figure.name: (figure.value, figure.more) for figure in board.figures}
    assert values["runs done"] == ("50 %", "1 of 2 that ended")
    assert values["from question to answer"] == ("under 5 s", "median of 1; nine in ten: under 5 s")
    assert values["undos that worked"] == ("50 %", "1 stuck or abandoned")
    assert values["unknown outcomes"] == ("1", "the oldest for under 5 s")
    assert [step.tool for step in board.unknown] == ["charge"]


def test_a_run_that_started_before_is_not_counted(runs: None) -> None:
    Run.objects.update(created_at=timezone.now() - timedelta(days=2))
    assert [day.total for day in dashboard(1).table] == [0]
    assert sum(day.total for day in dashboard(7).table) == 4


def test_the_page_draws_the_days_and_has_them_as_a_table(runs: None) -> None:
    ana = signed_in("ana", "Ana Ferreira", "support")
    with CaptureQueriesContext(
        connection,
    ) as queries:
        page = ana.get(reverse("dashboard"), {"days": "30"})
    assert len(queries) <= 12
    assert page.content.count(b"<rect") == 3
    assert "The figures as a table" in words(page)
    assert page.context["board"].days == 30
    assert ana.get(reverse("dashboard"), {"days": "-1"}).context["board"].days == 7


def test_an_empty_dashboard_says_what_to_do() -> None:
    ana: Client = signed_in("ana", "Ana Ferreira", "support")
    assert "No run started in this time." in words(ana.get(reverse("dashboard")))


def test_a_day_is_as_long_as_it_is_where_people_work(runs: None) -> None:
    """On the last Sunday of October, summer time ends in Lisbon: a day of 25 hours."""
    times = ("2026-10-24T22:59:59Z", "2026-10-24T23:00:00Z", "2026-10-25T23:59:59Z", "2026-10-26T00:00:00Z")
    for run, at in zip(Run.objects.order_by("pk"), times, strict=True):
        Run.objects.filter(pk=run.pk).update(created_at=at)
    with timezone.override(ZoneInfo("Europe/Lisbon")):
        days = runs_by_day([date(2026, 10, day) for day in (24, 25, 26)])
    assert [day.total for day in days] == [1, 2, 1]
