"""Returns: the parcel is fetched, a replacement set aside, money given back; then both sides are told.

What can be undone comes first, and what cannot comes last. Every call goes over HTTP to the practice
services (examples/services), which keep a register of keys, so all but the mails may be sent again.
"""

from decimal import Decimal
from typing import Any

from examples.operations import find_operation, services  # noqa: F401 (the first is a tool of this module)
from runs.tools import Call, tool
from runs.tools.windows import Window, closed, still_open


@tool(
    says=("look up order {order:id}", "where is order {order:id}"),
    summary="order {order}: {item} for {customer}, {refundable} {currency} may be refunded",
)
def order_status(call: Call, order: str) -> Any:
    """An order of the shop: who bought what, what was paid, what was given back."""
    return services.get(call, f"/orders/{order}")


@tool(
    writes=True,
    retry_safe=True,
    undo={"cancel_return": {"label": "$result.label"}},
    lookup="find_operation",
    says="start a return of order {order:id} because {reason:q}",
    sentence="Start a return of order {order}: {reason}",
    summary="label {label}, courier pickup booked {pickup}",
    tells_customer="Return label sent.",
    if_not_done="start the return of order {order}",
    reversible_until="collection",
)
def start_return(call: Call, order: str, reason: str) -> Any:
    """Send the customer a return label and book the courier. It can be cancelled until the courier collects."""
    return services.post(call, "/returns", {"order": order, "reason": reason})


@tool
def collection(call: Call, key: str) -> Window:
    """Whether the courier has collected the parcel: then its return cannot be cancelled any more."""
    started = services.get(call, f"/operations/{key}")["result"]
    found = services.get(call, f"/returns/{started['label']}")
    return closed() if found["status"] == "collected" else still_open()


@tool(
    writes=True,
    retry_safe=True,
    irreversible=True,
    lookup="find_operation",
    says="cancel return {label:id}",
    sentence="Cancel return {label} and its pickup",
    summary="return {label} and its pickup cancelled",
    tells_customer="Return label {label} was cancelled.",
    if_not_done="cancel the pickup if the buyer would rather keep the {kind}",
)
def cancel_return(call: Call, label: str) -> Any:
    """Cancel a return label and the courier; refused once the parcel is collected."""
    return services.post(call, f"/returns/{label}/cancel", {})


@tool(
    writes=True,
    retry_safe=True,
    undo={"release_reservation": {"reservation": "$result.reservation"}},
    lookup="find_operation",
    says="reserve {quantity:n} of {sku:id} for order {order:id}",
    sentence="Reserve {quantity} x {sku} for order {order}",
    summary="{quantity} x {item} reserved, warehouse {warehouse}",
    if_not_done="reserve {quantity} x {sku} for order {order}",
)
def offer_replacement(call: Call, order: str, sku: str, quantity: int = 1) -> Any:
    """Set a replacement aside in the warehouse."""
    body = {"order": order, "sku": sku, "quantity": quantity}
    return services.post(call, "/warehouse/reservations", body)


@tool(
    writes=True,
    retry_safe=True,
    irreversible=True,
    lookup="find_operation",
    says="release reservation {reservation:id}",
    sentence="Release reservation {reservation}",
    summary="reservation {reservation} released",
)
def release_reservation(call: Call, reservation: str) -> Any:
    """Put what was set aside back into stock."""
    return services.post(call, f"/warehouse/reservations/{reservation}/release", {})


@tool(
    writes=True,
    retry_safe=True,
    undo={"reverse_refund": {"refund": "$result.refund"}},
    lookup="find_operation",
    says="refund order {order:id} {amount:F} for {reason:q}",
    sentence="Refund ${amount} of order {order}: {reason}",
    summary="${amount} {reason} refunded",
    detail="${amount} {reason}",
    untold="No refund was mentioned.",
    if_not_done="issue the ${amount} refund",
)
def issue_refund(call: Call, order: str, amount: Decimal, reason: str) -> Any:
    """Give back a part of what an order cost."""
    body = {"order_id": order, "amount": str(amount), "reason_code": reason}
    return services.post(call, "/payments/order-refunds", body)


@tool(
    writes=True,
    retry_safe=True,
    irreversible=True,
    lookup="find_operation",
    says="reverse refund {refund:id}",
    sentence="Take refund {refund} back",
    summary="refund {refund} of ${amount} taken back",
)
def reverse_refund(call: Call, refund: str) -> Any:
    """Take a refund back: a new payment, with a life of its own."""
    return services.post(call, f"/payments/order-refunds/{refund}/reverse", {})


@tool(
    writes=True,
    irreversible=True,
    lookup="find_operation",
    says="tell the customer of order {order:id} {text:q}",
    sentence="Tell the customer of order {order}: {text}",
    summary='customer told "{text}"',
    tells_customer="Told: {text}",
    if_not_done="tell the customer: {text}",
)
def message_customer(call: Call, order: str, text: str) -> Any:
    """Write to the customer of an order."""
    return _write_to(call, order, "email", text)


@tool(
    writes=True,
    irreversible=True,
    lookup="find_operation",
    says="tell the seller of order {order:id} {text:q}",
    sentence="Tell the seller of order {order}: {text}",
    summary='seller told "{text}"',
    if_not_done="tell the seller: {text}",
)
def message_seller(call: Call, order: str, text: str) -> Any:
    """Write to the seller of an order."""
    return _write_to(call, order, "seller_email", text)


def _write_to(call: Call, order: str, whom: str, text: str) -> Any:
    to = services.get(call, f"/orders/{order}")[whom]
    return services.post(call, "/mail/messages", {"to": to, "subject": f"Order {order}", "body": text})
