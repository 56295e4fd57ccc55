"""The people's side: questions, answers, handovers."""

from django.apps import AppConfig


class ApprovalsConfig(AppConfig):
    """The people's side."""

    name = "approvals"
