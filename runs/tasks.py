"""The worker's entry."""

from runs import progress
from runs.engine import advance


def advance_run(run_id: int) -> None:
    """Carry a run as far as it goes now. Returns nothing: the rows are the result."""
    with progress.at_work():
        advance(run_id)
