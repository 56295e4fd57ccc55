"""The engine's own statements: prepared on the server, and few."""

import pytest
from django.db import connection

from bench.wire import Trace
from runs import services
from runs.engine import advance
from tests.factories import AGENT, start

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_engines_statements_are_prepared_on_the_server(agent: str) -> None:
    start(agent, "pay 1, then pay 2, then pay 3")
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE 'WITH w0 AS%'")
        [prepared] = cursor.fetchone()
    assert prepared > 0


def test_a_commit_asks_the_server_twice(agent: str) -> None:
    """Once for the clock, and once for all that it writes: neither BEGIN nor COMMIT stands alone."""
    start(agent, "pay 1")  # what this process asks once
    thread = services.start_thread(AGENT, agent, "u-2")
    steps = [services.Proposal("pay", {"order": number, "amount": "1.00"}) for number in range(20)]
    run = services.start(AGENT, thread, services.RunRequest(steps=steps))
    trace = Trace(connection.connection.pgconn)
    with trace.running():
        advance(run.pk)
    around = 10  # to claim the run, and to end it
    assert trace.per(1)["answers"] <= 2 * len(steps) + around


def test_no_index_follows_the_moves_of_a_step(agent: str) -> None:
    """Its row is updated in place: an index that holds what each write changes would make that impossible."""
    before = _updated_in_place("runs_step")
    start(agent, "pay 1, then pay 2, then pay 3")
    assert _updated_in_place("runs_step") > before


def _updated_in_place(table: str) -> int:
    """How often a row of this table was, so far."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute("SELECT n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = %s", [table])
        [count] = cursor.fetchone()
    return int(count)
