"""What every verb may refuse."""

from runs.errors import (
    NotAllowed,
    ThreadBusy,
)
from runs.models import Thread
from runs.states import PARKED, RUN_BACKWARD, RUN_FORWARD


def require(allowed: bool, why: str) -> None:
    if not allowed:
        raise NotAllowed(why)


def refuse_if_busy(thread: Thread) -> None:
    busy = thread.runs.filter(state__in=RUN_FORWARD | RUN_BACKWARD).first()
    if busy:
        waits = busy.steps.filter(state__in=PARKED).first()
        what = (
            f"it waits for an answer about {waits.tool}" if waits else f"it is {busy.state.replace('_', ' ')}"
        )
        raise ThreadBusy(
            f"{busy.name} of this conversation is not done: {what}. Answer or cancel it first.",
            run=busy.name,
            question=waits.pk if waits else None,
        )
