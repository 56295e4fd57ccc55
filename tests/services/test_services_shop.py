"""The shop's orders: returns, the warehouse, and refunds of an order; what each does and what each refuses."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import httpx
import pytest

from examples.services.books import Books
from tests.services.conftest import Client, kind

BENCH = "SU-90317"


def _start_return(client: Client, **options: Any) -> httpx.Response:
    return client.post("/returns", {"order": BENCH, "reason": "split slat"}, **options)


def _reserve(client: Client, quantity: int = 1, **options: Any) -> httpx.Response:
    body = {"order": BENCH, "sku": "BENCH-2", "quantity": quantity}
    return client.post("/warehouse/reservations", body, **options)


def _refund(
    client: Client, amount: str = "9.95", order: str = "LK-793996", payment: str | None = None, **options: Any
) -> httpx.Response:
    body = {"order_id": order, "amount": amount, "reason_code": "RFD-LATE", "payment_id": payment}
    return client.post("/payments/order-refunds", body, **options)


def _stock(client: Client) -> int:
    return int(client.get("/warehouse/items/BENCH-2")["stock"])


# --- Orders -------------------------------------------------------------------------------------------
def test_an_order_of_the_shop_says_what_was_bought_and_paid(client: Client) -> None:
    assert client.get(f"/orders/{BENCH}") == {
        "order_id": BENCH,
        "customer": "Priya Raman",
        "email": "priya.raman@example.com",
        "seller": "Ashcombe Furniture",
        "seller_email": "orders@ashcombe.example.com",
        "sku": "BENCH-2",
        "item": "oak bench",
        "currency": "USD",
        "paid": "249.95",
        "delivery_fee": "14.95",
        "refunded": "0.00",
        "refundable": "249.95",
        "payments": [{"payment_id": "PM-70311", "amount": "249.95"}],
        "note": "Arrived with a split slat. The expedited delivery fee was charged by mistake.",
    }
    assert client.get("/orders/LK-793996")["currency"] == "CAD"


def test_an_order_of_the_shop_nobody_knows_is_not_found_anywhere(client: Client) -> None:
    answers = [
        client.http.get("/orders/SU-1"),
        client.post("/returns", {"order": "SU-1", "reason": "x"}),
        client.post("/returns/labels", {"order_id": "SU-1", "sku": "BENCH-2", "reason": "x"}),
        client.post("/warehouse/reservations", {"order": "SU-1", "sku": "BENCH-2", "quantity": 1}),
        client.post("/warehouse/reships", {"order_id": "SU-1", "sku": "BENCH-2"}),
        _refund(client, order="SU-1"),
    ]
    assert {kind(answer) for answer in answers} == {(404, "unknown-order")}
    assert client.changes() == []


def test_what_an_order_is_not_for_is_refused(client: Client) -> None:
    answers = [
        client.post("/returns", {"order": BENCH, "sku": "CAN-5", "reason": "x"}),
        client.post("/returns/labels", {"order_id": BENCH, "sku": "CAN-5", "reason": "x"}),
        client.post("/warehouse/reservations", {"order": BENCH, "sku": "CAN-5", "quantity": 1}),
        client.post("/warehouse/reships", {"order_id": BENCH, "sku": "CAN-5"}),
    ]
    assert {kind(answer) for answer in answers} == {(422, "not-ordered")}


# --- Returns ------------------------------------------------------------------------------------------
def test_a_return_gets_a_label_and_the_pickup_of_its_order(client: Client) -> None:
    answer = _start_return(client)
    assert (answer.status_code, answer.json()) == (
        201,
        {
            "label": "RL-7734",
            "order": BENCH,
            "sku": "BENCH-2",
            "item": "oak bench",
            "kind": "bench",
            "pickup": "Fri 20 Mar",
        },
    )
    seen = client.get("/returns/RL-7734")
    assert seen.pop("at")
    assert seen == {
        "label": "RL-7734",
        "order": BENCH,
        "sku": "BENCH-2",
        "reason": "split slat",
        "pickup": "Fri 20 Mar",
        "status": "open",
    }
    assert _start_return(client).json()["label"] == "RL-7735"


def test_a_label_alone_books_no_courier(client: Client) -> None:
    body = {"order_id": "LK-645334", "sku": "LADDER-3", "reason": "change_of_mind"}
    made = client.post("/returns/labels", body).json()
    assert made == {"label": "RL-7734", "order_id": "LK-645334", "sku": "LADDER-3", "item": "step ladder"}
    assert client.get("/returns/RL-7734")["pickup"] is None
    assert [row["label"] for row in client.get("/returns?order=LK-645334")] == ["RL-7734"]
    assert client.get(f"/returns?order={BENCH}") == []


def test_a_return_is_cancelled_once(client: Client) -> None:
    _start_return(client)
    answer = client.post("/returns/RL-7734/cancel")
    assert answer.json() == {"label": "RL-7734", "order": BENCH, "status": "cancelled"}
    assert client.get("/returns/RL-7734")["status"] == "cancelled"
    assert kind(client.post("/returns/RL-7734/cancel")) == (410, "return-cancelled")
    assert len(client.changes()) == 2


def test_a_return_that_was_collected_is_not_cancelled(client: Client) -> None:
    _start_return(client)
    assert client.http.post("/returns/RL-7734/collect").json()["status"] == "collected"
    assert kind(client.post("/returns/RL-7734/cancel")) == (410, "collected")
    assert client.get("/returns/RL-7734")["status"] == "collected"


def test_a_label_nobody_knows_is_not_found(client: Client) -> None:
    answers = [client.http.get("/returns/RL-1"), client.http.post("/returns/RL-1/collect")]
    answers.append(client.post("/returns/RL-1/cancel"))
    assert {kind(answer) for answer in answers} == {(404, "unknown-label")}


# --- The warehouse ------------------------------------------------------------------------------------
def test_what_is_reserved_leaves_the_stock_until_it_is_released(client: Client) -> None:
    answer = _reserve(client, 2)
    assert answer.json() == {
        "reservation": "rs_5501",
        "order": BENCH,
        "sku": "BENCH-2",
        "quantity": 2,
        "item": "oak bench",
        "warehouse": "LDS-2",
    }
    assert _stock(client) == 10
    released = client.post("/warehouse/reservations/rs_5501/release").json()
    assert released == {"reservation": "rs_5501", "order": BENCH, "status": "released"}
    assert _stock(client) == 12
    assert kind(client.post("/warehouse/reservations/rs_5501/release")) == (410, "reservation-released")
    (row,) = client.get(f"/warehouse/reservations?order={BENCH}")
    assert (row["reservation"], row["quantity"], row["status"]) == ("rs_5501", 2, "released")
    assert _stock(client) == 12


def test_more_than_there_is_is_not_reserved(client: Client) -> None:
    assert kind(_reserve(client, 13)) == (422, "out-of-stock")
    assert kind(_reserve(client, 0)) == (422, "arguments")
    assert _reserve(client, 12).status_code == 201
    assert _stock(client) == 0


def test_a_reservation_or_an_item_nobody_knows_is_not_found(client: Client) -> None:
    assert kind(client.post("/warehouse/reservations/rs_1/release")) == (404, "unknown-reservation")
    assert kind(client.http.get("/warehouse/items/NONE-1")) == (404, "unknown-item")


def test_an_item_is_sent_again_where_there_is_one(client: Client) -> None:
    sent = client.post("/warehouse/reships", {"order_id": BENCH, "sku": "BENCH-2"}).json()
    assert sent == {
        "reship": "RS-8201",
        "order_id": BENCH,
        "sku": "BENCH-2",
        "item": "oak bench",
        "warehouse": "LDS-2",
    }
    assert _stock(client) == 11


def test_the_warehouse_refuses_to_send_the_hose_again_every_time(client: Client) -> None:
    body = {"order_id": "LK-688120", "sku": "HOSE-8"}
    answers = [client.post("/warehouse/reships", body, key="k") for _ in range(2)]
    assert {kind(answer) for answer in answers} == {(422, "out-of-stock")}
    assert client.changes() == []


# --- Refunds of an order ------------------------------------------------------------------------------
def test_a_refund_of_an_order_is_in_its_currency_and_counts(client: Client) -> None:
    answer = _refund(client)
    assert (answer.status_code, answer.json()) == (
        201,
        {
            "refund": "RF-3101",
            "order_id": "LK-793996",
            "amount": "9.95",
            "currency": "CAD",
            "reason_code": "RFD-LATE",
        },
    )
    order = client.get("/orders/LK-793996")
    assert (order["refunded"], order["refundable"]) == ("9.95", "34.00")
    (row,) = client.get("/payments/order-refunds?order=LK-793996")
    assert (row["refund"], row["amount"], row["status"]) == ("RF-3101", "9.95", "refunded")
    assert client.get(f"/payments/order-refunds?order={BENCH}") == []


def test_the_same_refund_under_a_new_key_is_made_twice_and_under_the_same_key_once(client: Client) -> None:
    _refund(client, key="k")
    _refund(client, key="k")
    assert client.get("/orders/LK-793996")["refunded"] == "9.95"
    _refund(client, key="k-retry1")
    assert client.get("/orders/LK-793996")["refunded"] == "19.90"


def test_more_than_was_paid_for_an_order_is_not_refunded_to_the_cent(client: Client) -> None:
    _refund(client, "40.00")
    assert kind(_refund(client, "3.96")) == (422, "above-paid")
    assert _refund(client, "3.95").status_code == 201
    assert client.get("/orders/LK-793996")["refundable"] == "0.00"


def test_no_payment_is_refunded_above_its_own_amount(client: Client) -> None:
    assert _refund(client, "45.95", "LK-704417", "PM-70442").status_code == 201
    assert kind(_refund(client, "0.01", "LK-704417", "PM-70442")) == (422, "above-paid")
    assert _refund(client, "45.95", "LK-704417", "PM-70441").status_code == 201


def test_a_payment_of_another_order_is_not_refunded(client: Client) -> None:
    assert kind(_refund(client, payment="PM-70311")) == (404, "unknown-payment")
    assert kind(_refund(client, payment="PM-1")) == (404, "unknown-payment")


def test_a_refund_is_taken_back_once(client: Client) -> None:
    _refund(client, "45.95", "LK-704417", "PM-70442")
    answer = client.post("/payments/order-refunds/RF-3101/reverse")
    assert answer.json() == {
        "refund": "RF-3101",
        "order_id": "LK-704417",
        "amount": "45.95",
        "currency": "CAD",
        "status": "reversed",
    }
    assert client.get("/orders/LK-704417")["refunded"] == "0.00"
    assert kind(client.post("/payments/order-refunds/RF-3101/reverse")) == (410, "refund-reversed")
    assert _refund(client, "45.95", "LK-704417", "PM-70442").status_code == 201


def test_a_refund_nobody_knows_is_not_taken_back(client: Client) -> None:
    assert kind(client.post("/payments/order-refunds/RF-1/reverse")) == (404, "unknown-refund")


# --- The journal, the faults, older books --------------------------------------------------------------
def test_the_journal_names_the_order_and_what_was_done(client: Client) -> None:
    _start_return(client)
    _reserve(client)
    _refund(client)
    client.post("/payments/order-refunds/RF-3101/reverse")
    client.post("/returns/labels", {"order_id": "LK-645334", "sku": "LADDER-3", "reason": "change_of_mind"})
    lines = [
        tuple(row[name] for name in ("service", "operation", "subject", "detail")) for row in client.changes()
    ]
    assert lines == [
        ("returns", "start_return", BENCH, "RL-7734, pickup Fri 20 Mar"),
        ("warehouse", "reserve_item", BENCH, "1 x BENCH-2, rs_5501"),
        ("payments", "request_refund", "LK-793996", "9.95 RFD-LATE"),
        ("payments", "reverse_refund", "LK-793996", "9.95 of RF-3101 taken back"),
        ("returns", "create_return_label", "LK-645334", "LADDER-3 change_of_mind"),
    ]


def test_many_refunds_at_once_have_different_numbers(client: Client) -> None:
    sent = [client.pool.submit(_refund, client, "1.00", BENCH) for _ in range(40)]
    assert len({one.result().json()["refund"] for one in sent}) == 40
    assert client.get(f"/orders/{BENCH}")["refunded"] == "40.00"


@pytest.mark.parametrize("write", [_start_return, _reserve, _refund])
def test_a_write_that_times_out_after_it_was_done_is_found_by_its_key(client: Client, write: Any) -> None:
    with pytest.raises(httpx.TransportError):
        write(client, key="k", fault="timeout_after_write", seconds=0.1)
    found = client.get("/operations/k")
    again = write(client, key="k")
    assert (found["result"], again.headers["Idempotent-Replayed"]) == (again.json(), "true")
    assert len(client.changes()) == 1


def test_a_reset_forgets_returns_reservations_and_refunds(client: Client) -> None:
    for write in (_start_return, _reserve, _refund):
        write(client)
    client.post("/warehouse/reships", {"order_id": BENCH, "sku": "BENCH-2"})
    client.http.post("/reset").raise_for_status()
    lists = ("/returns", "/warehouse/reservations", "/payments/order-refunds", "/changes")
    assert [client.get(path) for path in lists] == [[], [], [], []]
    assert _stock(client) == 12
    assert client.get("/orders/LK-793996")["refunded"] == "0.00"


def test_books_from_before_the_shop_get_its_orders_and_keep_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "services.db"
    Books(path).close()
    with sqlite3.connect(path) as db:
        db.execute("UPDATE orders SET paid = 500 WHERE id = 4411")
        for table in ("order_payments", "shop_orders", "products"):
            db.execute(f"DROP TABLE {table}")
    books = Books(path).reading()
    assert books.execute("SELECT paid FROM orders WHERE id = 4411").fetchone()[0] == 500
    assert books.execute("SELECT COUNT(*) FROM shop_orders").fetchone()[0] == 7
