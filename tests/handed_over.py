"""The garden bench of SU-90317: a run that died between its writes, and its ticket T-40912, word for word.

`died` carries it out for real; `rows` writes the rows that this leaves, for pages that need no services.
"""

import time
from datetime import UTC, datetime
from typing import Any

import pytest

from examples.resolver.tickets import ticket as practice_ticket
from runs import calls
from runs import services as verbs
from runs.engine import advance
from runs.models import LedgerEntry, Message, Run, Step, Thread
from tests.factories import AGENT, answer, then_die, until

TICKET: dict[str, Any] = {
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
    "next_action": "issue the $14.95 refund, or cancel the pickup if the buyer would rather keep the bench",
}
RESULTS: tuple[dict[str, Any], ...] = (
    {"label": "RL-7734", "pickup": "Fri 20 Mar", "kind": "bench"},
    {"reservation": "RS-1", "item": "oak bench", "warehouse": "LDS-2"},
)


def died(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Carry the bench's run out, on fresh books, until its worker dies while the replacement is reserved."""
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
    return _at_its_times(until(run, "handed_over"))


def rows(ticket: str = "T-40912") -> Run:
    """The rows that such a run leaves, at the times of the seed."""
    thread = Thread.objects.create(agent="returns", user="the buyer")
    run = Run.objects.create(
        thread=thread,
        state="handed_over",
        mode="keep",
        task="returns",
        ticket=ticket,
        subject="SU-90317",
        stop={"kind": "died"},
        handover_reason="run_died_mid_sequence",
        handover_at=datetime(2026, 3, 18, 14, 4, 40, tzinfo=UTC),
        ended_at=datetime(2026, 3, 18, 14, 4, 40, tzinfo=UTC),
    )
    for number, action in enumerate(practice_ticket("T-40912").proposal, 1):
        result = RESULTS[number - 1] if number <= len(RESULTS) else None
        _step(run, number, action.tool, action.args, result)
    Message.objects.create(thread=thread, run=run, role="agent", text="This run stopped: its process died.")
    return _at_its_times(run)


def _step(run: Run, number: int, tool: str, args: dict[str, Any], result: dict[str, Any] | None) -> None:
    entry = result and LedgerEntry.objects.create(
        key=f"{run.pk:032x}{number:032x}", tool=tool, args=args, state="performed", result=result
    )
    Step.objects.create(
        run=run,
        thread=run.thread,
        number=number,
        tool=tool,
        args=args,
        entry=entry or None,
        state="performed" if entry else "cancelled",
    )


def _at_its_times(run: Run) -> Run:
    """As in the seed: a Wednesday, 14:03:51, 14:03:58, and the ticket at 14:04:40."""
    run.steps.filter(tool="start_return").update(ended_at=datetime(2026, 3, 18, 14, 3, 51, tzinfo=UTC))
    run.steps.filter(tool="offer_replacement").update(ended_at=datetime(2026, 3, 18, 14, 3, 58, tzinfo=UTC))
    Run.objects.filter(pk=run.pk).update(handover_at=datetime(2026, 3, 18, 14, 4, 40, tzinfo=UTC))
    run.refresh_from_db()
    return run
