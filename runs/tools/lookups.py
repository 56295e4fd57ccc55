"""Looking a call up: a read tool that is given the key and says whether the call took effect.

@tool
def find_charge(call: Call, key: str) -> Answer:
    found = payments.find(call, key)
    return happened(found["result"]) if found else did_not_happen()
"""

from dataclasses import dataclass
from typing import Any

from runs.tools.dispatch import storable
from runs.tools.registry import Call, Tool, as_json

SAYS = frozenset({"happened", "did_not_happen", "cannot_say", "failed"})


@dataclass(frozen=True)
class Answer:
    """`said` is one of `SAYS`; failed is what the lookup itself did."""

    said: str
    result: Any = None
    error: str = ""


def happened(result: Any = None) -> Answer:
    """The call took effect, with this result."""
    return Answer("happened", result)


def did_not_happen() -> Answer:
    """The service knows nothing of this key."""
    return Answer("did_not_happen")


def cannot_say() -> Answer:
    """The service cannot tell."""
    return Answer("cannot_say")


def look_up(tool: Tool, call: Call) -> Answer:
    """Ask a lookup tool about `call.key`. Never raises: a lookup that fails says so."""
    try:
        answer = tool.run({"key": call.key}, call)
    except Exception as error:  # noqa: BLE001 (a lookup that fails is an answer)
        return Answer("failed", error=storable(f"{type(error).__name__}: {error}"))
    if not isinstance(answer, Answer) or answer.said not in SAYS:  # an unknown word would read as "not there"
        return Answer(
            "failed", error=f"{tool.name} must return happened(…), did_not_happen() or cannot_say()"
        )
    try:
        return Answer(answer.said, as_json(answer.result), answer.error)
    except ValueError as error:
        return Answer("failed", error=f"{tool.name}: {error}")
