"""The ticket of the garden bench, SU-90317, field by field: a run that died between its writes."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from examples.resolver.tickets import ticket as practice_ticket
from examples.services.process import Services
from runs import calls
from runs import services as verbs
from runs.engine import advance
from runs.handover import ticket
from runs.models import Run
from tests.factories import AGENT, answer, then_die, until
from tests.flows import fresh_books

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def died(services: Services, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """The bench's run: its worker died while the replacement was being reserved."""
    fresh_books(services, settings)
    settings.LEASE_SECONDS = 1
    steps = [verbs.Proposal(action.tool, action.args) for action in practice_ticket("T-40912").proposal]
    thread = verbs.start_thread(AGENT, "returns", "the buyer")
    request = verbs.RunRequest(steps=steps, task="returns", ticket="T-40912", subject="SU-90317")
    run = verbs.start(AGENT, thread, request)
    advance(run.pk)
    answer(run, "approve")
    with monkeypatch.context() as patch:
        patch.setattr(calls, "dispatch", then_die)
        with pytest.raises(KeyboardInterrupt):
            answer(run, "approve")
    time.sleep(1.1)
    yield until(run, "handed_over")


def test_the_ticket_of_the_garden_bench_comes_out_field_by_field(died: Run) -> None:
    _at(died, "start_return", 14, 3, 51)
    _at(died, "offer_replacement", 14, 3, 58)
    Run.objects.filter(pk=died.pk).update(handover_at=datetime(2026, 3, 18, 14, 4, 40, tzinfo=UTC))
    died.refresh_from_db()
    assert ticket(died) == {
        "ticket_id": "T-40912",
        "order_id": "SU-90317",
        "reason": "run_died_mid_sequence",
        "completed": [
            {
                "tool": "start_return",
                "at": "14:03:51",
                "detail": "label RL-7734, courier pickup booked Fri 20 Mar",
                "reversible": "until collection",
            },
            {
                "tool": "offer_replacement",
                "at": "14:03:58",
                "detail": "1 x oak bench reserved, warehouse LDS-2",
                "reversible": True,
            },
        ],
        "not_done": [{"tool": "issue_refund", "detail": "$14.95 expedited delivery fee"}],
        "undone": [],
        "unknown": [],
        "customer_told": "Return label sent. No refund was mentioned.",
        "next_action": (
            "issue the $14.95 refund, or cancel the pickup if the buyer would rather keep the bench"
        ),
    }


def _at(run: Run, tool: str, hour: int, minute: int, second: int) -> None:
    ended = datetime(2026, 3, 18, hour, minute, second, tzinfo=UTC)
    run.steps.filter(tool=tool).update(ended_at=ended)
