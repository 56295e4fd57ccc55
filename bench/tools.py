"""Tools that do nothing, so that what is measured is what surrounds a call."""

from runs.tools import InDoubt, Refused
from runs.tools.registry import tool


@tool(writes=True, confirm=False, undo="unput")
def put(n: int) -> dict[str, int]:
    """A write that nobody confirms."""
    return {"n": n}


@tool(writes=True, undo="unput")
def ask_put(n: int) -> dict[str, int]:
    """A write that a person confirms."""
    return {"n": n}


@tool(writes=True, confirm=False)
def unput(n: int) -> dict[str, int]:
    """Undoes both."""
    return {"n": n}


@tool(writes=True, confirm=False, irreversible=True)
def never(n: int) -> None:
    """What its service refuses."""
    raise Refused("the service said no")


@tool(writes=True, undo="unput")
def lost(n: int) -> None:
    """A write of which nobody knows whether it took effect."""
    raise InDoubt("no answer")


@tool(writes=True, confirm=False, undo="unhook")
def hook(n: int) -> dict[str, int]:
    """A write whose undo does not go through."""
    return {"n": n}


@tool(writes=True, confirm=False)
def unhook(n: int) -> None:
    """Never undoes it."""
    raise Refused("the service said no")
