"""The person of the crash tests: approves, and answers a doubt truthfully, by a look at the services' own books."""

import secrets
from typing import Any

import httpx

from approvals import services as approvals
from runs.errors import AlreadyAnswered, Gone, NotSettledYet
from runs.models import Run, Step
from runs.states import PARKED
from tests.factories import PERSON


def answer_all(books: httpx.Client, missed: str = "did_not_happen", *runs: Run) -> None:
    """Answer every question that is open now; of these runs, or of all. `missed` is what is said of a write that
    is not on the books: did_not_happen, or send_again."""
    asked = Step.objects.filter(state__in=PARKED, answer="")
    for step in asked.filter(run__in=runs) if runs else asked:
        answer(books, step, missed)


def answer(books: httpx.Client, step: Step, missed: str) -> None:
    """Answer one question, or leave it for a later round where it is too early to say, or was withdrawn."""
    said, result = _truth(books, step, missed)
    reply = approvals.Reply(said, step.digest, secrets.token_hex(8), result=result)
    try:
        approvals.answer(PERSON, step.pk, reply)
    except (NotSettledYet, AlreadyAnswered, Gone):
        pass


def _truth(books: httpx.Client, step: Step, missed: str) -> tuple[str, dict[str, Any] | None]:
    if step.asks == "confirm":
        return "approve", None
    if step.asks == "undo":
        return "retry", None
    found = books.get(f"/operations/{step.entry_id}")
    if found.status_code == 200:
        return "happened", found.json()["result"]
    return ("did_not_happen" if step.asked > 2 else missed), None  # nobody sends again for ever
