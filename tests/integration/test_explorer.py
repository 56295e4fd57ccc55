"""The explorer: six cases, carried out by the real engine; two of them pay twice. Nothing of it is kept."""

import os
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.test import Client
from django.urls import reverse

from examples.resolver.tickets import ticket
from runs import services
from runs.digest import action_key
from runs.engine import advance
from runs.models import Run
from runs.tools.http import Service
from runs.tools.registry import Call
from stalwart_site.explorer import views
from stalwart_site.explorer.cases import CASES, TICKET_HERE, Case, Told, play
from stalwart_site.explorer.sandbox import Stop, Stopped, sandbox
from tests.factories import AGENT, question
from tests.integration.pages import html, signed_in, words

pytestmark = pytest.mark.django_db(transaction=True)

KEY = action_key(TICKET_HERE, "request_refund", {**ticket("T-90104").proposal[0].args, "payment_id": None})
ONCE = [("RF-3101", Decimal("9.95"), "CAD", "RFD-LATE", KEY)]


def _refunds(told: Told) -> list[tuple[str, Decimal, str, str, str]]:
    return [(r.id, r.amount, r.currency, r.reason, r.key) for r in told.refunds]


def _parts(told: Told) -> list[str]:
    return [line.part for line in told.lines]


def _kinds(told: Told) -> list[str]:
    return [event.kind for event in told.record]


# --- The six cases -----------------------------------------------------------------------------------
def test_before_the_write_with_the_key_is_one_refund() -> None:
    told = play(Case(Stop.BEFORE, keyed=True))
    assert _refunds(told) == ONCE
    assert (told.paid, told.calls, told.lookups) == ("9.95 CAD", 1, 1)
    assert _parts(told) == ["stop", "checkpoint", "resume", "reconcile", "write", "end"]
    assert "not found" in told.lines[3].text
    assert {line.key for line in told.lines if line.key} == {KEY}


def test_before_the_write_without_the_key_is_one_refund_by_luck() -> None:
    told = play(Case(Stop.BEFORE, keyed=False))
    assert (told.paid, told.calls, told.lookups) == ("9.95 CAD", 1, 0)
    assert [refund.key for refund in told.refunds] == ["request-2"]
    assert _parts(told) == ["stop", "checkpoint", "resume", "write", "end"]


def test_during_the_call_with_the_key_is_one_refund_and_one_call() -> None:
    told = play(Case(Stop.DURING, keyed=True))
    assert _refunds(told) == ONCE
    assert (told.paid, told.calls, told.lookups) == ("9.95 CAD", 1, 1)
    assert _parts(told) == ["write", "stop", "reconcile", "end"]
    assert told.lines[2].text.endswith("found, it happened (RF-3101)")


def test_during_the_call_without_the_key_is_two_refunds() -> None:
    told = play(Case(Stop.DURING, keyed=False))
    assert [(r.id, r.key) for r in told.refunds] == [("RF-3101", "request-1"), ("RF-3102", "request-2")]
    assert (told.paid, told.calls, told.lookups) == ("19.90 CAD", 2, 0)
    assert _parts(told) == ["write", "stop", "resume", "write", "end"]


def test_after_the_write_with_the_key_is_one_refund_and_one_call() -> None:
    told = play(Case(Stop.AFTER, keyed=True))
    assert _refunds(told) == ONCE
    assert (told.paid, told.calls, told.lookups) == ("9.95 CAD", 1, 1)
    assert _parts(told) == ["write", "stop", "checkpoint", "resume", "reconcile", "end"]
    assert told.lines[2].text == "the record says: refund sent, call 1, no outcome yet"
    assert told.lines[-1].text == "the run succeeded"


def test_just_calling_it_again_refunds_twice() -> None:
    """The shortcut is kept here, so that nobody brings it back: after the write, without the key."""
    told = play(Case(Stop.AFTER, keyed=False))
    assert [(r.id, r.amount, r.key) for r in told.refunds] == [
        ("RF-3101", Decimal("9.95"), "request-1"),
        ("RF-3102", Decimal("9.95"), "request-2"),
    ]
    assert (told.paid, told.calls, told.lookups) == ("19.90 CAD", 2, 0)
    assert _parts(told) == ["write", "stop", "checkpoint", "resume", "write", "end"]


def test_two_of_the_six_pay_twice_and_both_are_without_the_key() -> None:
    paid = {names: play(case).paid for names, case in CASES.items()}
    assert [names for names, amount in paid.items() if amount == "19.90 CAD"] == [
        ("during-the-call", "without-the-key"),
        ("after-the-write", "without-the-key"),
    ]
    assert list(paid.values()).count("9.95 CAD") == 4


def test_the_resume_is_the_engines_own_take_over() -> None:
    kinds = _kinds(play(Case(Stop.AFTER, keyed=True)))
    found = ["step.sent", "lease.taken_over", "step.interrupted", "step.looked_up", "step.performed"]
    assert [kind for kind in kinds if kind in found] == found
    assert kinds.count("question.answered") == 1  # the resume asks for no new approval


# --- Nothing is kept ----------------------------------------------------------------------------------
def _rows() -> dict[str, int]:
    return {model._meta.label: model._default_manager.count() for model in apps.get_models()}


def test_nothing_is_stored_and_no_worker_is_nudged() -> None:
    before = _rows()
    assert "django_q.OrmQ" in before
    for case in CASES.values():
        play(case)
    assert _rows() == before


def test_no_folder_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    play(Case(Stop.AFTER, keyed=True))
    assert os.listdir(tmp_path) == []


def test_nothing_is_kept_of_a_case_that_breaks() -> None:
    before = _rows()
    with pytest.raises(RuntimeError, match="broken"), sandbox(Stop.AFTER):
        services.start_thread(AGENT, "resolver", "u-1")
        raise RuntimeError("broken")
    assert _rows() == before


def test_a_run_of_the_same_ticket_is_not_touched_and_touches_nothing() -> None:
    """The ticket's own run waits, with the same action; the explorer's has a key of its own."""
    thread = services.start_thread(AGENT, "resolver", "u-1")
    proposed = ticket("T-90104").proposal
    steps = [services.Proposal(action.tool, action.args) for action in proposed]
    run = services.start(AGENT, thread, services.RunRequest(steps=steps, ticket="T-90104"))
    advance(run.pk)
    before = Run.objects.values().get(pk=run.pk)
    for case in CASES.values():
        play(case)
    assert Run.objects.values().get(pk=run.pk) == before
    assert question(run).asks == "confirm"
    assert KEY != action_key("T-90104", "request_refund", run.steps.get().args)


def test_only_the_thread_of_the_case_goes_through_its_world() -> None:
    """Another thread's tools reach their own service meanwhile, and so does this one's afterwards."""
    found: list[Any] = []
    service = Service("http://127.0.0.1:9")  # nobody listens there

    def ask() -> None:
        try:
            found.append(service.get(Call(key="k", tool="t"), "/health"))
        except Exception as error:  # noqa: BLE001
            found.append(type(error).__name__)

    with sandbox(Stop.AFTER) as world:
        ask()
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join(10)
        assert world.network.writes == 0
    ask()
    assert found == [{"status": "ok"}, "Unavailable", "Unavailable"]


def test_a_stop_is_met_once_and_is_no_ordinary_exception() -> None:
    assert not issubclass(Stopped, Exception)
    service = Service("http://practice")
    body = {"order_id": "LK-793996", "amount": "9.95", "reason_code": "RFD-LATE"}
    with sandbox(Stop.BEFORE) as world:
        with pytest.raises(Stopped):
            service.post(Call(key="one", tool="t"), "/payments/order-refunds", body)
        assert service.post(Call(key="two", tool="t"), "/payments/order-refunds", body)["refund"] == "RF-3101"
        assert world.network.writes == 1


def test_cases_at_the_same_time_do_not_meet() -> None:
    """They name the same change: each waits for the other's world to end, and finds nothing of it."""

    def carry_out(_: int) -> tuple[str, int]:
        try:
            told = play(Case(Stop.AFTER, keyed=True))
        finally:
            connection.close()
        return told.paid, told.calls

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(carry_out, range(8))) == [("9.95 CAD", 1)] * 8
    assert Run.objects.count() == 0


# --- The page -----------------------------------------------------------------------------------------
@pytest.fixture
def ana() -> Client:
    """A browser in which somebody with a role is signed in."""
    return signed_in("ana", "Ana Ferreira", "support")


def _address(stop: str, resume: str) -> str:
    return reverse("explorer-case", args=[stop, resume])


def test_the_explorer_begins_with_the_case_that_pays_twice(ana: Client) -> None:
    answer = ana.get("/explorer/")
    assert answer["Location"] == "/explorer/after-the-write/without-the-key/"


@pytest.mark.parametrize(("stop", "resume"), CASES)
def test_every_case_has_an_address_that_tells_what_came_of_it(ana: Client, stop: str, resume: str) -> None:
    response = ana.get(_address(stop, resume))
    twice = (resume == "without-the-key") and stop != "before-the-write"
    read = words(response)
    assert f": refunded {'twice' if twice else 'once'}" in read
    assert ("19.90 CAD" in read) is twice
    assert ("This client was made for this page." in read) is (resume == "without-the-key")
    for other in CASES:
        if other[0] == stop or other[1] == resume:
            assert f'href="{_address(*other)}"' in html(response)


def test_what_the_page_shows_of_the_case_that_reconciles(ana: Client) -> None:
    read = words(ana.get(_address("after-the-write", "with-the-key")))
    assert "After the write, with the key: refunded once" in read
    assert "refund in the books 1" in read
    assert "call to the service 1 and 1 lookup" in read
    assert "found, it happened (RF-3101)" in read
    assert "lease.taken_over" in read
    assert KEY in read


def test_a_case_that_there_is_not_is_not_found(ana: Client) -> None:
    assert ana.get(_address("after-lunch", "with-the-key")).status_code == 404


def test_the_explorer_is_for_those_who_may_see_the_console() -> None:
    address = _address("after-the-write", "with-the-key")
    assert Client().get(address)["Location"] == f"/login/?next={address}"
    nobody = signed_in("eve", "Eve Nobody")
    assert nobody.get(address).status_code == 403
    assert nobody.get("/explorer/").status_code == 403


def test_a_case_is_only_looked_at(ana: Client) -> None:
    assert ana.post(_address("after-the-write", "with-the-key")).status_code == 405


@pytest.fixture
def _no_place(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(views, "_places", threading.BoundedSemaphore(1))
    monkeypatch.setattr(views, "PATIENCE", 0.01)
    with views._places:
        yield


@pytest.mark.usefixtures("_no_place")
def test_only_a_few_cases_are_carried_out_at_once(ana: Client) -> None:
    response = ana.get(_address("after-the-write", "with-the-key"))
    assert response.status_code == 409
    assert "The explorer is busy" in words(response)


def test_a_place_is_given_back_even_by_a_case_that_breaks(
    ana: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "PATIENCE", 0.01)
    with monkeypatch.context() as patch:
        patch.setattr(views, "play", lambda case: 1 / 0)
        for _ in range(views.AT_ONCE + 1):
            with pytest.raises(ZeroDivisionError):
                ana.get(_address("after-the-write", "with-the-key"))
    assert ana.get(_address("after-the-write", "with-the-key")).status_code == 200
