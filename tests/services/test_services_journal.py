"""The journal: one line per effect that took place, and the way back to the start."""

from __future__ import annotations

from tests.services.conftest import Client


def test_every_effect_is_one_line_oldest_first(client: Client) -> None:
    charge = client.charge(key="a", run="r-1").json()["charge"]
    client.post("/crm/orders/4411/status", {"status": "paid"}, key="b", run="r-1")
    client.post("/payments/refunds", {"charge": charge, "amount": "40.00"}, key="c", run="r-2")
    client.post("/mail/messages", {"to": "a@example.com", "subject": "Receipt", "body": ""}, key="d")
    lines = [
        tuple(change[name] for name in ("service", "operation", "subject", "detail", "key", "run"))
        for change in client.changes()
    ]
    assert lines == [
        ("payments", "charge_card", "order 4411", "40.00 EUR", "a", "r-1"),
        ("crm", "update_crm", "order 4411", "new -> paid", "b", "r-1"),
        ("payments", "refund_card", "order 4411", f"40.00 EUR of {charge}", "c", "r-2"),
        ("mail", "send_message", "a@example.com", "Receipt", "d", None),
    ]


def test_the_changes_of_one_run_can_be_asked_for(client: Client) -> None:
    client.charge(key="a", run="r-1")
    client.charge(key="b", run="r-2")
    client.charge(key="c")
    assert [change["key"] for change in client.get("/changes?run=r-2")] == ["b"]
    assert client.get("/changes?run=none") == []
    assert len(client.changes()) == 3


def test_a_replay_adds_no_line_even_for_another_run(client: Client) -> None:
    client.charge(key="a", run="r-1")
    client.charge(key="a", run="r-2")
    assert [change["run"] for change in client.changes()] == ["r-1"]


def test_a_reset_forgets_everything_and_restores_the_orders(client: Client) -> None:
    client.charge(key="a")
    client.post("/crm/orders/4411/status", {"status": "paid"})
    client.post("/provisioning/accounts", {"order": 4411})
    client.post("/mail/messages", {"to": "a@example.com", "subject": "Hello", "body": ""})
    assert client.http.post("/reset").json() == {"status": "reset"}
    assert [client.get(path) for path in ("/changes", "/payments/charges", "/mail/messages")] == [[], [], []]
    assert client.order()["chargeable"] == "400.00"
    assert client.get("/crm/orders/4411")["status"] == "new"
    assert client.charge("10.00", key="a").status_code == 201


def test_the_practice_orders_are_there(client: Client) -> None:
    assert client.order(4411) == {
        "order": 4411,
        "customer": "Mia Olsen",
        "email": "mia.olsen@example.com",
        "currency": "EUR",
        "total": "400.00",
        "chargeable": "400.00",
        "paid": "0.00",
        "refunded": "0.00",
    }
    named = [client.order(order)["customer"] for order in (4390, 4402, *range(4411, 4420))]
    assert len(set(named)) == 11
    assert {client.order(order)["chargeable"] for order in (5000, 5199)} == {"10000.00"}
    assert client.http.get("/payments/orders/5200").status_code == 404
