"""One approved write, whatever breaks in the middle: the engine over the real practice services.

A crash is a process that ends at that moment, and whose lease has run out when another worker looks.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from examples.services.process import Services
from runs import calls, ledger, services
from runs.engine import advance
from runs.models import LedgerEntry, Run
from runs.states import RUN_ENDS
from runs.tools.registry import Tool
from stalwart_site.explorer.cases import Shortcut
from tests.factories import PERSON, answer, expire, question, then_die
from tests.flows import FLOWS, carry_out, fresh_books, on_the_books, start_flow

if TYPE_CHECKING:
    from pytest_django import Settings

pytestmark = pytest.mark.django_db(transaction=True)

REFUND, LABEL = FLOWS["resolver: T-90104"], FLOWS["resolver: T-90604"]
BRIEFLY = 0.5  # seconds; how long a call is waited for where a practice timeout takes 2 s


@pytest.fixture
def books(services: Services, settings: "Settings") -> httpx.Client:
    """The services' own books, fresh."""
    return fresh_books(services, settings)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A timeout comes after half a second."""

    def soon(_: Tool) -> float:
        return BRIEFLY

    monkeypatch.setattr(ledger, "timeout_of", soon)


@pytest.fixture(params=["before the write", "after the write"])
def interrupt(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[Run], Run]:
    """Approves a run, whose worker dies before or after the write."""
    die = die_at_once if request.param == "before the write" else then_die
    return lambda run: interrupted(monkeypatch, run, die)


def die_at_once(*_: Any) -> None:
    """In place of the engine's dispatch: the process dies before the call leaves."""
    raise KeyboardInterrupt


def interrupted(monkeypatch: pytest.MonkeyPatch, run: Run, die: Callable[..., None]) -> Run:
    """Approve what the run asks; its worker dies in the call, and its lease runs out."""
    with monkeypatch.context() as patch:
        patch.setattr(calls, "dispatch", die)
        with pytest.raises(KeyboardInterrupt):
            answer(run, "approve")
    expire(run)
    run.refresh_from_db()
    return run


def proposed(flow: Any, faults: dict[str, str] | None = None) -> Run:
    """A run that waits for its approval."""
    run = start_flow(flow, faults)
    advance(run.pk)
    return run


def resumed(run: Run) -> Run:
    """Another worker carries the run on, as far as it goes now."""
    advance(run.pk, "another worker")
    run.refresh_from_db()
    return run


def refunds(books: httpx.Client) -> list[tuple[str, str]]:
    """The refunds of the watering can, as the payment service has them."""
    rows = books.get("/payments/order-refunds", params={"order": "LK-793996"}).json()
    return [(row["amount"], row["currency"]) for row in rows]


def labels(books: httpx.Client) -> int:
    """The return labels of the step ladder."""
    return len(books.get("/returns", params={"order": "LK-645334"}).json())


def kinds(run: Run) -> list[str]:
    """What the record says of the step, in order."""
    return [event.kind for event in run.events.filter(step__isnull=False)]


# --- One crash, one timeout, one refusal --------------------------------------------------------------
def test_interrupt_before_the_write_then_resume(books: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    run = interrupted(monkeypatch, proposed(REFUND), die_at_once)
    assert (refunds(books), run.steps.get().state) == ([], "sent")
    assert resumed(run).state == "succeeded"
    assert (refunds(books), on_the_books(books, run)) == ([("9.95", "CAD")], ["request_refund"])


def test_interrupt_after_the_write_then_resume_reconciles(
    books: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = interrupted(monkeypatch, proposed(REFUND), then_die)
    assert (refunds(books), run.steps.get().state) == ([("9.95", "CAD")], "sent")
    assert resumed(run).state == "succeeded"
    assert refunds(books) == [("9.95", "CAD")]
    assert LedgerEntry.objects.get().calls == 1  # it was looked up, not sent again
    assert kinds(run)[-3:] == ["step.interrupted", "step.looked_up", "step.performed"]
    assert run.events.filter(kind="question.answered").count() == 1  # and not asked about again


@pytest.mark.usefixtures("impatient")
def test_a_timeout_after_the_write_is_reconciled_not_repeated(books: httpx.Client) -> None:
    run = carry_out(proposed(REFUND, {"request_refund": "timeout_after_write:2"}))
    assert (run.state, refunds(books)) == ("succeeded", [("9.95", "CAD")])
    assert LedgerEntry.objects.get().calls == 1
    assert kinds(run)[-3:] == ["step.attempt_ended", "step.looked_up", "step.performed"]


def test_just_calling_it_again_refunds_twice(books: httpx.Client) -> None:
    """The shortcut is kept as a test, so that nobody brings it back: a new request, and no question before it."""
    shortcut = Shortcut()
    shortcut.send()
    assert shortcut.done
    shortcut.send()  # the client died after the write, and its record says "not done"
    assert refunds(books) == [("9.95", "CAD"), ("9.95", "CAD")]
    assert [change["key"] for change in books.get("/changes").json()] == ["request-1", "request-2"]


@pytest.mark.usefixtures("impatient")
def test_a_timeout_before_the_write_is_retried_with_the_same_id(books: httpx.Client) -> None:
    run = carry_out(proposed(LABEL, {"create_return_label": "timeout_before_write:2"}))
    assert (run.state, labels(books)) == ("succeeded", 1)
    entry = LedgerEntry.objects.get()
    assert (entry.calls, [change["key"] for change in books.get("/changes").json()]) == (2, [entry.key])
    sent = run.events.filter(kind__in=["step.sent", "step.sent_again"])
    assert [event.data["key"] for event in sent] == [entry.key, entry.key]


def test_a_service_that_is_down_once_is_retried(books: httpx.Client) -> None:
    run = carry_out(proposed(REFUND, {"request_refund": "unavailable"}))
    assert (run.state, refunds(books)) == ("succeeded", [("9.95", "CAD")])
    assert LedgerEntry.objects.get().calls == 2


def test_a_refused_write_goes_to_a_person_with_no_change(books: httpx.Client) -> None:
    run = carry_out(proposed(FLOWS["resolver: T-90605"]))
    assert (run.state, run.handover_at is not None) == ("handed_over", True)
    assert (books.get("/changes").json(), LedgerEntry.objects.get().calls) == ([], 1)


def test_running_the_same_approved_proposal_twice_changes_nothing_more(books: httpx.Client) -> None:
    carry_out(proposed(REFUND))
    again = proposed(REFUND)
    assert again.state != "waiting"
    again = carry_out(again)
    assert (again.state, again.steps.get().replayed) == ("succeeded", True)
    assert (refunds(books), on_the_books(books, again)) == ([("9.95", "CAD")], [])


# --- Resuming -----------------------------------------------------------------------------------------
def test_resume_twice_after_a_crash_makes_the_label_once(
    books: httpx.Client, interrupt: Callable[[Run], Run]
) -> None:
    run = resumed(interrupt(proposed(LABEL)))
    record = run.events.count()
    assert (run.state, labels(books)) == ("succeeded", 1)
    assert not advance(run.pk, "a third worker")
    assert (run.events.count(), labels(books)) == (record, 1)


def test_a_resume_cannot_skip_the_approval(books: httpx.Client) -> None:
    run = proposed(LABEL)
    services.resume(PERSON, run)
    for _ in range(2):
        assert resumed(run).state == "waiting"
    assert (question(run).asks, LedgerEntry.objects.count(), labels(books)) == ("confirm", 0, 0)


@pytest.mark.parametrize("said", ["skip", "cancel_all"])
def test_a_resume_does_not_carry_out_what_a_person_declined(books: httpx.Client, said: str) -> None:
    run = answer(proposed(LABEL), said, reason="the customer already sent it back")
    assert run.state in RUN_ENDS
    assert not advance(run.pk, "another worker")
    assert (LedgerEntry.objects.count(), labels(books), books.get("/changes").json()) == (0, 0, [])


def test_a_resume_waits_for_the_lease_of_a_worker_that_may_still_be_alive(
    books: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = proposed(REFUND)
    with monkeypatch.context() as patch:
        patch.setattr(calls, "dispatch", then_die)
        with pytest.raises(KeyboardInterrupt):
            answer(run, "approve")
    assert not advance(run.pk, "another worker")
    assert (run.steps.get().state, refunds(books)) == ("sent", [("9.95", "CAD")])
