"""What `serve`, `web` and `worker` say of the agents when they start: one line, and it stops nothing.

It is found out in a process of its own: modules of tools are imported there, so that what they open does not cross the
forks that follow, and what they raise stops nobody.
"""

import multiprocessing
import os
from collections.abc import Callable
from multiprocessing.connection import Connection

from django.db import DatabaseError, connections

from runs.errors import StalwartError
from runs.verify import verify

IN_HOUSE = "STALWART_IN_HOUSE"  # set for the processes of `serve`, which has said it for all of them
PATIENCE = 20.0  # seconds
_fork = multiprocessing.get_context("fork")


def say_findings(say: Callable[[str], object]) -> None:
    """Say how much is found about the agents, or why they cannot be read; nothing where nothing is found."""
    if os.environ.get(IN_HOUSE):
        return
    connections.close_all()  # none may cross the fork
    ours, theirs = _fork.Pipe(duplex=False)
    process = _fork.Process(target=_look, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    line = _received(ours)
    process.kill()
    process.join()
    if line:
        say(" ".join(line.split()))


def _received(ours: Connection) -> str:
    try:
        return str(ours.recv()) if ours.poll(PATIENCE) else ""
    except EOFError:
        return "The agents cannot be read: run `stalwart verify`."


def _look(theirs: Connection) -> None:
    try:
        theirs.send(findings_line())
    except StalwartError as error:
        theirs.send(f"The agents cannot be read: {error}")
    except Exception as error:  # noqa: BLE001 (what a module of tools raises stops its agents, not the start)
        theirs.send(f"The agents cannot be read: {type(error).__name__}: {error}")


def findings_line() -> str:
    """``7 findings about tools and agents: run `stalwart verify`.``; '' where nothing is found."""
    try:
        found = verify()
    except DatabaseError:
        found = verify(record=False)
    if not found:
        return ""
    return f"{len(found)} finding{'s' * (len(found) > 1)} about tools and agents: run `stalwart verify`."
