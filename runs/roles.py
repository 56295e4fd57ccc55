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


def includes(role: str, other: str) -> bool:
    """Whether whoever may act as `role` may act as `other` too."""
    return role == other or other in INCLUDES.get(role, ())


def least(wanted: Iterable[str]) -> str:
    """The smallest role that includes all of these: support and lead give lead, lead and operator give admin."""
    wanted = set(wanted)
    if len(wanted) == 1:
        return wanted.pop()
    enough = (role for role in ROLES if wanted <= INCLUDES[role])
    return min(enough, key=lambda role: len(INCLUDES[role]), default="admin")
