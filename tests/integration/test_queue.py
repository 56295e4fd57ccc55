"""The queue as one cluster sees it: what it took and finished is counted, and an outage is waited out."""

from pathlib import Path

import pytest
from django.db import connection

from runs import progress
from runs.progress import Counts, counts
from runs.queue import CountingBroker, nudge, waiting

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _count_anew() -> None:
    progress.count_anew()


def test_what_was_taken_and_what_was_finished_is_counted() -> None:
    nudge(7)
    nudge(8)
    broker = CountingBroker()
    [(first, _)] = broker.dequeue()
    broker.dequeue()
    assert counts() == Counts(taken=2, finished=0)
    broker.acknowledge(first)
    assert counts() == Counts(taken=2, finished=1)
    assert broker.dequeue() == []
    assert waiting() == 0


def test_a_database_that_is_away_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nudge(7)
    broker = CountingBroker()
    with monkeypatch.context() as patch:
        connection.close()
        patch.setitem(connection.settings_dict, "HOST", str(tmp_path))  # nobody listens there
        assert broker.dequeue() == []
    assert len(broker.dequeue()) == 1
    assert counts() == Counts(taken=1, finished=0)
