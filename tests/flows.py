"""The flows of the example agents, as data: what each asks for, and what the services call it on their books."""

import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx
from django.conf import settings as django_settings

from examples.resolver.tickets import ticket
from examples.services.process import Services
from runs import services
from runs.engine import advance
from runs.models import Run
from runs.states import RUN_ENDS
from tests.factories import AGENT, approve_all

if TYPE_CHECKING:
    from pytest_django import Settings

EXAMPLES = django_settings.BASE_DIR / "examples"
AGENT_FILES = [
    EXAMPLES / "desk/agent.yaml",
    EXAMPLES / "returns/agent.yaml",
    EXAMPLES / "returns/atomic.yaml",
    EXAMPLES / "resolver/agent.yaml",
]

Step = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Flow:
    """What an agent does in one run. `ticket` names a practice ticket, whose own faults are not part of it."""

    agent: str
    task: str
    steps: tuple[Step, ...]
    ticket: str = ""

    @property
    def writes(self) -> tuple[str, ...]:
        """The tools of the flow that change something, in order."""
        return tuple(tool for tool, _ in self.steps if tool in OPERATIONS)


# A tool that writes -> its operation in the services' journal. Those without an entry only read.
OPERATIONS = {
    "charge_card": "charge_card",
    "refund_card": "refund_card",
    "update_crm": "update_crm",
    "restore_crm": "restore_crm",
    "provision_account": "provision_account",
    "send_receipt": "send_message",
    "start_return": "start_return",
    "cancel_return": "cancel_return",
    "offer_replacement": "reserve_item",
    "release_reservation": "release_reservation",
    "issue_refund": "request_refund",
    "reverse_refund": "reverse_refund",
    "message_customer": "send_message",
    "message_seller": "send_message",
    "request_refund": "request_refund",
    "create_return_label": "create_return_label",
    "cancel_return_label": "cancel_return",
    "reship": "reship",
}
# A write -> the tool that undoes it. Those without an entry stay.
UNDO = {
    "charge_card": "refund_card",
    "update_crm": "restore_crm",
    "start_return": "cancel_return",
    "offer_replacement": "release_reservation",
    "issue_refund": "reverse_refund",
    "request_refund": "reverse_refund",
    "create_return_label": "cancel_return_label",
}


def _of_ticket(name: str) -> Flow:
    found = ticket(name)
    steps = tuple((action.tool, action.args) for action in found.proposal)
    return Flow(found.agent, found.task, steps, name)


_CHARGE: Step = ("charge_card", {"order": 4411, "amount": "40.00"})
_CRM: Step = ("update_crm", {"order": 4411})
_PROVISION: Step = ("provision_account", {"order": 4411})
_RECEIPT: Step = ("send_receipt", {"order": 4411})
_TELL_CUSTOMER: Step = (
    "message_customer",
    {"order": "SU-90317", "text": "A courier comes on Fri 20 Mar; a new bench is set aside for you."},
)
_TELL_SELLER: Step = (
    "message_seller",
    {"order": "SU-90317", "text": "A slat was split; the bench is on its way back."},
)
_RETURN = (*_of_ticket("T-40912").steps, _TELL_CUSTOMER, _TELL_SELLER)
_DISPUTE: tuple[Step, ...] = (
    ("order_status", {"order": "SU-90322"}),
    ("start_return", {"order": "SU-90322", "reason": "cracked leg"}),
    ("issue_refund", {"order": "SU-90322", "amount": "60.00", "reason": "damage"}),
    ("message_seller", {"order": "SU-90322", "text": "The leg was cracked before it was packed."}),
)

FLOWS = {
    "desk: charge, crm, provision": Flow("desk", "", (_CHARGE, _CRM, _PROVISION)),
    "desk: charge, receipt, provision": Flow("desk", "", (_CHARGE, _RECEIPT, _PROVISION)),
    "desk: charge": Flow("desk", "", (_CHARGE,)),
    "returns: whole": Flow("returns", "returns", _RETURN, "T-40912"),
    "returns: damage dispute": Flow("returns", "dispute", _DISPUTE),
    "returns: order status": Flow("returns", "order_status", (("order_status", {"order": "SU-90317"}),)),
    "returns-atomic: whole": Flow("returns-atomic", "returns", _RETURN, "T-40912"),
    "returns-atomic: damage dispute": Flow("returns-atomic", "dispute", _DISPUTE),
} | {
    f"resolver: {name}": _of_ticket(name) for name in ("T-90103", "T-90104", "T-90603", "T-90604", "T-90605")
}


def fresh_books(services: Services, settings: "Settings") -> httpx.Client:
    """The services' books, as they are at the start; the example agents are known."""
    settings.AGENT_FILES = AGENT_FILES
    settings.LEASE_SECONDS = 30  # longer than a practice timeout
    client = httpx.Client(base_url=services.url, timeout=10)
    client.post("/reset").raise_for_status()
    return client


def start_flow(flow: Flow, faults: dict[str, str] | None = None) -> Run:
    """Start the flow in a new conversation; nothing is carried out yet."""
    thread = services.start_thread(AGENT, flow.agent, "u-1")
    steps = [services.Proposal(tool, args) for tool, args in flow.steps]
    request = services.RunRequest(steps=steps, task=flow.task, ticket=flow.ticket, faults=faults)
    return services.start(AGENT, thread, request)


def carry_out(run: Run, until: Collection[str] = RUN_ENDS, seconds: float = 30.0) -> Run:
    """Carry a run to its end, or to another state, approving all that it asks."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        advance(run.pk)
        approve_all(run).refresh_from_db()
        if run.state in until:
            return run
        time.sleep(0.02)
    raise AssertionError(f"{run.name} is still {run.state} after {seconds:.0f} s")


def on_the_books(books: httpx.Client, run: Run) -> list[str]:
    """The operations that a run carried out, as the services' own journal has them, oldest first."""
    found = books.get("/changes", params={"run": run.name}).raise_for_status().json()
    return [change["operation"] for change in found]


def operations(tools: tuple[str, ...] | list[str]) -> list[str]:
    """What the services call the writes of these tools."""
    return [OPERATIONS[tool] for tool in tools]


def undos(tools: tuple[str, ...] | list[str]) -> list[str]:
    """The tools that undo these writes, latest first."""
    return [UNDO[tool] for tool in reversed(tools) if tool in UNDO]
