"""The process: what it survives, and how it starts and ends."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from examples.services.process import ROOT, Services, running
from tests.services.conftest import Client, connect, kind


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "services.db"


@contextmanager
def _client(services: Services) -> Iterator[Client]:
    with connect(services) as http:
        yield Client(http)


def _command(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "examples.services", *arguments]
    environment = {name: value for name, value in os.environ.items() if name != "STALWART_SERVICES_DB"}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=20)


def _check_books(database: Path) -> int:
    """The register, the journal and the charges tell one story; the number of charges."""
    db = sqlite3.connect(database)
    count = "SELECT (SELECT count(*) FROM operations), (SELECT count(*) FROM changes), count(*) FROM charges"
    register, journal, charges = db.execute(count).fetchone()
    in_orders = db.execute("SELECT sum(paid) FROM orders").fetchone()
    in_charges = db.execute("SELECT coalesce(sum(amount), 0) FROM charges").fetchone()
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()
    assert register == journal == charges
    assert in_orders == in_charges
    return int(charges)


def test_kill_9_after_the_write_keeps_the_effect_and_its_key(database: Path) -> None:
    with running(database) as services, _client(services) as client:
        with pytest.raises(httpx.ReadTimeout):
            client.charge(key="k", fault="timeout_after_write", seconds=60, timeout=0.3)
        services.kill()
    assert _check_books(database) == 1
    with running(database) as services, _client(services) as client:
        assert client.get("/operations/k")["status"] == "done"
        assert client.charge(key="k").headers["Idempotent-Replayed"] == "true"
        assert client.order()["paid"] == "40.00"


def test_kill_9_before_the_write_leaves_nothing_and_holds_no_key(database: Path) -> None:
    with running(database) as services, _client(services) as client:
        with pytest.raises(httpx.ReadTimeout):
            client.charge(key="k", fault="slow_before", seconds=1, timeout=0.2)
        services.kill()
    time.sleep(1)
    assert _check_books(database) == 0
    with running(database) as services, _client(services) as client:
        assert client.charge(key="k").status_code == 201


def test_kill_9_under_load_loses_no_answered_charge_and_keeps_the_books_whole(database: Path) -> None:
    answered: list[str] = []

    def charge_until_it_dies(client: Client) -> None:
        with pytest.raises(httpx.TransportError):
            while True:
                answered.append(client.charge("0.01", 5000).json()["charge"])

    with running(database) as services, _client(services) as client:
        clients = [client.pool.submit(charge_until_it_dies, client) for _ in range(8)]
        time.sleep(0.6)
        services.kill()
        assert [one.result() for one in clients] == [None] * 8
    assert _check_books(database) >= len(answered) > 0
    with running(database) as services, _client(services) as client:
        assert set(answered) <= {charge["charge"] for charge in client.get("/payments/charges")}


def test_a_restart_keeps_the_books_and_does_not_strike_a_key_twice(database: Path) -> None:
    with running(database) as services, _client(services) as client:
        assert client.charge(key="k", fault="unavailable").status_code == 503
        client.charge("1.00", key="paid")
    with running(database, port=services.port) as services, _client(services) as client:
        assert client.order()["paid"] == "1.00"
        assert client.charge(key="k", fault="unavailable").status_code == 201


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_cleanly_and_at_once_though_a_fault_is_waiting(database: Path, sign: signal.Signals) -> None:
    with running(database) as services, _client(services) as client:
        waiting = client.pool.submit(client.charge, fault="slow_before", seconds=60, timeout=30)
        time.sleep(0.3)
        services.process.send_signal(sign)
        assert services.process.wait(5) == 0
        assert isinstance(waiting.exception(), httpx.TransportError)
        assert services.printed() == ""
    assert _check_books(database) == 0


def test_faults_are_refused_unless_they_are_switched_on(database: Path) -> None:
    with running(database, faults=False) as services, _client(services) as client:
        answer = client.charge(fault="down")
        assert kind(answer) == (400, "faults-off")
        assert "STALWART_FAULTS=1" in answer.json()["detail"]
        assert client.charge().status_code == 201
        assert client.get("/health") == {"status": "ok"}


def test_a_taken_port_is_one_clear_line(shared_services: Services, database: Path) -> None:
    ended = _command("--port", str(shared_services.port), "--database", str(database))
    assert (ended.returncode, ended.stdout) == (1, "")
    assert len(ended.stderr.splitlines()) == 1
    assert f"Port {shared_services.port}" in ended.stderr


def test_a_database_that_cannot_be_opened_is_one_clear_line(tmp_path: Path) -> None:
    ended = _command("--port", "1", "--database", str(tmp_path))
    assert (ended.returncode, len(ended.stderr.splitlines())) == (1, 1)
    assert str(tmp_path) in ended.stderr


def test_no_database_is_a_usage_error() -> None:
    ended = _command("--port", "1")
    assert ended.returncode == 2
    assert "--database" in ended.stderr
