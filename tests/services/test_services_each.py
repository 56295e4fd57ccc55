"""Payments, CRM, provisioning and mail: what each does and what each refuses."""

from __future__ import annotations

import pytest

from tests.services.conftest import Client, kind

HUGE = 10**30


def test_a_charge_takes_from_what_may_be_charged(client: Client) -> None:
    answer = client.charge("40.00")
    assert answer.status_code == 201
    assert answer.json()["charge"].startswith("ch_")
    assert answer.json() | {"charge": ""} == {
        "charge": "",
        "order": 4411,
        "amount": "40.00",
        "currency": "EUR",
    }
    order = client.order()
    assert (order["chargeable"], order["paid"], order["refunded"]) == ("360.00", "40.00", "0.00")


def test_more_than_may_be_charged_is_refused_to_the_cent(client: Client) -> None:
    client.charge("399.99")
    assert kind(client.charge("0.02")) == (402, "above-chargeable")
    assert client.charge("0.01").status_code == 201
    assert client.order()["chargeable"] == "0.00"


def test_a_refund_gives_back_what_may_be_charged(client: Client) -> None:
    charge = client.charge("40.00").json()["charge"]
    answer = client.post("/payments/refunds", {"charge": charge, "amount": "15.00"})
    assert answer.json()["refund"].startswith("re_")
    assert answer.json() | {"refund": ""} == {"refund": "", "charge": charge, "amount": "15.00"}
    order = client.order()
    assert (order["chargeable"], order["paid"], order["refunded"]) == ("375.00", "40.00", "15.00")


def test_more_than_was_paid_on_a_charge_is_not_refunded(client: Client) -> None:
    client.charge("100.00")
    charge = client.charge("40.00").json()["charge"]
    client.post("/payments/refunds", {"charge": charge, "amount": "15.00"})
    answer = client.post("/payments/refunds", {"charge": charge, "amount": "25.01"})
    assert kind(answer) == (422, "above-paid")
    assert "25.00" in answer.json()["detail"]
    assert client.order()["refunded"] == "15.00"


@pytest.mark.parametrize(
    "amount", [40.0, 40, True, None, "40.001", "-1.00", "0.00", "1e3", "٤٠", "", " 1.00"]
)
def test_money_that_is_not_a_plain_amount_in_a_string_is_refused(client: Client, amount: object) -> None:
    answer = client.charge(amount)
    assert kind(answer) == (422, "arguments")
    assert "amount" in answer.json()["detail"]
    assert client.changes() == []


def test_an_amount_is_answered_with_two_places(client: Client) -> None:
    assert client.charge("40").json()["amount"] == "40.00"


def test_the_charges_of_an_order_are_listed(client: Client) -> None:
    first = client.charge("40.00").json()["charge"]
    client.charge("5.00", 4412)
    client.post("/payments/refunds", {"charge": first, "amount": "15.00"})
    (listed,) = client.get("/payments/charges?order=4411")
    assert (listed["charge"], listed["amount"], listed["refunded"]) == (first, "40.00", "15.00")
    assert len(client.get("/payments/charges")) == 2


@pytest.mark.parametrize("order", [4420, HUGE])
def test_an_order_nobody_knows_is_not_found_anywhere(client: Client, order: int) -> None:
    answers = [client.http.get(f"/payments/orders/{order}"), client.http.get(f"/crm/orders/{order}")]
    answers.append(client.post(f"/crm/orders/{order}/status", {"status": "paid"}))
    assert {kind(answer) for answer in answers} == {(404, "unknown-order")}


def test_a_charge_for_an_unknown_order_or_of_an_unknown_charge_is_refused(client: Client) -> None:
    assert kind(client.charge(order=4420)) == (404, "unknown-order")
    assert kind(client.charge(order=HUGE)) == (422, "arguments")
    assert kind(client.post("/payments/refunds", {"charge": "ch_x", "amount": "1.00"})) == (
        404,
        "unknown-charge",
    )


def test_an_update_of_the_crm_says_what_was_there_and_can_be_restored(client: Client) -> None:
    updated = client.post("/crm/orders/4411/status", {"status": "paid"}).json()
    assert updated == {"order": 4411, "previous": "new", "status": "paid"}
    restored = client.post("/crm/orders/4411/restore", {"status": updated["previous"]}).json()
    assert restored == {"order": 4411, "previous": "paid", "status": "new"}
    assert client.get("/crm/orders/4411") == {
        "order": 4411,
        "status": "new",
        "note": "Prefers e-mail to the telephone.",
    }
    assert [change["operation"] for change in client.changes()] == ["update_crm", "restore_crm"]


def test_an_order_that_was_never_updated_cannot_be_restored(client: Client) -> None:
    assert kind(client.post("/crm/orders/4411/restore", {"status": "new"})) == (422, "never-updated")
    assert client.changes() == []


def test_an_account_is_opened_once_and_can_be_closed(client: Client) -> None:
    account = client.post("/provisioning/accounts", {"order": 4411}).json()["account"]
    assert account.startswith("acc_")
    assert kind(client.post("/provisioning/accounts", {"order": 4411})) == (422, "account-exists")
    closed = client.post(f"/provisioning/accounts/{account}/close").json()
    assert closed == {"account": account, "order": 4411, "status": "closed"}
    assert kind(client.post(f"/provisioning/accounts/{account}/close")) == (410, "account-closed")
    assert client.post("/provisioning/accounts", {"order": 4411}).status_code == 201


def test_an_account_nobody_knows_cannot_be_closed(client: Client) -> None:
    assert kind(client.post("/provisioning/accounts/acc_x/close")) == (404, "unknown-account")


def test_a_message_is_sent_and_listed(client: Client) -> None:
    sent = client.post("/mail/messages", {"to": "mia@example.com", "subject": "Receipt", "body": "40.00 €"})
    assert sent.json()["message"].startswith("msg_")
    (listed,) = client.get("/mail/messages")
    assert listed.pop("at")
    assert listed == sent.json() | {"subject": "Receipt", "body": "40.00 €"}


def test_a_message_to_nobody_is_refused(client: Client) -> None:
    assert kind(client.post("/mail/messages", {"to": "mia", "subject": "x", "body": ""})) == (
        422,
        "arguments",
    )
