"""The people of a practice machine."""

import functools

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Group, User

from runs.roles import ROLES

LOGINS = [
    ("ana", "support", "Ana Ferreira"),
    ("tom", "support", "Tom Baker"),
    ("lea", "lead", "Lea Novak"),
    ("olga", "operator", "Olga Petrova"),
    ("admin", "admin", "Ada Admin"),
]
PASSWORD = "practice"  # of every demo login; what makes them is refused where faults are not allowed


@functools.cache
def _hashed() -> str:
    """Once, for it takes a quarter of a second: whoever knows one of these passwords knows all of them."""
    return make_password(PASSWORD)


def make_logins() -> None:
    """Make the demo people, each with their role; those that exist keep what they have."""
    groups: dict[str, Group] = {role: Group.objects.get_or_create(name=role)[0] for role in ROLES}
    for name, role, full_name in LOGINS:
        first, _, last = full_name.partition(" ")
        admin = role == "admin"
        user, new = User.objects.get_or_create(
            username=name,
            defaults={"first_name": first, "last_name": last, "is_staff": admin, "is_superuser": admin},
        )
        if new:
            user.password = _hashed()
            user.save(update_fields=["password"])
        user.groups.add(groups[role])
