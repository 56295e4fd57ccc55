"""The desk's phrases, as the tests of the selector use them."""

from decimal import Decimal

from runs.selector import Call, Phrase, Selector

PHRASES = (
    Phrase("charge_card", "charge order {order:d} {amount:F}"),
    Phrase("refund_card", "refund charge {charge:id} {amount:F}"),
    Phrase("update_crm", "update crm for order {order:d}"),
    Phrase("provision_account", "provision account for order {order:d}"),
    Phrase("send_receipt", "send receipt for order {order:d}"),
    Phrase("get_order", "look up order {order:d}"),
    Phrase("add_note", "note {note:q} on the order {order:d}"),
    Phrase("write_mail", "write to {to:email} saying {body:q}"),
)
DESK = Selector(PHRASES)

Asked = tuple[str, dict[str, int | str | Decimal]]


def asked(text: str, selector: Selector = DESK) -> list[Asked]:
    """What the turn asks for, as (tool, arguments) in order."""
    return [plain(call) for call in selector.read(text).calls]


def plain(call: Call) -> Asked:
    return call.tool, call.args


def charge(order: int, amount: str) -> Asked:
    return "charge_card", {"order": order, "amount": Decimal(amount)}


def refund(charged: str, amount: str) -> Asked:
    return "refund_card", {"charge": charged, "amount": Decimal(amount)}


def crm(order: int) -> Asked:
    return "update_crm", {"order": order}


def account(order: int) -> Asked:
    return "provision_account", {"order": order}


def receipt(order: int) -> Asked:
    return "send_receipt", {"order": order}


def look_up(order: int) -> Asked:
    return "get_order", {"order": order}


def note(text: str, order: int) -> Asked:
    return "add_note", {"note": text, "order": order}


def mail(to: str, body: str) -> Asked:
    return "write_mail", {"to": to, "body": body}
