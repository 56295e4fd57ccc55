"""An agent's `reconcile` function for the tests: it says what it is told to, and keeps what it saw."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from runs.tools.reconciling import FoundRun, Reconciliation

SEEN: list[FoundRun] = []
ANSWERS: list[Any] = []  # what it answers next; a function is called with the run, the last one stays


def reconcile(run: FoundRun) -> Any:
    """What the test says."""
    SEEN.append(run)
    answer = ANSWERS.pop(0) if len(ANSWERS) > 1 else ANSWERS[0]
    return answer(run) if callable(answer) else answer


async def later(run: FoundRun) -> None:
    """No function that the engine can call."""


def of_two(run: FoundRun, more: int) -> None:
    """It takes one argument too many."""


def raises(error: BaseException) -> Callable[[FoundRun], None]:
    """An answer that is an error."""

    def fail(run: FoundRun) -> None:
        raise error

    return fail


def keeps_a_log(run: FoundRun) -> Reconciliation:
    """For real processes: a line in the file RECONCILE_LOG for each time it is asked; what it saw is completed."""
    step = run.interrupted
    with Path(os.environ["RECONCILE_LOG"]).open("a") as log:
        log.write(f"{run.run} {run.cause} {step.tool if step else '-'}\n")
    return Reconciliation("completed", result={"charge": "ch_seen"})
