"""Tools that are asked for in two languages, and two that a turn cannot always tell apart."""

from decimal import Decimal
from typing import Any

from runs.tools import tool


@tool(says={"en": "look up order {order:d}", "pt": "consulta pedido {order:d}"})
def get_order(order: int) -> Any:
    """A read."""
    return {"order": order}


@tool(
    says={"en": "price of [order {order:d}] is {amount:F}", "pt": "preço do pedido {order:d} é {amount:F}"},
    sentence="Price order {order} at {amount}",
)
def price(order: int, amount: Decimal) -> Any:
    """A read that takes money."""
    return {"order": order}


@tool(says="close order {order:d}", sentence="Close order {order}")
def close(order: int) -> Any:
    """A read, as far as the engine knows."""
    return {"order": order}


@tool(says="close order {number:id}", sentence="Shut order {number}")
def shut(number: str) -> Any:
    """Another one, which a turn asks for in the same words."""
    return {"number": number}
