"""The register of keys: a change is made once, however often it is asked for."""

from __future__ import annotations

import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from examples.services.books import Books
from examples.services.problems import Problem
from examples.services.register import Call, Effect, Register
from tests.services.conftest import Client, kind


def test_a_write_without_a_key_is_refused(client: Client) -> None:
    answer = client.http.post("/payments/charges", json={"order": 4411, "amount": "40.00"})
    assert kind(answer) == (400, "key-missing")
    assert client.changes() == []


@pytest.mark.parametrize("key", ["", "two words", "a/b", "x" * 256])
def test_a_key_that_cannot_be_looked_up_is_refused(client: Client, key: str) -> None:
    answer = client.http.post("/payments/charges", json={}, headers={"Idempotency-Key": key})
    assert kind(answer) == (400, "key-missing")


def test_the_same_request_again_gets_the_first_answer_and_does_nothing(client: Client) -> None:
    first, second = client.charge(key="k"), client.charge(key="k")
    assert (second.status_code, second.content) == (first.status_code, first.content)
    assert "Idempotent-Replayed" not in first.headers
    assert second.headers["Idempotent-Replayed"] == "true"
    assert len(client.changes()) == 1
    assert client.order()["paid"] == "40.00"


def test_the_order_and_the_spacing_of_the_fields_are_not_other_arguments(client: Client) -> None:
    client.charge(key="k")
    headers = {"Idempotency-Key": "k"}
    body = b'{ "amount":"40.00",\n "order": 4411 }'
    again = client.http.post("/payments/charges", content=body, headers=headers)
    assert again.headers["Idempotent-Replayed"] == "true"


def test_the_same_key_with_another_amount_is_an_error_not_the_first_result(client: Client) -> None:
    client.charge("40.00", key="k")
    assert kind(client.charge("50.00", key="k")) == (422, "key-reused")
    assert client.order()["paid"] == "40.00"


def test_the_same_key_at_another_address_is_an_error(client: Client) -> None:
    client.post("/crm/orders/4411/status", {"status": "paid"}, key="k")
    assert kind(client.post("/crm/orders/4412/status", {"status": "paid"}, key="k")) == (422, "key-reused")
    assert client.get("/crm/orders/4412")["status"] == "new"


def test_a_refusal_does_not_take_the_key(client: Client) -> None:
    assert client.charge("400.01", key="k").status_code == 402
    assert client.http.get("/operations/k").status_code == 404
    assert client.charge("400.00", key="k").status_code == 201
    assert len(client.changes()) == 1


def test_two_posts_with_one_key_at_the_same_time_have_one_effect(client: Client) -> None:
    sent = [client.pool.submit(client.charge, key="k") for _ in range(12)]
    answers = [one.result() for one in sent]
    charges = {answer.json()["charge"] for answer in answers if answer.status_code == 201}
    refused = {kind(answer) for answer in answers if answer.status_code != 201}
    assert len(charges) == 1
    assert refused <= {(409, "in-progress")}
    assert len(client.changes()) == 1
    assert client.order()["paid"] == "40.00"


def test_many_posts_with_different_keys_all_count(client: Client) -> None:
    sent = [client.pool.submit(client.charge, "1.00", 5000) for _ in range(60)]
    assert {one.result().status_code for one in sent} == {201}
    assert client.order(5000)["paid"] == "60.00"
    assert len({change["key"] for change in client.changes()}) == 60


def test_a_key_can_be_looked_up_once_it_is_done(client: Client) -> None:
    result = client.charge(key="k").json()
    answer = client.get("/operations/k")
    assert answer.pop("at").endswith("+00:00")
    assert answer == {"key": "k", "operation": "charge_card", "status": "done", "result": result}


def test_a_key_that_did_nothing_is_not_found(client: Client) -> None:
    answer = client.http.get("/operations/never")
    assert (answer.status_code, answer.json()["status"]) == (404, "not_found")


@pytest.mark.parametrize("body", [b"{", b"[1]", b"\xff", b'{"a":NaN}', rb'{"a":"\ud800"}', b"[" * 90_000])
def test_a_body_that_is_not_a_json_object_is_refused(client: Client, body: bytes) -> None:
    answer = client.http.post("/payments/charges", content=body, headers={"Idempotency-Key": "k"})
    assert kind(answer) == (400, "not-json")
    assert client.changes() == []


def test_an_argument_that_is_not_known_is_refused(client: Client) -> None:
    answer = client.post("/payments/charges", {"order": 4411, "amount": "1.00", "amonut": "2.00"})
    assert kind(answer) == (422, "arguments")
    assert "amonut" in answer.json()["detail"]


def test_an_address_that_does_not_exist_is_a_problem_too(client: Client) -> None:
    assert kind(client.http.get("/nowhere")) == (404, "not-found")
    assert kind(client.http.get("/payments/refunds")) == (405, "method-not-allowed")


def _charge_one_cent(db: sqlite3.Connection) -> Effect:
    db.execute("UPDATE orders SET paid = paid + 1 WHERE id = 4411")
    return Effect({"charge": "ch_1"}, "order 4411", "0.01 EUR")


def _paid(books: Books) -> int:
    return int(books.reading().execute("SELECT paid FROM orders WHERE id = 4411").fetchone()[0])


CALL = Call("k", "charge_card", "payments", "/payments/charges", "{}", None)


def test_a_refusal_half_way_takes_back_what_it_had_begun(tmp_path: Path) -> None:
    register = Register(Books(tmp_path / "services.db"))

    def refuse_half_way(db: sqlite3.Connection) -> Effect:
        _charge_one_cent(db)
        raise Problem(422, "refused", "Refused", "Nothing was done.")

    assert register.once(CALL, refuse_half_way, lambda: None).status_code == 422
    assert _paid(register.books) == 0


def test_two_processes_on_the_same_books_still_have_one_effect(tmp_path: Path) -> None:
    one, other = (Register(Books(tmp_path / "services.db")) for _ in range(2))
    writing, may_commit = threading.Event(), threading.Event()

    def hold_the_transaction(db: sqlite3.Connection) -> Effect:
        writing.set()
        may_commit.wait(5)
        return _charge_one_cent(db)

    with ThreadPoolExecutor() as pool:
        first = pool.submit(one.once, CALL, hold_the_transaction, lambda: None)
        writing.wait(5)
        second = pool.submit(other.once, CALL, _charge_one_cent, lambda: None)
        time.sleep(0.2)  # the second has looked, found nothing, and waits for its turn
        may_commit.set()
        assert first.result().data == second.result().data
        assert second.result().headers["Idempotent-Replayed"] == "true"
    assert _paid(one.books) == 1
