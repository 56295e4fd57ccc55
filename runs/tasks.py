"""The worker's entry."""

import contextlib

from runs import progress
from runs.engine import advance
from runs.errors import HeldUp


def advance_run(run_id: int) -> None:
    """Carry a run as far as it goes now. Returns nothing: the rows are the result, also of a run that is held up."""
    with progress.at_work(), contextlib.suppress(HeldUp):
        advance(run_id)
