"""The database goes away while a call is under way: what the call did is still written down."""

import threading
import time
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from django.db import connection

from runs import calls, heartbeat
from runs.engine import advance
from runs.models import Run
from runs.tools.dispatch import Outcome, dispatch
from tests.factories import answer, approve_all, start, states
from tests.world import WORLD

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_outcome_of_a_call_outlives_a_lost_connection(
    agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start(agent, "charge 1 40.00, then mail 1")
    with monkeypatch.context() as patch:
        patch.setattr(calls, "dispatch", _and_cut(connection.connection.info.dsn))
        run = answer(run, "approve")
    assert states(run) == {"charge": "performed", "mail": "needs_approval"}
    approve_all(run)
    assert WORLD.calls == ["charge", "mail"]


def test_the_heartbeat_renews_only_what_this_worker_still_holds(agent: str) -> None:
    run = start(agent, "charge 1 40.00")
    Run.objects.filter(pk=run.pk).update(lease_owner="somebody", lease_expires_at=run.created_at)
    heartbeat.renew({run.pk: "somebody else"})
    run.refresh_from_db()
    assert run.lease_expires_at == run.created_at
    heartbeat.renew({run.pk: "somebody"})
    run.refresh_from_db()
    assert run.lease_expires_at and run.lease_expires_at > run.created_at


def test_a_second_nudge_during_a_long_call_does_not_end_its_heartbeat(
    agent: str, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.LEASE_SECONDS = 3
    monkeypatch.setattr(
        heartbeat, "_thread", None
    )  # one that beats at this pace, and has not just gone to sleep
    run = start(agent, "charge 1 40.00")
    taken: list[bool] = []

    def nudged(owner: str) -> None:
        taken.append(advance(run.pk, owner))
        connection.close()

    def long(*args: Any) -> Outcome:
        for owner in ("", "another worker"):  # a thread of this process, and then somebody else
            other = threading.Thread(target=nudged, args=[owner])
            other.start()
            other.join()
            time.sleep(0 if owner else 3.5)  # longer than the lease
        return dispatch(*args)

    monkeypatch.setattr(calls, "dispatch", long)
    run = answer(run, "approve")
    assert (taken, run.state) == ([False, False], "succeeded")


def _and_cut(dsn: str) -> Callable[..., Outcome]:
    """Carry the call out, and cut every other connection to the database before it returns."""

    def cut(*args: Any) -> Outcome:
        outcome = dispatch(*args)
        with psycopg.connect(dsn, autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        return outcome

    return cut
