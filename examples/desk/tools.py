"""The shop's desk: an order is charged, marked paid in the CRM, its account provisioned, a receipt sent.

Every call goes over HTTP to the practice services (examples/services).
"""

from decimal import Decimal
from typing import Any

from examples.operations import find_operation, services  # noqa: F401 (the first is a tool of this module)
from runs.tools import Call, tool


@tool(says="look up order {order:d}", summary="order {order}: {customer}, paid {paid} {currency}")
def get_order(call: Call, order: int) -> Any:
    """The order as the payment service knows it."""
    return services.get(call, f"/payments/orders/{order}")


@tool(
    writes=True,
    undo="refund_card",
    lookup="find_operation",
    says=("charge order {order:d} {amount:F}", "charge orders {order:d+} {amount:F} each"),
    sentence="Charge {amount} to order {order}",
    summary="{amount} charged to order {order}",
    if_not_done="charge {amount} to order {order}",
)
def charge_card(call: Call, order: int, amount: Decimal) -> Any:
    """Charge an amount to the card of an order."""
    return services.post(call, "/payments/charges", {"order": order, "amount": str(amount)})


@tool(
    writes=True,
    retry_safe=True,
    lookup="find_operation",
    irreversible=True,
    sentence="Refund {amount} of charge {charge}",
    summary="{amount} of charge {charge} refunded",
)
def refund_card(call: Call, charge: str, amount: Decimal) -> Any:
    """Give back an amount of a charge."""
    return services.post(call, "/payments/refunds", {"charge": charge, "amount": str(amount)})


@tool(
    writes=True,
    undo={"restore_crm": {"order": "$args.order", "status": "$result.previous"}},
    lookup="find_operation",
    says="update crm for [order {order:d}]",
    sentence="Mark order {order} as {status} in the CRM",
    summary="order {order} marked {status} in the CRM",
)
def update_crm(call: Call, order: int, status: str = "paid") -> Any:
    """Set the status of an order in the CRM."""
    return services.post(call, f"/crm/orders/{order}/status", {"status": status})


@tool(
    writes=True,
    retry_safe=True,
    lookup="find_operation",
    irreversible=True,
    sentence="Put order {order} back to {status} in the CRM",
    summary="order {order} put back to {status} in the CRM",
)
def restore_crm(call: Call, order: int, status: str) -> Any:
    """Put the status of an order back to what it was."""
    return services.post(call, f"/crm/orders/{order}/restore", {"status": status})


@tool(
    writes=True,
    lookup="find_operation",
    says="provision account for [order {order:d}]",
    sentence="Provision the account for order {order}",
    summary="account {account} provisioned for order {order}",
)
def provision_account(call: Call, order: int) -> Any:
    """Open the account that an order pays for."""
    if services.get(call, "/provisioning/status")["status"] != "up":
        raise RuntimeError("provisioning is down")
    return services.post(call, "/provisioning/accounts", {"order": order})


@tool(
    writes=True,
    irreversible=True,
    lookup="find_operation",
    says="send receipt for [order {order:d}]",
    sentence="Send the receipt for order {order}",
    summary="receipt for order {order} sent",
    tells_customer="The receipt for order {order} was sent.",
)
def send_receipt(call: Call, order: int) -> Any:
    """Mail the customer the receipt of an order."""
    found = services.get(call, f"/payments/orders/{order}")
    body = {
        "to": found["email"],
        "subject": f"Receipt for order {order}",
        "body": f"You paid {found['paid']} {found['currency']}.",
    }
    return services.post(call, "/mail/messages", body)
