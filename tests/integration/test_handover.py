"""The ticket of the garden bench, SU-90317, field by field: a run that died between its writes."""

from typing import Any

import pytest

from examples.services.process import Services
from runs.handover import ticket
from tests.flows import fresh_books
from tests.handed_over import TICKET, died, rows

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_ticket_of_the_garden_bench_comes_out_field_by_field(
    services: Services, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh_books(services, settings)
    settings.LEASE_SECONDS = 1
    assert ticket(died(monkeypatch)) == TICKET


def test_the_rows_that_the_pages_are_tested_with_say_the_same() -> None:
    assert ticket(rows()) == TICKET
