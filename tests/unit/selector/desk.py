"""The desk's phrases, as the tests of the selector use them, and what its turns ask for."""

from decimal import Decimal

from runs.selector import Call, Phrase, Selector

SAYS: dict[str, dict[str, tuple[str, ...]]] = {
    "charge_card": {
        "en": ("charge order {order:d} {amount:F}", "charge orders {order:d+} {amount:F} each"),
        "pt": ("cobra pedido {order:d} {amount:F}", "cobra pedidos {order:d+} {amount:F} cada"),
    },
    "refund_card": {
        "en": ("refund charge {charge:id} {amount:F}",),
        "pt": ("devolve cobrança {charge:id} {amount:F}",),
    },
    "update_crm": {
        "en": ("update crm for [order {order:d}]", "update crm for orders {order:d+}"),
        "pt": ("atualiza crm [do pedido {order:d}]", "atualiza crm dos pedidos {order:d+}"),
    },
    "provision_account": {
        "en": ("provision account for order {order:d}",),
        "pt": ("cria conta do pedido {order:d}",),
    },
    "send_receipt": {
        "en": ("send receipt for [order {order:d}]",),
        "pt": ("envia recibo [do pedido {order:d}]",),
    },
    "get_order": {
        "en": ("look up order {order:d}", "look up orders {order:d+}"),
        "pt": ("consulta pedido {order:d}", "consulta pedidos {order:d+}"),
    },
    "add_note": {
        "en": ("note {note:q} on the order {order:d}",),
        "pt": ("anota {note:q} no pedido {order:d}",),
    },
    "write_mail": {
        "en": ("write to {to:email} saying {body:q}",),
        "pt": ("escreve a {to:email} dizendo {body:q}",),
    },
    "reserve": {
        "en": ("reserve {quantity:n} of {sku:id}",),
        "pt": ("reserva {quantity:n} de {sku:id}",),
    },
}
PHRASES = [
    Phrase(tool, says, language)
    for tool, by_language in SAYS.items()
    for language, listed in by_language.items()
    for says in listed
]
DESK = Selector(PHRASES)
DESKS = {language: Selector(PHRASES, [language]) for language in ("en", "pt")}
BOTH = Selector(PHRASES, ["en", "pt"])

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


def reserve(quantity: int, sku: str) -> Asked:
    return "reserve", {"quantity": quantity, "sku": sku}
