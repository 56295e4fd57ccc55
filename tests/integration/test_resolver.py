"""The resolver's practice tickets: each change once, whatever goes wrong on the way."""

from typing import TYPE_CHECKING

import httpx
import pytest

from examples.resolver.tickets import ticket, tickets
from examples.services.process import Services
from runs.engine import advance
from runs.models import LedgerEntry, Run
from tests.factories import reply, states
from tests.flows import FLOWS, carry_out, fresh_books, on_the_books, start_flow

if TYPE_CHECKING:
    from pytest_django import Settings

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def books(services: Services, settings: "Settings") -> httpx.Client:
    """The services' own books, fresh."""
    return fresh_books(services, settings)


def _resolved(name: str, faults: dict[str, str] | None = None) -> Run:
    """The run of a ticket, with the ticket's own faults unless others are given."""
    found = ticket(name).faults if faults is None else faults
    return carry_out(start_flow(FLOWS[f"resolver: {name}"], dict(found)))


def _calls(run: Run) -> int:
    return LedgerEntry.objects.get(steps__run=run).calls


def _refunds(books: httpx.Client, order: str) -> list[tuple[str, str, str]]:
    found = books.get("/payments/order-refunds", params={"order": order}).json()
    return [(row["amount"], row["reason_code"], row["status"]) for row in found]


def test_two_approved_writes_are_two_changes(books: httpx.Client) -> None:
    run = _resolved("T-90103")
    assert reply(run) == (
        "Done: 38.50 CAD of order LK-612408 refunded, RFD-DAMAGED; label RL-7734 for garden lantern, damaged."
    )
    assert on_the_books(books, run) == ["request_refund", "create_return_label"]
    assert _refunds(books, "LK-612408") == [("38.50", "RFD-DAMAGED", "refunded")]


def test_a_label_that_cannot_be_made_takes_the_refund_back(books: httpx.Client) -> None:
    run = _resolved("T-90103", {"create_return_label": "down"})
    assert reply(run) == (
        "This run stopped: create_return_label failed (HTTP503). "
        "Undone, latest first: request_refund (by reverse_refund)."
    )
    assert _refunds(books, "LK-612408") == [("38.50", "RFD-DAMAGED", "reversed")]
    assert books.get("/orders/LK-612408").json()["refunded"] == "0.00"


def test_a_late_delivery_fee_is_refunded(books: httpx.Client) -> None:
    run = _resolved("T-90104")
    assert (run.state, run.ticket, _calls(run)) == ("succeeded", "T-90104", 1)
    assert _refunds(books, "LK-793996") == [("9.95", "RFD-LATE", "refunded")]


def test_the_same_ticket_a_second_time_changes_nothing_more(books: httpx.Client) -> None:
    _resolved("T-90104")
    again = _resolved("T-90104")
    assert (again.state, again.steps.get().replayed) == ("succeeded", True)
    assert on_the_books(books, again) == []
    assert _refunds(books, "LK-793996") == [("9.95", "RFD-LATE", "refunded")]


@pytest.mark.parametrize("fault", ["drop_after", "error_500", "unavailable", "drop_before"])
def test_a_refund_is_made_once_whatever_became_of_the_answer(books: httpx.Client, fault: str) -> None:
    run = _resolved("T-90104", {"request_refund": fault})
    assert (run.state, on_the_books(books, run)) == ("succeeded", ["request_refund"])
    assert _calls(run) == (1 if fault == "drop_after" else 2)


def test_a_timeout_after_the_refund_of_a_double_charge_is_one_refund_and_one_call(
    books: httpx.Client,
) -> None:
    run = _resolved("T-90603")
    assert (run.state, _calls(run)) == ("succeeded", 1)
    assert run.steps.get().doubt == "no_answer"
    assert _refunds(books, "LK-704417") == [("45.95", "RFD-DOUBLE", "refunded")]


def test_a_timeout_before_the_label_is_two_calls_and_one_label(books: httpx.Client) -> None:
    run = _resolved("T-90604")
    assert (run.state, _calls(run)) == ("succeeded", 2)
    (label,) = books.get("/returns", params={"order": "LK-645334"}).json()
    assert (label["sku"], label["reason"], label["status"]) == ("LADDER-3", "change_of_mind", "open")


def test_a_reship_that_the_warehouse_refuses_changes_nothing_and_is_not_asked_again(
    books: httpx.Client,
) -> None:
    run = _resolved("T-90605")
    assert run.state in ("failed", "handed_over")
    assert (states(run), _calls(run)) == ({"reship": "failed"}, 1)
    assert "YYZ-1 has 0 x HOSE-8" in run.steps.get().error
    assert books.get("/changes").json() == []


def test_a_reship_asks_a_lead(books: httpx.Client) -> None:
    run = start_flow(FLOWS["resolver: T-90605"])
    advance(run.pk)
    assert run.steps.get().approver == "lead"


def test_a_ticket_nobody_knows_is_an_error_that_names_those_there_are() -> None:
    with pytest.raises(KeyError, match=r"no practice ticket T-1; there are: T-40912, T-90103"):
        ticket("T-1")
    assert all(found.proposal for found in tickets().values())
