"""The roles of people, and which of them contain which. Standard library only."""

from collections.abc import Iterable
from typing import Literal, get_args

Role = Literal["support", "lead", "operator", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)
INCLUDES = {
    "support": frozenset({"support"}),
    "lead": frozenset({"support", "lead"}),
    "operator": frozenset({"operator"}),
    "admin": frozenset({"support", "lead", "operator", "admin"}),
}

# Who is told of a question that nobody answered in time: a role that contains the one it is for.
ABOVE: dict[str, Role] = {"support": "lead", "lead": "admin", "operator": "admin"}


FLOOR = "support"  # asked where nobody else is; for a decision every other role is as good


def is_enough(role: str, wanted: str) -> bool:
    """Whether the yes of `role` is as good as that of `wanted`."""
    return wanted in (role, FLOOR) or wanted in INCLUDES.get(role, ())


def above(role: str) -> Role:
    """The role that a question for this one escalates to. It contains it, so nobody may answer who could not before."""
    return ABOVE.get(role, "admin")


def least(wanted: Iterable[str]) -> str:
    """The smallest role that is enough for all of these: support and lead give lead, lead and operator give admin."""
    roles = set(wanted)
    above = roles - {FLOOR} or roles
    if len(above) == 1:
        return above.pop()
    enough = (role for role in ROLES if above <= INCLUDES[role])
    return min(enough, key=lambda role: len(INCLUDES[role]), default="admin")
