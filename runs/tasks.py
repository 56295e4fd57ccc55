"""The worker's entry."""

from runs.engine import advance


def advance_run(run_id: int) -> None:
    """Carry a run as far as it goes now. Returns nothing: the rows are the result."""
    advance(run_id)
