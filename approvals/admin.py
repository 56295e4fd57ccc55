"""Django admin: what people answered, claimed and noted, for reading."""

from typing import Any, ClassVar

from django.contrib import admin
from django.db import models

from approvals.models import Answer, Bulk, Claim, Delivery, MailChoice, Note, Webhook
from runs.admin import History


@admin.register(Answer)
class AnswerHistory(History):
    """What people said to questions."""

    run_lookup = "step__run__in"
    list_display = ("id", "step", "answer", "by", "reason", "asked_at", "at")
    list_select_related = ("step",)
    exclude = ("data",)  # of what happened: values that its tool may hide


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


@admin.register(Webhook)
class WebhookHistory(History):
    """Which programs are told; the page Webhooks of the settings changes them."""

    run_lookup = ""
    formfield_overrides: ClassVar[dict[Any, Any]] = {
        models.URLField: {"assume_scheme": "https"}
    }  # as Django 6 will
    list_display = ("id", "url", "agent", "created_by", "created_at", "disabled_at", "disabled_because")


@admin.register(MailChoice)
class MailChoiceHistory(History):
    """Who wants mail; everybody chooses for themselves."""

    run_lookup = ""
    list_display = ("id", "user", "kinds", "only_mine")
    list_select_related = ("user",)


@admin.register(Delivery)
class DeliveryHistory(History):
    """What was sent to whom, or is to be."""

    run_lookup = ""
    list_display = ("id", "message", "kind", "webhook", "user", "state", "tries", "status", "due_at")
    list_select_related = ("webhook", "user")
