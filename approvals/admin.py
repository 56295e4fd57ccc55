"""Django admin: what people answered, claimed and noted, for reading."""

from django.contrib import admin

from approvals.models import Answer, Bulk, Claim, Note
from runs.admin import History


@admin.register(Answer)
class AnswerHistory(History):
    """What people said to questions."""

    run_lookup = "step__run__in"
    list_display = ("id", "step", "answer", "by", "reason", "asked_at", "at")
    list_select_related = ("step",)


@admin.register(Bulk)
class BulkHistory(History):
    """What people approved together."""

    run_lookup = ""
    list_display = ("id", "by", "at", "done_at")


@admin.register(Claim)
class ClaimHistory(History):
    """Who took care of what was handed over."""

    list_display = ("id", "run", "by", "at", "released_at", "resolved_at", "done")
    list_select_related = ("run",)


@admin.register(Note)
class NoteHistory(History):
    """What people noted on handovers."""

    list_display = ("id", "run", "by", "text", "at")
    list_select_related = ("run",)
