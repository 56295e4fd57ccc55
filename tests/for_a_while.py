"""The small outside world, and in it writes that can be undone for a while: in each of the ways to say until when."""

from typing import Any

from runs.tools import Call, tool
from runs.tools.windows import Window, closed, still_open, until
from tests.world import WORLD, find, mail, tag, untag  # noqa: F401 (tools of this module, too)

TOOLS = ["tag", "untag", "mail", "book", "hold", "ship", "unbook"]


@tool(writes=True, undo="unbook", says="book {order:d}", reversible_until="1s", retry_safe=True)
def book(call: Call, order: int) -> Any:
    """A write that can be undone for a second."""
    return WORLD.act(call)


@tool(writes=True, undo="unbook", says="hold {order:d} until {until:q}", reversible_until="$args.until")
def hold(call: Call, order: int, until: str) -> Any:
    """A write that can be undone until a moment that its argument names."""
    return WORLD.act(call)


@tool(writes=True, undo="unbook", says="ship {order:d}", reversible_until="collection")
def ship(call: Call, order: int) -> Any:
    """A write that can be undone until it is collected, as a tool says."""
    return WORLD.act(call)


@tool(writes=True)
def unbook(call: Call, order: int) -> Any:
    """Undoes book, hold and ship."""
    return WORLD.act(call)


@tool
def collection(call: Call, key: str) -> Window:
    """Says until when what was sent under this key can be undone."""
    WORLD.lookups.append(f"collection of {WORLD.effects[key]}")
    script = WORLD.script.get("collection", [])
    what = script.pop(0) if script else "open"
    if what == "raises":
        raise ConnectionError("nobody there")
    return closed() if what == "closed" else still_open() if what == "open" else until(what)
