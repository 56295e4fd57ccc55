"""What every test may ask for: a database, the example services, real processes, a browser."""

from collections.abc import Iterator

import pytest

from stalwart_site.embedded_postgres import EmbeddedPostgres
from tests.early import EMBEDDED, POSTGRES_FOLDER


@pytest.fixture(scope="session")
def postgres() -> Iterator[None]:
    """A PostgreSQL for the whole session; stopped at its end, also after a failure or Ctrl-C."""
    if not EMBEDDED:
        yield
        return
    with EmbeddedPostgres(POSTGRES_FOLDER, fsync=False):
        yield


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None, postgres: None) -> None:
    """pytest-django asks for this before it makes the test database."""


@pytest.fixture(autouse=True)
def _plain_static_files(settings: pytest.FixtureRequest) -> None:
    """Pages name static files as they are: the manifest exists only where `collectstatic` has run."""
    settings.STORAGES = settings.STORAGES | {
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    }
