"""The engine's own statements: prepared on the server, and few."""

import pytest
from django.db import connection

from tests.factories import start

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_engines_statements_are_prepared_on_the_server(agent: str) -> None:
    start(agent, "pay 1, then pay 2, then pay 3")
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE 'WITH w0 AS%'")
        [prepared] = cursor.fetchone()
    assert prepared > 0
