"""`stalwart demo`: the logins of a practice machine."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from runs.demo import make_logins


class Command(BaseCommand):
    """Make the demo logins; refused outside practice."""

    help = "Make the demo logins of a practice machine."

    def handle(self, *args: Any, **options: Any) -> None:
        """Make them."""
        if not settings.FAULTS_ALLOWED:
            raise CommandError("Demo logins are for practice: set STALWART_FAULTS=1 to allow them.")
        make_logins()
