"""What the tests' programs do to the world: boxes and their names, written down in a file that outlives them.

`BOXES` names the file; each line is one effect. `FAILS` has, per tool, what its next calls raise.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from runs.tools import Call, tool
from runs.tools.lookups import Answer, did_not_happen, happened

FAILS: dict[str, list[BaseException]] = {}
BEFORE: dict[str, Callable[[], object]] = {}  # what happens when a tool is called next


def act(name: str, what: str, key: str = "") -> None:
    """One effect, or the error that is due."""
    if before := BEFORE.pop(name, None):
        before()
    if FAILS.get(name):
        raise FAILS[name].pop(0)
    with Path(os.environ["BOXES"]).open("a") as file:
        file.write(f"{name} {what} {key}".rstrip() + "\n")


def world() -> list[str]:
    """Every effect, oldest first, without the keys."""
    path = Path(os.environ["BOXES"])
    return [" ".join(line.split()[:2]) for line in path.read_text().splitlines()] if path.exists() else []


def _done_under(key: str) -> list[str]:
    """What was done under a key."""
    path = Path(os.environ["BOXES"])
    lines = path.read_text().splitlines() if path.exists() else []
    return next((line.split() for line in lines if line.endswith(f" {key}")), [])


def provision(size: str = "s") -> dict[str, Any]:
    """A program's own function: no tool."""
    act("provision", size)
    return {"id": f"box-{size}"}


def keyed(call: Call, size: str = "s") -> dict[str, Any]:
    """The same, with the key handed on, so that it can be looked up."""
    act("provision", size, call.key)
    return {"id": f"box-{size}"}


def add_dns(box: str) -> None:
    """Another."""
    act("add_dns", box)


def warm(box: str) -> None:
    """A third."""
    act("warm", box)


@tool(writes=True)
def deprovision(box: str) -> None:
    """Undoes provision."""
    act("deprovision", box)


@tool(writes=True, retry_safe=True)
def del_dns(call: Call, box: str) -> None:
    """Undoes add_dns; the zone honours keys."""
    if not _done_under(call.key):
        act("del_dns", box, call.key)


@tool(writes=True)
def cool(box: str) -> None:
    """Undoes warm."""
    act("cool", box)


@tool(writes=True)
async def cool_later(box: str) -> None:
    """Undoes warm, as a coroutine."""
    act("cool_later", box)


@tool
def find_box(key: str) -> Answer:
    """Says whether a box was provisioned under this key."""
    found = _done_under(key)
    return happened({"id": f"box-{found[1]}"}) if found else did_not_happen()


@tool(writes=True, undo="cool", lookup="find_box")
def warm_up(call: Call, box: str) -> None:
    """A tool of its own, with its undo."""
    act("warm_up", box, call.key)
