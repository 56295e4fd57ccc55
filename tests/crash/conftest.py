"""What the crash tests ask for: processes that may be killed, the services' books, and how much is to be tried.

KILL_MATRIX=all                    every kill point, not a spread of them
CRASH=all                          every pair of processes, not a few of them
SOAK_SECONDS=240 SOAK_SEED=4711    a longer soak, or an earlier one again
"""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import httpx
import pytest
from django.db import connection

from examples.services.process import Services
from tests.crash.carriers import Carriers
from tests.crash.times import ALL_AGENTS, CARRIER
from tests.early import HOME
from tests.flows import fresh_books
from tests.processes import test_database_url
from tests.tables import empty_the_tables

if TYPE_CHECKING:
    from pytest_django import DjangoDbBlocker, Settings


@pytest.fixture(scope="module")
def kept_database(django_db_setup: None, django_db_blocker: "DjangoDbBlocker") -> Iterator[None]:
    """The tests' database, emptied once a module: each of these tests looks at its own runs alone."""
    with django_db_blocker.unblock():
        yield
        empty_the_tables()
        connection.close()


@pytest.fixture
def transactional_db(kept_database: None) -> None:
    """In place of pytest-django's own, which empties every table after each test."""


@pytest.fixture(scope="session")
def carriers(django_db_setup: None, services: Services) -> Iterator[Carriers]:
    """Starts processes that carry runs out, on the tests' database."""
    ours = {
        "DATABASE_URL": test_database_url(),
        "STALWART_HOME": str(HOME),
        "STALWART_SERVICES_URL": services.url,
        "STALWART_FAULTS": "1",
    }
    with Carriers(os.environ | CARRIER | ours) as started:
        yield started


@pytest.fixture
def books(services: Services, settings: "Settings") -> httpx.Client:
    """The services' own books, fresh."""
    found = fresh_books(services, settings)
    settings.AGENT_FILES = ALL_AGENTS
    return found
