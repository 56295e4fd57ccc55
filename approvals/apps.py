"""The people's side: questions, answers, handovers."""

from django.apps import AppConfig


class ApprovalsConfig(AppConfig):
    """The people's side."""

    name = "approvals"

    def ready(self) -> None:
        """The rail counts the handovers that nobody takes care of; what is open is said here."""
        from approvals import handovers
        from runs.views import shell

        shell.COUNTED["handover"] = handovers.count_open
