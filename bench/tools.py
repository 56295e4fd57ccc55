"""Tools that do nothing, so that what is measured is what surrounds a call."""

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
