"""The model needs no database, no settings and no static files."""

import pytest


@pytest.fixture(autouse=True)
def _plain_static_files() -> None:
    """In place of the fixture of the same name that asks for Django's settings."""
