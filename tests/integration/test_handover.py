"""The ticket of the garden bench, SU-90317, field by field: a run that died between two writes."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from examples.services.process import Services
from runs import agentfile, services
from runs.handover import ticket
from runs.models import Run, Step
from tests.factories import AGENT

pytestmark = pytest.mark.django_db(transaction=True)
DAY = datetime(2026, 3, 18, tzinfo=ZoneInfo("UTC"))


def test_the_ticket_of_the_garden_bench_comes_out_field_by_field(settings: Any, services_of_returns: Run) -> None:
    run = services_of_returns
    made = ticket(run)
    assert made == {
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
