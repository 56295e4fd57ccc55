"""Tools as an author may write them, who has not thought of everything."""

from decimal import Decimal
from typing import Any

from runs.tools import Call, tool
from tests.world import WORLD


@tool(writes=True, says="bill {order:d} {amount:F}", confirm=False, summary="Billed {amount:.2f}")
def bill(call: Call, order: int, amount: Decimal) -> Any:
    """Its summary takes the amount for a number; it is kept as text."""
    return WORLD.act(call, {})


@tool(writes=True, says="invoice {order:d} {amount:F}", sentence="Invoice {amount:.2f}")
def invoice(call: Call, order: int, amount: Decimal) -> Any:
    """So does its sentence, which stands on every page on which it waits."""
    return WORLD.act(call, {})


@tool(writes=True, confirm=False)
def scale(call: Call, order: int, factor: float = 1.0) -> Any:
    """The database keeps a factor of 1e16 as a whole number."""
    return WORLD.act(call, {})


@tool(writes=True, confirm=False, undo={"drop": {"name": "$result.id"}})
def grow(call: Call, order: int) -> Any:
    """Its service counts higher than JSON readers do."""
    return WORLD.act(call, {"id": 1234567890123456789, "size": 1e16})


@tool(writes=True)
def drop(call: Call, name: str) -> Any:
    """Undoes it."""
    return WORLD.act(call, {"dropped": name})


@tool(writes=True, confirm=False)
def burst(call: Call, order: int) -> Any:
    """Fails."""
    raise RuntimeError("burst")
