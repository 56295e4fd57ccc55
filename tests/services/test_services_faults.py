"""Fault switches: each goes wrong in its own way, for one request only."""

from __future__ import annotations

import time
from concurrent.futures import Future

import httpx
import pytest

from tests.services.conftest import Client, kind


def _until_found(client: Client, key: str) -> None:
    deadline = time.monotonic() + 5
    while client.http.get(f"/operations/{key}").status_code == 404:
        assert time.monotonic() < deadline, "the effect never landed"
        time.sleep(0.01)


def test_a_service_that_is_down_does_nothing_every_time(client: Client) -> None:
    answers = [client.charge(key="k", fault="down") for _ in range(2)]
    assert {kind(answer) for answer in answers} == {(503, "down")}
    assert client.changes() == []
    assert client.charge(key="k").status_code == 201


def test_provisioning_says_that_it_is_down(client: Client) -> None:
    path = "/provisioning/status"
    assert client.get(path) == {"status": "up"}
    assert client.http.get(path, headers={"X-Stalwart-Fault": "down"}).json() == {"status": "down"}
    assert client.http.get(path, headers={"X-Stalwart-Fault": "slow"}).json() == {"status": "up"}


def test_a_refused_write_changes_nothing(client: Client) -> None:
    assert kind(client.charge(key="k", fault="refused")) == (422, "refused")
    assert client.changes() == []
    assert client.http.get("/operations/k").status_code == 404


@pytest.mark.parametrize(("fault", "status"), [("unavailable", 503), ("error_500", 500)])
def test_a_service_that_fails_once_does_it_on_the_second_request(
    client: Client, fault: str, status: int
) -> None:
    assert kind(client.charge(key="k", fault=fault))[0] == status
    assert client.changes() == []
    assert client.charge(key="k", fault=fault).status_code == 201
    assert client.charge(key="other", fault=fault).status_code == status


def test_a_timeout_before_the_write_leaves_nothing_behind(client: Client) -> None:
    with pytest.raises(httpx.ReadTimeout):
        client.charge(key="k", fault="timeout_before_write", timeout=0.1)
    time.sleep(0.4)
    assert client.changes() == []
    assert client.charge(key="k", fault="timeout_before_write").status_code == 201


def test_a_request_is_not_held_up_by_an_earlier_one_that_is_timing_out(client: Client) -> None:
    with pytest.raises(httpx.ReadTimeout):
        client.charge(key="k", fault="timeout_before_write", seconds=5, timeout=0.1)
    assert client.charge(key="k", fault="timeout_before_write", timeout=1).status_code == 201


def test_a_timeout_after_the_write_hides_a_change_that_the_lookup_finds(client: Client) -> None:
    with pytest.raises(httpx.ReadTimeout):
        client.charge(key="k", fault="timeout_after_write", seconds=5, timeout=0.2)
    found = client.get("/operations/k")
    assert found["status"] == "done"
    again = client.charge(key="k", fault="timeout_after_write", timeout=1)
    assert again.json() == found["result"]
    assert again.headers["Idempotent-Replayed"] == "true"
    assert len(client.changes()) == 1


@pytest.mark.parametrize(("fault", "effects"), [("timeout_before_write", 0), ("timeout_after_write", 1)])
def test_a_patient_client_is_hung_up_on_in_the_end(client: Client, fault: str, effects: int) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        client.charge(fault=fault, seconds=0.05)
    assert len(client.changes()) == effects


@pytest.mark.parametrize(("fault", "effects"), [("drop_before", 0), ("drop_after", 1)])
def test_a_dropped_connection_is_dropped_once(client: Client, fault: str, effects: int) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        client.charge(key="k", fault=fault)
    assert len(client.changes()) == effects
    assert client.charge(key="k", fault=fault).status_code == 201
    assert len(client.changes()) == 1


def test_a_refusal_can_be_lost_on_the_way_back_too(client: Client) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        client.charge("999.00", key="k", fault="drop_after")
    assert client.http.get("/operations/k").status_code == 404


def test_a_slow_service_answers_late(client: Client) -> None:
    started = time.monotonic()
    assert client.charge(fault="slow").status_code == 201
    assert time.monotonic() - started >= 0.3


def _slow_charge(client: Client, key: str) -> Future[httpx.Response]:
    return client.pool.submit(client.charge, key=key, fault="slow", seconds=1)


def test_a_key_is_in_progress_until_its_first_request_is_answered(client: Client) -> None:
    first = _slow_charge(client, "k")
    _until_found(client, "k")
    assert kind(client.charge(key="k")) == (409, "in-progress")
    assert client.charge(key="other").status_code == 201
    assert first.result().status_code == 201
    assert client.charge(key="k").headers["Idempotent-Replayed"] == "true"
    assert client.order()["paid"] == "80.00"


def test_a_call_still_on_the_wire_lands_when_the_client_has_gone(client: Client) -> None:
    with pytest.raises(httpx.ReadTimeout):
        client.charge(key="k", fault="slow_before", timeout=0.1)
    assert client.http.get("/operations/k").status_code == 404
    _until_found(client, "k")
    assert len(client.changes()) == 1


def test_a_call_that_overtakes_one_on_the_wire_is_the_only_effect(client: Client) -> None:
    late = client.pool.submit(client.charge, key="k", fault="slow_before")
    time.sleep(0.1)
    first = client.charge(key="k")
    assert late.result().json() == first.json()
    assert len(client.changes()) == 1


def test_a_call_on_the_wire_does_not_land_in_the_books_of_the_next_practice_run(client: Client) -> None:
    late = client.pool.submit(client.charge, fault="slow_before")
    time.sleep(0.1)
    client.http.post("/reset")
    assert isinstance(late.exception(), httpx.RemoteProtocolError)
    assert client.changes() == []


def test_a_fault_nobody_knows_is_refused(client: Client) -> None:
    answer = client.charge(fault="timeout")
    assert kind(answer) == (400, "unknown-fault")
    assert "timeout_after_write" in answer.json()["detail"]


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), 10_000])
def test_seconds_that_make_no_sense_are_refused(client: Client, seconds: float) -> None:
    assert kind(client.charge(fault="slow", seconds=seconds)) == (400, "fault-seconds")


def test_reads_are_not_hurt_by_a_fault(client: Client) -> None:
    for fault in ("down", "slow", "nonsense"):
        answer = client.http.get("/payments/orders/4411", headers={"X-Stalwart-Fault": fault})
        assert answer.status_code == 200
