"""A world of tools that hide values: a transfer, what undoes it, and a read."""

from typing import Any

from runs.tools import Call, tool
from tests.world import WORLD

IBAN, PIN = "DE89370400440532013000", "pin-771"  # neither may be found where it is not to be shown


@tool(
    writes=True,
    undo={"recall": {"account": "$args.iban", "code": "$result.receipt.pin"}},
    sentence="Transfer {amount} to {iban}",
    summary="{amount} transferred to {iban}, pin {pin}",
    detail="transfer {amount} to {iban}",
    tells_customer="The transfer to {iban} is on its way.",
    redact=("iban", "pin"),
)
def transfer(call: Call, iban: str, amount: str = "40.00") -> Any:
    """A write whose account, and whose pin, nobody is to see."""
    return WORLD.act(call, {"pin": PIN, "receipt": {"number": 7, "pin": PIN}})


@tool(writes=True, retry_safe=True, sentence="Recall from {account} with {code}")
def recall(call: Call, account: str, code: str) -> Any:
    """Undoes transfer. It hides nothing by itself, and takes what the other hides."""
    return WORLD.act(call)


@tool(writes=True, says="stop {order:d}")
def stop(call: Call, order: int) -> Any:
    """A write with nothing to hide."""
    return WORLD.act(call)
