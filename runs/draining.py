"""Whether this process has been asked to finish what it does and take nothing new.

One byte of memory that a process shares with all that it forks: the worker's supervisor sets it, and the
processes that carry out runs read it between two calls. Standard library only.
"""

import mmap

_asked = mmap.mmap(-1, 1)  # anonymous and shared: forked children see the same byte


def asked() -> bool:
    """Whether to stop after the call in flight. Cheap: one byte is read."""
    return _asked[0] == 1


def ask() -> None:
    """Ask this process, and all that it forked, to stop after the call in flight."""
    _asked[0] = 1


def withdraw() -> None:
    """For those that are forked from now on."""
    _asked[0] = 0
