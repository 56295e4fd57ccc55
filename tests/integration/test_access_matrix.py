"""Every address of the site, for every caller and every method: one table says what each of them gets.

An address that is not in the table fails the test, and so does a line whose address is gone. A method without a
line is refused: 405, or 401 where the API does not know who asks. Each request is taken back.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pytest
from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.contrib import admin
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from django.db.models import Model
from django.test import Client
from django.urls import resolve, reverse

from approvals import handovers
from approvals.models import Answer, Bulk, Delivery, MailChoice, Note, Webhook
from runs import tokens
from runs.models import Worker, WorkerOrder
from tests.factories import PERSON, answer, question, start
from tests.handed_over import rows as handed_over
from tests.integration.pages import routes, signed_in

pytestmark = pytest.mark.django_db

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
PEOPLE = ("nobody", "no role", "support", "lead", "operator", "admin")
TOKENS = ("agent", "approver", "operator's")  # an agent's, of somebody of support, of an operator
CALLERS = (*PEOPLE, *TOKENS)

# The statuses are in the order of CALLERS; * is every method that has no line.
# {history}, {people} and {logins} stand for every table of theirs, {row} for a row of it.
TABLE = """
GET   /                                       302 403 200 200 200 200  302 302 302
GET   /news/                                  302 403 200 200 200 200  302 302 302
GET   /questions/{question}/                  302 403 200 200 200 200  302 302 302
POST  /questions/{question}/                  302 403 302 302 403 302  302 302 302
GET   /questions/{question}/card/             302 403 200 200 200 200  302 302 302
GET   /questions/{question}/lookup/           302 403 200 200 200 200  302 302 302
POST  /questions/{question}/lookup/           302 403 422 422 403 422  302 302 302
GET   /questions/{question}/run/              302 403 200 200 200 200  302 302 302
GET   /questions/together/                    302 403 302 302 302 302  302 302 302
POST  /questions/together/                    302 403 302 302 302 302  302 302 302
GET   /questions/together/12345678/           302 403 200 200 200 200  302 302 302
GET   /handovers/                             302 403 200 200 200 200  302 302 302
GET   /handovers/{handed}/                    302 403 200 200 200 200  302 302 302
POST  /handovers/{handed}/                    302 403 302 302 302 302  302 302 302
GET   /dashboard/                             302 403 200 200 200 200  302 302 302
GET   /runs/                                  302 403 200 200 200 200  302 302 302
GET   /runs/export.csv                        302 403 200 200 200 200  302 302 302
GET   /runs/{run}/                            302 403 200 200 200 200  302 302 302
POST  /runs/{run}/                            302 403 403 403 422 422  302 302 302
GET   /tools/                                 302 403 200 200 200 200  302 302 302
GET   /tools/plan/                            302 403 200 200 200 200  302 302 302
POST  /tools/plan/                            302 403 200 200 200 200  302 302 302
GET   /settings/                              302 403 200 200 200 200  302 302 302
POST  /settings/                              302 403 302 302 302 302  302 302 302
GET   /settings/webhooks/                     302 403 403 403 200 200  302 302 302
POST  /settings/webhooks/                     302 403 403 403 201 201  302 302 302
GET   /settings/webhooks/{webhook}/           302 403 403 403 200 200  302 302 302
POST  /settings/webhooks/{webhook}/           302 403 403 403 302 302  302 302 302
GET   /workers/                               302 403 403 403 200 200  302 302 302
POST  /workers/                               302 403 403 403 302 302  302 302 302
GET   /workers/now/                           302 403 403 403 200 200  302 302 302
GET   /conversations/                         302 403 200 200 200 200  302 302 302
POST  /conversations/                         302 403 302 302 302 302  302 302 302
GET   /conversations/{thread}/                302 403 200 200 200 200  302 302 302
POST  /conversations/{thread}/                302 403 409 409 409 409  302 302 302
GET   /conversations/{thread}/pulse/          302 403 200 200 200 200  302 302 302
GET   /explorer/                              302 403 302 302 302 302  302 302 302
GET   /explorer/after-the-write/with-the-key/ 302 403 200 200 200 200  302 302 302
GET   /login/                                 200 302 302 302 302 302  200 200 200
POST  /login/                                 200 302 302 302 302 302  200 200 200
PUT   /login/                                 200 302 302 302 302 302  200 200 200
*     /login/                                 405 302 302 302 302 302  405 405 405
POST  /logout/                                302 302 302 302 302 302  302 302 302
GET   /health                                 200 200 200 200 200 200  200 200 200

*     /admin/                                 302 302 302 302 302 200  302 302 302
GET   /admin/login/                           200 200 200 200 200 302  200 200 200
POST  /admin/login/                           200 200 200 200 200 200  200 200 200
PUT   /admin/login/                           200 200 200 200 200 200  200 200 200
*     /admin/logout/                          302 302 302 302 302 405  302 302 302
POST  /admin/logout/                          302 302 302 302 302 302  302 302 302
*     /admin/password_change/                 302 302 302 302 302 405  302 302 302
GET   /admin/password_change/                 302 302 302 302 302 200  302 302 302
PUT   /admin/password_change/                 302 302 302 302 302 200  302 302 302
POST  /admin/password_change/                 302 302 302 302 302 200  302 302 302
*     /admin/password_change/done/            302 302 302 302 302 405  302 302 302
GET   /admin/password_change/done/            302 302 302 302 302 200  302 302 302
*     /admin/autocomplete/                    302 302 302 302 302 405  302 302 302
GET   /admin/autocomplete/                    302 302 302 302 302 403  302 302 302
*     /admin/jsi18n/                          302 302 302 302 302 405  302 302 302
GET   /admin/jsi18n/                          302 302 302 302 302 200  302 302 302
*     /admin/r/{content_type}/{user}/         302 302 302 302 302 404  302 302 302
*     /admin/runs/                            302 302 302 302 302 200  302 302 302
*     /admin/nothing/                         302 302 302 302 302 404  302 302 302
*     /admin/{history}/                       302 302 302 302 302 200  302 302 302
*     /admin/{history}/add/                   302 302 302 302 302 403  302 302 302
*     /admin/{history}/{row}/                 302 302 302 302 302 302  302 302 302
*     /admin/{history}/{row}/change/          302 302 302 302 302 200  302 302 302
POST  /admin/{history}/{row}/change/          302 302 302 302 302 403  302 302 302
*     /admin/{history}/{row}/history/         302 302 302 302 302 200  302 302 302
*     /admin/{history}/{row}/delete/          302 302 302 302 302 403  302 302 302
*     /admin/{people}/                        302 302 302 302 302 200  302 302 302
*     /admin/{people}/add/                    302 302 302 302 302 200  302 302 302
*     /admin/{people}/{row}/                  302 302 302 302 302 302  302 302 302
*     /admin/{people}/{row}/change/           302 302 302 302 302 200  302 302 302
*     /admin/{people}/{row}/history/          302 302 302 302 302 200  302 302 302
*     /admin/{people}/{row}/delete/           302 302 302 302 302 200  302 302 302
*     /admin/auth/user/{user}/password/       302 302 302 302 302 200  302 302 302
*     /admin/{logins}/                        302 302 302 302 302 200  302 302 302
*     /admin/{logins}/add/                    302 302 302 302 302 403  302 302 302
*     /admin/{logins}/{row}/                  302 302 302 302 302 302  302 302 302
*     /admin/{logins}/{row}/change/           302 302 302 302 302 200  302 302 302
POST  /admin/{logins}/{row}/change/           302 302 302 302 302 302  302 302 302
*     /admin/{logins}/{row}/history/          302 302 302 302 302 200  302 302 302
*     /admin/{logins}/{row}/delete/           302 302 302 302 302 200  302 302 302

POST  /api/v1/threads                         401 401 401 401 401 401  201 403 403
GET   /api/v1/threads/{thread}                401 401 401 401 401 401  200 200 200
POST  /api/v1/threads/{thread}/turns          401 401 401 401 401 401  409 403 403
GET   /api/v1/runs                            401 401 401 401 401 401  200 200 200
POST  /api/v1/runs                            401 401 401 401 401 401  201 403 403
GET   /api/v1/runs/{run}                      401 401 401 401 401 401  200 200 200
GET   /api/v1/runs/{run}/events               401 401 401 401 401 401  200 200 200
POST  /api/v1/runs/{run}/steps                401 401 401 401 401 401  409 403 403
POST  /api/v1/runs/{run}/close                401 401 401 401 401 401  409 403 403
POST  /api/v1/runs/{run}/cancel               401 401 401 401 401 401  403 403 202
POST  /api/v1/runs/{run}/undo                 401 401 401 401 401 401  403 403 409
POST  /api/v1/runs/{run}/resume               401 401 401 401 401 401  403 403 202
GET   /api/v1/runs/{run}/journal              401 401 401 401 401 401  200 200 200
GET   /api/v1/runs/{handed}/handover          401 401 401 401 401 401  200 200 200
POST  /api/v1/runs/{handed}/handover/claim    401 401 401 401 401 401  403 200 200
POST  /api/v1/runs/{handed}/handover/release  401 401 401 401 401 401  403 409 409
POST  /api/v1/runs/{handed}/handover/notes    401 401 401 401 401 401  403 200 200
POST  /api/v1/runs/{handed}/handover/resolve  401 401 401 401 401 401  403 409 409
GET   /api/v1/handovers                       401 401 401 401 401 401  200 200 200
GET   /api/v1/questions                       401 401 401 401 401 401  200 200 200
GET   /api/v1/questions/{question}            401 401 401 401 401 401  200 200 200
POST  /api/v1/questions/{question}/look-up    401 401 401 401 401 401  403 422 403
POST  /api/v1/questions/{question}/answer     401 401 401 401 401 401  403 200 403
POST  /api/v1/plan                            401 401 401 401 401 401  200 200 200
GET   /api/v1/tools                           401 401 401 401 401 401  200 200 200
GET   /api/v1/agents                          401 401 401 401 401 401  200 200 200
GET   /api/v1/workers                         401 401 401 401 401 401  403 403 200
POST  /api/v1/workers/{worker}/pause          401 401 401 401 401 401  403 403 202
POST  /api/v1/workers/{worker}/resume         401 401 401 401 401 401  403 403 202
POST  /api/v1/workers/{worker}/drain          401 401 401 401 401 401  403 403 202
GET   /api/v1/schema                          200 200 200 200 200 200  200 200 200
*     /api/v1/schema                          405 405 405 405 405 405  405 405 405
GET   /api/v1/docs                            200 200 200 200 200 200  200 200 200
*     /api/v1/docs                            405 405 405 405 405 405  405 405 405
*     /api/v1/nothing                         404 404 404 404 404 404  404 404 404
"""
# What is posted; elsewhere an empty form, or an empty object.
SENT = {
    "/questions/{question}/": "answer=skip&reason=no&digest={digest}&nonce=12345678",
    "/questions/together/": "do=approve&nonce=1234567890123456&pick={question}:{digest}",
    "/handovers/{handed}/": "do=claim",
    "/tools/plan/": "agent=tester&text=read 1",
    "/settings/": "zone=Europe/Lisbon",
    "/settings/webhooks/": "url=https://hooks.example.com/new&kinds=run.ended",
    "/settings/webhooks/{webhook}/": "do=disable",
    "/workers/": "do=pause&worker={worker}&reason=a deploy",
    "/conversations/": "agent=tester&user=u-9",
    "/conversations/{thread}/": "text=read 1",
    "/api/v1/threads": '{"agent": "tester", "user": "u-9"}',
    "/api/v1/threads/{thread}/turns": '{"text": "read 1"}',
    "/api/v1/runs": '{"agent": "tester", "user": "u-9", "text": "read 1"}',
    "/api/v1/runs/{run}/steps": '{"tool": "read", "args": {"order": 1}}',
    "/api/v1/runs/{handed}/handover/notes": '{"text": "Called back."}',
    "/api/v1/runs/{handed}/handover/resolve": '{"done": "Refunded by hand."}',
    "/api/v1/questions/{question}/answer": '{"answer": "approve", "digest": "{digest}", "nonce": "12345678"}',
    "/api/v1/plan": '{"agent": "tester", "text": "read 1"}',
}
NOT_SERVED_BY_A_PAGE = (405,) * len(CALLERS)
NOT_SERVED_BY_THE_API = (401,) * len(PEOPLE) + (405,) * len(TOKENS)
TABLES = {
    "history": ("runs", "approvals"),
    "people": ("auth",),
    "logins": ("axes",),
}


@dataclass(frozen=True)
class Line:
    """A line of the table: what each caller gets."""

    method: str
    address: str
    statuses: tuple[int, ...]

    @classmethod
    def of(cls, text: str) -> "Line":
        method, address, *statuses = text.split()
        return cls(method, address, tuple(map(int, statuses)))


LINES = [Line.of(text) for text in TABLE.splitlines() if text]
ADDRESSES = {
    address: {line.method: line for line in lines}
    for address, lines in groupby(LINES, key=lambda line: line.address)
}


@dataclass(frozen=True)
class Site:
    """Who calls, and what stands for the names in an address."""

    callers: Mapping[str, tuple[Client, dict[str, str]]]
    names: Mapping[str, Any]

    def paths(self, address: str) -> Iterator[str]:
        """The address, or one for each table that it stands for."""
        group = next((name for name in TABLES if f"{{{name}}}" in address), "")
        for model in _models(group) if group else [None]:
            row = model and model._default_manager.first()
            named = {group: model._meta.label_lower.replace(".", "/"), "row": row and row.pk} if model else {}
            yield self.filled(address, **named)

    def filled(self, text: str, **more: Any) -> str:
        """With what the names stand for."""
        for name, value in {**self.names, **more}.items():
            text = text.replace(f"{{{name}}}", str(value))
        return text

    def ask(self, caller: str, method: str, path: str, body: str = "", **headers: str) -> Any:
        """What this caller gets; whatever it did is taken back."""
        client, known_by = self.callers[caller]
        cookies = client.cookies.copy()
        is_api = path.startswith("/api/")
        kind = "application/json" if is_api else "application/x-www-form-urlencoded"
        data = body or ("{}" if is_api else "")
        with transaction.atomic():
            response = client.generic(method, path, data, kind, headers=known_by | headers)
            transaction.set_rollback(True)
        client.cookies.clear()
        client.cookies.update(cookies)
        return response


def _models(group: str) -> list[type[Model]]:
    return [model for model in admin.site._registry if model._meta.app_label in TABLES[group]]


@pytest.fixture
def site(agent: str) -> Site:
    """A site with a row of everything, and everybody who may call."""
    start(agent, "pay 1", "u-1")
    run = answer(start(agent, "charge 2 40.00, then charge 3 40.00", "u-2"), "approve")
    asked, handed = question(run), handed_over()
    Answer.objects.create(step=asked, digest="d", nonce="n", answer="approve", by="Ana")
    past = handed_over("T-1")
    handovers.claim(PERSON, past)
    Note.objects.create(run=past, text="Called back.", by="Ana")
    worker = Worker.objects.create(name="elsewhere:1")
    WorkerOrder.objects.create(worker=worker.name, what="pause", by="Olga")
    Bulk.objects.create(nonce="12345678", rows=[], by="Ana")
    webhook = Webhook.objects.create(url="https://hooks.example.com/", kinds=["run.ended"])
    Delivery.objects.create(message="msg_1", kind="run.ended", body="{}", webhook=webhook)
    known = {AccessAttempt: {"failures_since_start": 1}}
    for table in (AccessAttempt, AccessLog, AccessFailureLog):
        table.objects.create(username="ana", ip_address="127.0.0.1", **known.get(table, {}))
    callers = _callers()
    MailChoice.objects.create(user=User.objects.get(username="admin"))
    names = {
        "run": run.pk,
        "thread": run.thread_id,
        "question": asked.pk,
        "digest": asked.digest,
        "handed": handed.pk,
        "worker": worker.pk,
        "webhook": webhook.pk,
        "user": User.objects.get(username="support").pk,
        "content_type": ContentType.objects.get_for_model(User).pk,
    }
    return Site(callers, names)


def _callers() -> dict[str, tuple[Client, dict[str, str]]]:
    callers: dict[str, tuple[Client, dict[str, str]]] = {
        "nobody": (Client(), {}),
        "no role": (signed_in("nothing", "No Role"), {}),
    }
    callers |= {role: (signed_in(role, f"Some {role}", role), {}) for role in PEOPLE[2:]}
    User.objects.filter(username="admin").update(is_staff=True, is_superuser=True)
    people = {"approver": "support", "operator's": "operator"}
    for name in TOKENS:
        user = User.objects.get(username=people[name]) if name in people else None
        _, token = tokens.make(name, name.removesuffix("'s"), user=user)
        callers[name] = (Client(), {"Authorization": f"Bearer {token}"})
    return callers


def _expected(method: str, address: str) -> Line:
    lines = ADDRESSES[address]
    not_served = NOT_SERVED_BY_THE_API if address.startswith("/api/") else NOT_SERVED_BY_A_PAGE
    return lines.get(method) or lines.get("*") or Line(method, address, not_served)


@pytest.mark.parametrize("area", ["/api/", "/admin/", "/"])
def test_each_caller_gets_by_each_method_what_the_table_says(site: Site, area: str) -> None:
    """`area` is how its addresses begin, those of the others before it left out."""
    differs = []
    for address in (address for address in ADDRESSES if area == _area(address)):
        for method, path in _requests(site, address):
            line = _expected(method, address)
            body = site.filled(SENT.get(address, "")) if method == "POST" else ""
            got = [site.ask(caller, method, path, body) for caller in CALLERS]
            found = tuple(response.status_code for response in got)
            if found != line.statuses:
                differs.append(f"{method} {path}: {found}, where the table has {line.statuses}")
            for response in got:
                _say_no_in_the_ways_of_the_house(path, response)
    assert not differs, "\n".join(differs)


def _requests(site: Site, address: str) -> Iterator[tuple[str, str]]:
    """Of many tables, one stands for all where Django's admin takes the method for a GET."""
    for method in METHODS:
        paths = list(site.paths(address))
        yield from ((method, path) for path in (paths if method in ("GET", "POST") else paths[:1]))


def _area(address: str) -> str:
    return next(area for area in ("/api/", "/admin/", "/") if address.startswith(area))


def _say_no_in_the_ways_of_the_house(path: str, response: Any) -> None:
    """The API by a problem document; a page, to who is not signed in, by the login that leads back to it."""
    if path.startswith("/api/") and response.status_code >= 400:
        assert response["Content-Type"] == "application/problem+json"
        assert response.json()["status"] == response.status_code
    where = response.get("Location", "")
    if where.startswith(reverse("login")) and "logout" not in path:
        assert where == f"{reverse('login')}?next={path}"


def test_a_part_of_a_page_says_that_nobody_is_signed_in(site: Site) -> None:
    """Not by the login's page, which would stand in place of what was being written."""
    for line in LINES:
        if line.method == "*" or line.statuses[0] != 302 or not _is_page(site, line.address):
            continue
        response = site.ask("nobody", line.method, site.filled(line.address), **{"HX-Request": "true"})
        assert (response.status_code, response["HX-Retarget"]) == (401, "#banner"), line
        assert ("Your answer was not sent" in response.text) == (line.method == "POST")


def _is_page(site: Site, address: str) -> bool:
    """It is a page of the console: not the admin's, and not the login itself."""
    match = resolve(site.filled(address).partition("?")[0])
    return match.app_names == [] and match.url_name not in ("login", "logout")


def test_every_address_of_the_site_is_in_the_table(site: Site) -> None:
    tested = {resolve(path).route for address in ADDRESSES for path in site.paths(address)}
    assert set(routes()) == {route.replace("^", "") for route in tested}


def test_what_is_nowhere_is_a_404_to_everybody(site: Site) -> None:
    assert {site.ask(caller, "GET", "/nothing-here/").status_code for caller in CALLERS} == {404}


def test_files_of_the_pages_are_for_everybody_and_only_read(settings: Any) -> None:
    settings.WHITENOISE_USE_FINDERS = True
    client = Client()
    assert client.get("/static/css/base.css").status_code == 200
    assert {client.generic(method, "/static/css/base.css").status_code for method in METHODS[1:]} == {405}
