"""The resolver: refunds, return labels and reships for tickets.

Each service keeps a register of keys, so a write whose outcome is not known is looked up, and may be sent
again under its key.
"""

from decimal import Decimal
from typing import Any

from examples.operations import find_operation, services  # noqa: F401 (the first is a tool of this module)
from runs.tools import Call, tool

PATIENCE = 3.0  # seconds, below those that a practice timeout takes, so that it is seen as one


@tool(
    says="look up order {order_id:id}",
    summary="order {order_id}: {item} for {customer}, {refundable} {currency} may be refunded",
)
def get_order(call: Call, order_id: str) -> Any:
    """An order of the shop: who bought what, what was paid, what was given back."""
    return services.get(call, f"/orders/{order_id}")


@tool(
    writes=True,
    retry_safe=True,
    undo={"reverse_refund": {"refund": "$result.refund"}},
    lookup="find_operation",
    timeout=PATIENCE,
    says="refund order {order_id:id} {amount:F} for {reason_code:q}",
    sentence="Refund {amount} of order {order_id}, {reason_code}",
    summary="{amount} {currency} of order {order_id} refunded, {reason_code}",
    if_not_done="refund {amount} of order {order_id}, {reason_code}",
)
def request_refund(
    call: Call, order_id: str, amount: Decimal, reason_code: str, payment_id: str | None = None
) -> Any:
    """Give back an amount of an order, or of one payment of it."""
    body = {"order_id": order_id, "amount": str(amount), "reason_code": reason_code, "payment_id": payment_id}
    return services.post(call, "/payments/order-refunds", body)


@tool(
    writes=True,
    retry_safe=True,
    irreversible=True,
    lookup="find_operation",
    timeout=PATIENCE,
    says="reverse refund {refund:id}",
    sentence="Take refund {refund} back",
    summary="refund {refund} of {amount} {currency} taken back",
)
def reverse_refund(call: Call, refund: str) -> Any:
    """Take a refund back."""
    return services.post(call, f"/payments/order-refunds/{refund}/reverse", {})


@tool(
    writes=True,
    retry_safe=True,
    undo={"cancel_return_label": {"label": "$result.label"}},
    lookup="find_operation",
    timeout=PATIENCE,
    says="label for {sku:id} of order {order_id:id} because {reason:q}",
    sentence="Make a return label for {sku} of order {order_id}: {reason}",
    summary="label {label} for {item}, {reason}",
    tells_customer="Return label sent.",
    if_not_done="make a return label for {sku} of order {order_id}",
)
def create_return_label(call: Call, order_id: str, sku: str, reason: str) -> Any:
    """Send the customer a label with which an item can be sent back."""
    return services.post(call, "/returns/labels", {"order_id": order_id, "sku": sku, "reason": reason})


@tool(
    writes=True,
    retry_safe=True,
    irreversible=True,
    lookup="find_operation",
    timeout=PATIENCE,
    says="cancel label {label:id}",
    sentence="Cancel return label {label}",
    summary="return label {label} cancelled",
    tells_customer="Return label {label} was cancelled.",
)
def cancel_return_label(call: Call, label: str) -> Any:
    """Cancel a return label; refused once the parcel is on its way back."""
    return services.post(call, f"/returns/{label}/cancel", {})


@tool(
    writes=True,
    retry_safe=True,
    irreversible=True,
    lookup="find_operation",
    approver="lead",
    timeout=PATIENCE,
    says="reship {sku:id} for order {order_id:id}",
    sentence="Send {sku} of order {order_id} again",
    summary="{item} sent again from {warehouse}, {reship}",
    if_not_done="send {sku} of order {order_id} again, or give the money back",
)
def reship(call: Call, order_id: str, sku: str) -> Any:
    """Send an item of an order again; refused where it is not in stock."""
    return services.post(call, "/warehouse/reships", {"order_id": order_id, "sku": sku})
