"""What every verb may refuse."""

from django.db.models import Q

from runs.errors import (
    NotAllowed,
    ThreadBusy,
)
from runs.models import Thread
from runs.states import PARKED, RUN_BACKWARD, RUN_ENDS, RUN_FORWARD


def require(allowed: bool, why: str) -> None:
    if not allowed:
        raise NotAllowed(why)


def refuse_if_busy(thread: Thread, but: int = 0) -> None:
    """Raises ThreadBusy where a run of the thread goes on or is to be undone, but for the run `but`."""
    going_on = Q(state__in=RUN_FORWARD | RUN_BACKWARD) | Q(undo_requested_at__isnull=False)
    busy = thread.runs.filter(going_on).exclude(pk=but).first()
    if busy:
        waits = busy.steps.filter(state__in=PARKED).first()
        state = "to be undone" if busy.state in RUN_ENDS else busy.state.replace("_", " ")
        what = f"it waits for an answer about {waits.tool}" if waits else f"it is {state}"
        raise ThreadBusy(
            f"{busy.name} of this conversation is not done: {what}. Answer or cancel it first.",
            run=busy.name,
            question=waits.pk if waits else None,
        )
