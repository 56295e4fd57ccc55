"""The practice tickets of tickets.yaml.

ticket("T-90104").proposal[0].tool == "request_refund"
"""

from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter

FILE = Path(__file__).with_name("tickets.yaml")


class Action(BaseModel):
    """One call of a proposal."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tool: str
    args: dict[str, Any]


class Ticket(BaseModel):
    """A customer's request, what the agent proposes for it, and what goes wrong: `faults` is {tool: fault}."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    agent: str
    task: str = ""
    order: str
    customer: str
    says: str
    proposal: tuple[Action, ...]
    faults: dict[str, str] = {}


def ticket(name: str) -> Ticket:
    """The ticket of this id. Raises KeyError with the ids that there are."""
    if name not in tickets():
        raise KeyError(f"There is no practice ticket {name}; there are: {', '.join(tickets())}.")
    return tickets()[name]


@cache
def tickets() -> dict[str, Ticket]:
    """Every practice ticket by its id, in the file's order."""
    entries = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    rows = [{"id": name, **entry} for name, entry in entries.items()]
    return {row.id: row for row in TypeAdapter(list[Ticket]).validate_python(rows)}
