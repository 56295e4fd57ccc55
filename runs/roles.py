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


FLOOR = "support"  # asked where nobody else is; for a decision every other role is as good


def is_enough(role: str, wanted: str) -> bool:
    """Whether the yes of `role` is as good as that of `wanted`."""
    return wanted in (role, FLOOR) or wanted in INCLUDES.get(role, ())


def least(wanted: Iterable[str]) -> str:
    """The smallest role that is enough for all of these: support and lead give lead, lead and operator give admin."""
    roles = set(wanted)
    above = roles - {FLOOR} or roles
    if len(above) == 1:
        return above.pop()
    enough = (role for role in ROLES if above <= INCLUDES[role])
    return min(enough, key=lambda role: len(INCLUDES[role]), default="admin")
