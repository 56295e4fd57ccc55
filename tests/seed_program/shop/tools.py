"""The shop's tools, in memory; CALLS is the order in which they ran. The provisioning service is down."""

from decimal import Decimal

from runs.tools import tool

CALLS: list[str] = []


@tool(says="look up order {order:d}")
def get_order(order: int) -> dict[str, object]:
    """An order."""
    CALLS.append("get_order")
    return {"order": order}


@tool(writes=True, undo="refund_card", says="charge order {order:d} {amount:F}")
def charge_card(order: int, amount: Decimal) -> dict[str, object]:
    """Charge the card of an order."""
    CALLS.append("charge_card")
    return {"charge": f"ch_{order}"}


@tool(writes=True, retry_safe=True)
def refund_card(charge: str, amount: Decimal) -> None:
    """Give a charge back."""
    assert (charge, amount) == ("ch_4411", Decimal("40.00"))
    CALLS.append("refund_card")


@tool(
    writes=True, undo={"restore_crm": {"status": "$result.previous"}}, says="update crm for order {order:d}"
)
def update_crm(order: int, status: str = "paid") -> dict[str, object]:
    """Mark an order in the CRM."""
    CALLS.append("update_crm")
    return {"previous": "new"}


@tool(writes=True, retry_safe=True)
def restore_crm(order: int, status: str) -> None:
    """Put an order's mark back."""
    assert (order, status) == (4411, "new")
    CALLS.append("restore_crm")


@tool(writes=True, says="provision account for order {order:d}")
def provision_account(order: int) -> None:
    """Open the account of an order."""
    CALLS.append("provision_account")
    raise RuntimeError("the provisioning service is down")


@tool(writes=True, irreversible=True, says="send receipt for order {order:d}")
def send_receipt(order: int) -> None:
    """Mail the receipt of an order."""
    CALLS.append("send_receipt")
