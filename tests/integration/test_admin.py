"""Django admin: the history, for reading, by those who have the permission."""

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from runs import tokens
from runs.models import Run, Step
from tests.factories import approve_all, start
from tests.integration.pages import LOGIN, html, words

pytestmark = pytest.mark.django_db
OURS = [model for label in ("runs", "approvals") for model in apps.get_app_config(label).get_models()]
SHOWN = [model for model in OURS if admin.site.is_registered(model)]


def _signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user, backend=LOGIN)
    return client


@pytest.fixture
def ada() -> Client:
    """An administrator."""
    return _signed_in(User.objects.create_superuser("ada"))


@pytest.fixture
def run(agent: str) -> Run:
    """A run that is done."""
    return approve_all(start(agent, "charge 4411 40.00, then pay 2", "mia", ticket="T-7", subject="4411"))


def _address(model: type, what: str = "changelist", *args: object) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{what}", args=args)  # type: ignore[attr-defined]


@pytest.mark.parametrize("model", SHOWN, ids=lambda model: model.__name__)
def test_every_table_of_the_history_is_read_and_never_written(ada: Client, run: Run, model: type) -> None:
    listed = ada.get(_address(model))
    assert listed.status_code == 200
    assert ada.get(_address(model, "add")).status_code == 403
    row = model.objects.first()  # type: ignore[attr-defined]
    if row:
        shown = ada.get(_address(model, "change", row.pk))
        assert (shown.status_code, 'name="_save"' in html(shown)) == (200, False)
        assert ada.post(_address(model, "change", row.pk), {}).status_code == 403
        assert ada.post(_address(model, "delete", row.pk), {"post": "yes"}).status_code == 403


def test_what_the_product_keeps_is_all_there(ada: Client) -> None:
    hidden = {model.__name__ for model in OURS} - {model.__name__ for model in SHOWN}
    assert hidden == {"IdempotencyRecord", "Notice"}
    assert "Django Q" not in words(ada.get(reverse("admin:index"))), "its resubmit would go past the ledger"


@pytest.mark.parametrize("by", ["name", "ticket", "subject", "user", "key"])
def test_history_is_searched_by_any_id_of_a_run(ada: Client, agent: str, run: Run, by: str) -> None:
    other = start(agent, "pay 9", "somebody else")
    entry = run.steps.order_by("number")[0].entry
    assert entry is not None
    text = {"name": run.name, "ticket": "T-7", "subject": "4411", "user": "mia", "key": entry.key[:12]}[by]
    assert [row.pk for row in ada.get(_address(Run), {"q": text}).context["cl"].result_list] == [run.pk]
    steps = ada.get(_address(Step), {"q": text}).context["cl"].result_list
    assert {step.run_id for step in steps} == {run.pk} != {other.pk}


def test_a_long_list_is_not_counted_to_its_end(ada: Client, run: Run) -> None:
    Run.objects.bulk_create(Run(thread=run.thread, state="failed") for _ in range(1200))
    with CaptureQueriesContext(connection) as queries:
        page = ada.get(_address(Run))
    assert page.context["cl"].paginator.count == 1000
    assert len(queries) <= 8
    counting = [query["sql"] for query in queries if "COUNT" in query["sql"].upper()]
    assert counting
    assert all("LIMIT 1000" in sql for sql in counting), counting


def test_staff_see_what_they_have_the_permission_for(run: Run) -> None:
    user = User.objects.create_user("kim", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_run"))
    kim = _signed_in(user)
    assert kim.get(_address(Run)).status_code == 200
    assert kim.get(_address(Step)).status_code == 403
    assert _signed_in(User.objects.create_user("eve")).get(_address(Run)).status_code == 302


def test_a_tokens_hash_is_not_shown(ada: Client) -> None:
    stored, secret = tokens.make("the shop", "agent")
    page = html(ada.get(_address(type(stored), "change", stored.pk)))
    assert stored.hash not in page
    assert secret not in page
