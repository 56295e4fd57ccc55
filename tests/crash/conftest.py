"""What the crash tests ask for: processes that may be killed, the services' books, and how much is to be tried.

KILL_MATRIX=all    every kill point, not a spread of them
"""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import httpx
import pytest
from django.core.management import call_command
from django.db import connection

from examples.services.process import Services
from tests.crash.carriers import Carriers
from tests.crash.points import AGENTS
from tests.early import HOME
from tests.flows import AGENT_FILES, fresh_books
from tests.processes import SHORT_TIMES, test_database_url

if TYPE_CHECKING:
    from pytest_django import DjangoDbBlocker, Settings

ALL_AGENTS = [*AGENT_FILES, AGENTS / "blind.yaml", AGENTS / "load.yaml"]
# As short as a busy machine allows: a call that is killed in the middle is settled after twice its timeout.
TIMES = SHORT_TIMES | {
    "STALWART_LEASE_SECONDS": "0.5",
    "STALWART_CALL_TIMEOUT_SECONDS": "1",
    "STALWART_RETRY_SECONDS": "0.05",
    "STALWART_RENUDGE_SECONDS": "0.02",
}


@pytest.fixture(scope="module")
def kept_database(django_db_setup: None, django_db_blocker: "DjangoDbBlocker") -> Iterator[None]:
    """The tests' database, emptied once a module: each of these tests looks at its own runs alone."""
    with django_db_blocker.unblock():
        yield
        call_command("flush", verbosity=0, interactive=False)
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
        "STALWART_AGENTS": ",".join(str(path) for path in ALL_AGENTS),
        "STALWART_FAULTS": "1",
    }
    with Carriers(os.environ | TIMES | ours) as started:
        yield started


@pytest.fixture(scope="session")
def settings_of_a_site() -> dict[str, str]:
    """Of real workers under attack: a hung cluster is replaced within seconds."""
    return {
        "STALWART_AGENTS": ",".join(str(path) for path in ALL_AGENTS),
        "STALWART_CALL_TIMEOUT_SECONDS": "1",
        "STALWART_WORKERS": "2",
        "STALWART_STALL_SECONDS": "4",
        "STALWART_DRAIN_SECONDS": "5",
    }


@pytest.fixture
def books(services: Services, settings: "Settings") -> httpx.Client:
    """The services' own books, fresh."""
    found = fresh_books(services, settings)
    settings.AGENT_FILES = ALL_AGENTS
    return found
