"""The returns agent: what is left on the services' books when it goes well, when it is undone, when it is kept."""

from typing import TYPE_CHECKING, Any

import httpx
import pytest

from examples.services.process import Services
from runs import services as verbs
from runs.engine import advance
from tests.factories import AGENT, answer, question, reply, start, states
from tests.flows import FLOWS, carry_out, fresh_books, on_the_books, start_flow

if TYPE_CHECKING:
    from pytest_django import Settings

pytestmark = pytest.mark.django_db(transaction=True)

WHOLE = FLOWS["returns-atomic: whole"]
TURN = (
    'Start a return of order SU-90317 because "split slat", then reserve 1 of BENCH-2 for order SU-90317, '
    'then refund order SU-90317 14.95 for "expedited delivery fee"'
)


@pytest.fixture
def books(services: Services, settings: "Settings") -> httpx.Client:
    """The services' own books, fresh."""
    return fresh_books(services, settings)


def _seen(books: httpx.Client, order: str = "SU-90317") -> tuple[Any, ...]:
    """The state of every return, reservation and refund of an order, and what was given back."""
    returns = books.get("/returns", params={"order": order}).json()
    reserved = books.get("/warehouse/reservations", params={"order": order}).json()
    refunds = books.get("/payments/order-refunds", params={"order": order}).json()
    given_back = books.get(f"/orders/{order}").json()["refunded"]
    return (*(row["status"] for row in (*returns, *reserved, *refunds)), given_back)


def test_a_return_is_started_replaced_refunded_and_then_both_are_told(books: httpx.Client) -> None:
    run = carry_out(start_flow(FLOWS["returns: whole"]))
    assert reply(run) == (
        "Done: label RL-7734, courier pickup booked Fri 20 Mar; 1 x oak bench reserved, warehouse LDS-2; "
        "$14.95 expedited delivery fee refunded; "
        'customer told "A courier comes on Fri 20 Mar; a new bench is set aside for you."; '
        'seller told "A slat was split; the bench is on its way back.".'
    )
    assert _seen(books) == ("open", "reserved", "refunded", "14.95")
    told = [message["to"] for message in books.get("/mail/messages").json()]
    assert told == ["priya.raman@example.com", "orders@ashcombe.example.com"]


def test_the_same_is_asked_for_in_words(books: httpx.Client) -> None:
    run = carry_out(start("returns", TURN))
    assert list(states(run).items()) == [
        ("start_return", "performed"),
        ("offer_replacement", "performed"),
        ("issue_refund", "performed"),
    ]
    assert _seen(books) == ("open", "reserved", "refunded", "14.95")


def test_an_atomic_return_is_undone_but_for_the_mail_that_was_sent(books: httpx.Client) -> None:
    run = carry_out(start_flow(WHOLE, {"message_seller": "refused"}))
    assert reply(run) == (
        "This run stopped: message_seller failed (Refused). Undone, latest first: "
        "issue_refund (by reverse_refund), offer_replacement (by release_reservation), "
        "start_return (by cancel_return). Not undoable, and left as they are: message_customer."
    )
    assert _seen(books) == ("cancelled", "released", "reversed", "0.00")
    assert books.get("/warehouse/items/BENCH-2").json()["stock"] == 12
    assert len(books.get("/mail/messages").json()) == 1


def test_a_kept_return_leaves_what_was_done_to_a_person(books: httpx.Client) -> None:
    run = carry_out(start_flow(FLOWS["returns: whole"], {"issue_refund": "refused"}))
    assert run.state == "handed_over"
    assert states(run) == {
        "start_return": "performed",
        "offer_replacement": "performed",
        "issue_refund": "failed",
        "message_customer": "cancelled",
        "message_seller": "cancelled",
    }
    assert _seen(books) == ("open", "reserved", "0.00")


def test_more_than_was_paid_is_not_refunded(books: httpx.Client) -> None:
    proposal = verbs.Proposal("issue_refund", {"order": "SU-90317", "amount": "249.96", "reason": "damage"})
    thread = verbs.start_thread(AGENT, "returns-atomic", "u-1")
    run = carry_out(verbs.start(AGENT, thread, verbs.RunRequest(steps=[proposal])))
    assert reply(run) == "This run stopped: issue_refund failed (Refused). Nothing had been done."
    assert _seen(books) == ("0.00",)


def test_a_pickup_that_was_collected_is_left_as_it_is_and_the_reply_says_since_when(
    books: httpx.Client,
) -> None:
    run = start_flow(WHOLE)
    advance(run.pk)
    answer(run, "approve")
    books.post("/returns/RL-7734/collect").raise_for_status()
    run = carry_out(answer(run, "cancel_all"))
    assert (run.state, _seen(books)) == ("rolled_back", ("collected", "0.00"))
    assert "Not undoable, and left as they are: start_return (could be undone until " in reply(run)
    assert [change for change in on_the_books(books, run) if "cancel" in change] == []


def test_a_pickup_that_is_collected_while_it_is_cancelled_is_a_persons_matter(books: httpx.Client) -> None:
    run = start_flow(WHOLE, {"cancel_return": "refused"})
    advance(run.pk)
    answer(run, "approve")
    run = carry_out(answer(run, "cancel_all"), until=["stuck"])
    assert question(run).question.startswith("Undoing start_return failed after 4 tries")
    run = answer(run, "abandon", reason="the parcel is on its way back")
    assert (run.state, _seen(books)) == ("abandoned", ("open", "0.00"))


def test_an_order_status_asks_nobody_and_changes_nothing(books: httpx.Client) -> None:
    run = start("returns", "where is order SU-90317")
    assert (run.state, reply(run)) == (
        "succeeded",
        "Done: order SU-90317: oak bench for Priya Raman, 249.95 USD may be refunded.",
    )
    assert on_the_books(books, run) == []
