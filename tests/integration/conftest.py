"""The integration tests start from an empty world and short pauses."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import boxes
from tests.factories import make_agent
from tests.world import WORLD


@pytest.fixture(autouse=True)
def _short_pauses(settings: Any) -> None:
    settings.RETRY_SECONDS = 0.02
    settings.LEASE_SECONDS = 1
    WORLD.reset()


@pytest.fixture
def agent(tmp_path: Path) -> str:
    """An agent over the small world: atomic, ordered."""
    return make_agent(tmp_path)


@pytest.fixture
def boxes_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[None]:
    """The world of the tests' programs, empty, where nothing fails."""
    monkeypatch.setenv("BOXES", str(tmp_path / "boxes"))
    settings.LEASE_SECONDS = (
        10  # on a busy machine a commit may take a second, and a call leaves in time or not at all
    )
    yield
    boxes.FAILS.clear()
    boxes.BEFORE.clear()
