"""`stalwart demo`: the logins of a practice machine."""

from typing import Any

from django.conf import settings

from runs.demo import LOGINS, PASSWORD, make_logins
from runs.errors import NotAllowed
from stalwart_site.terminal import TerminalCommand


class Command(TerminalCommand):
    """Those that exist keep what they have. Refused outside practice."""

    help = "Make the demo logins of a practice machine."

    def run(self, options: dict[str, Any]) -> int:
        if not settings.FAULTS_ALLOWED:
            raise NotAllowed("Demo logins are for practice: set STALWART_FAULTS=1 to allow them.")
        make_logins()
        if options["json"]:
            logins = [{"login": login, "role": role, "name": name} for login, role, name in LOGINS]
            self.say_json({"password": PASSWORD, "logins": logins})
            return 0
        for login, role, name in LOGINS:
            self.say(f"{login:<8} {role:<10} {name}")
        self.say(f"The password of each is `{PASSWORD}`, unless it had another before.")
        return 0
