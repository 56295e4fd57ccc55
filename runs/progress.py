"""What the processes of a cluster tell the supervisor that forked them, in memory that they share: how many nudges they
have taken and finished, and which of them are at work.

No lock guards it, since one who is killed would keep it: each number and each byte has one writer. Standard
library only.
"""

import mmap
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

MOST_PIDS = 2**22  # Linux has no more; of the memory only what is written to is there


class Counts(NamedTuple):
    """Nudges of one cluster. One whose worker was killed is taken and never finished."""

    taken: int
    finished: int


_counts = memoryview(mmap.mmap(-1, 16)).cast("Q")  # anonymous and shared: forked children see the same
_at_work = mmap.mmap(-1, MOST_PIDS)  # one byte a process


def counts() -> Counts:
    """Those of the cluster that this process forked."""
    return Counts(_counts[0], _counts[1])


def count_anew() -> None:
    """For a cluster that is forked from now on."""
    _counts[0] = _counts[1] = 0


def taken(nudges: int) -> None:
    """The one process that takes nudges has taken some more."""
    _counts[0] += nudges


def finished() -> None:
    """The one process that hears of it has heard of one more."""
    _counts[1] += 1


@contextmanager
def at_work() -> Iterator[None]:
    """Meanwhile this process is at work."""
    pid = os.getpid()
    _at_work[pid] = 1
    try:
        yield
    finally:
        _at_work[pid] = 0


def any_at_work(pids: Iterable[int]) -> bool:
    """Whether one of these processes, which are alive, is at work. One that was killed at work left its mark."""
    return any(_at_work[pid] for pid in pids)
