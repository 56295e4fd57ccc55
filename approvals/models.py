"""The people's own rows: what they answered, what they did with the runs that were handed to them, and who is told."""

import uuid
from typing import ClassVar

import pgtrigger
from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from runs.fields import ListField, ObjectField
from runs.models import Run, Step


class Bulk(models.Model):
    """Calls that somebody approved together: each is an answer of its own, in a transaction of its own.

    `rows` is what was ticked, `refused` what was not recorded and why; whatever is in neither of `answers` and
    `refused` was not reached. The same nonce is the same bulk.
    """

    nonce = models.CharField(max_length=40, unique=True)
    rows = ListField()  # [{step, digest}], in the order of the list
    refused = ObjectField(default=dict, blank=True)  # the id of the step -> {type, detail}
    by = models.CharField(max_length=200)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True)
    at = models.DateTimeField(db_default=Now())
    done_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        triggers: ClassVar = [pgtrigger.Protect(name="bulk_stays", operation=pgtrigger.Delete)]

    def __str__(self) -> str:
        return f"{len(self.rows)} together by {self.by}"


class Answer(models.Model):
    """What a person said to a question, bound to the digest that they saw. The same nonce is the same answer."""

    step = models.ForeignKey(Step, models.PROTECT, related_name="answers")
    digest = models.CharField(max_length=64)
    nonce = models.CharField(max_length=64, unique=True)
    answer = models.CharField(max_length=20)
    reason = models.TextField(blank=True)
    data = models.JSONField(default=dict, blank=True)
    by = models.CharField(max_length=200)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True)
    asked_at = models.DateTimeField(null=True, blank=True)  # the step may be asked about again
    bulk = models.ForeignKey(Bulk, models.PROTECT, null=True, blank=True, related_name="answers")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints: ClassVar = [
            # A question is answered once: its digest changes each time it is asked.
            models.UniqueConstraint(fields=["step", "digest"], name="one_answer_per_question"),
        ]
        indexes: ClassVar = [models.Index(fields=["at"], include=["asked_at"], name="answers_by_time")]

    def __str__(self) -> str:
        return f"{self.answer} by {self.by}"


class Claim(models.Model):
    """Who takes care of a run that was handed over. Released or resolved, it stays in the record."""

    run = models.ForeignKey(Run, models.PROTECT, related_name="claims")
    by = models.CharField(max_length=200)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True)
    at = models.DateTimeField(db_default=Now())
    released_at = models.DateTimeField(null=True, blank=True)
    released_by = models.CharField(max_length=200, blank=True)
    resolved_at = models.DateTimeField(null=True, blank=True)
    done = models.TextField(blank=True)  # what was done, in the words of who did it

    class Meta:
        constraints: ClassVar = [
            # Two people claim at once: this decides. A resolved ticket keeps its claim, so nobody claims it again.
            models.UniqueConstraint(
                fields=["run"], condition=Q(released_at=None), name="one_claim_per_handover"
            ),
            models.CheckConstraint(
                condition=Q(released_at=None) | Q(resolved_at=None), name="claim_released_or_resolved"
            ),
            models.CheckConstraint(
                condition=Q(resolved_at=None) | ~Q(done=""), name="resolved_with_what_was_done"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["run"], condition=Q(released_at=None, resolved_at=None), name="claims_held")
        ]
        triggers: ClassVar = [pgtrigger.Protect(name="claim_stays", operation=pgtrigger.Delete)]

    def __str__(self) -> str:
        return f"{self.run_id} claimed by {self.by}"


class Note(models.Model):
    """What somebody wrote down beside a handover. Only ever appended."""

    run = models.ForeignKey(Run, models.PROTECT, related_name="notes")
    text = models.TextField()
    by = models.CharField(max_length=200)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering: ClassVar = ["id"]
        triggers: ClassVar = [
            pgtrigger.Protect(name="note_stays", operation=pgtrigger.Update | pgtrigger.Delete)
        ]

    def __str__(self) -> str:
        return f"{self.by}: {self.text[:60]}"


class Webhook(models.Model):
    """An address of another program that is told. Its secret is not here: it is made from the key of this installation,
    `uid` and `generation` (approvals/webhooks.py)."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    url = models.URLField(max_length=500, unique=True)
    kinds = ListField(default=list)  # of runs/notable.py
    agent = models.CharField(max_length=100, blank=True)  # of this agent alone
    generation = models.PositiveIntegerField(default=1)
    rotated_at = models.DateTimeField(null=True, blank=True)
    disabled_at = models.DateTimeField(null=True, blank=True)
    disabled_because = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(db_default=Now())
    created_by = models.CharField(max_length=200, blank=True)

    def __str__(self) -> str:
        return self.url


class MailChoice(models.Model):
    """Of what a person wants mail; without a row, of nothing."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="mail_choice")
    kinds = ListField(default=list, blank=True)  # of runs/notable.py
    only_mine = models.BooleanField(default=True)  # of questions: those that they may answer

    def __str__(self) -> str:
        return f"mail to {self.user_id}"


class Delivery(models.Model):
    """One message to one program, or one person. It is tried until it got there, or is given up.

    `message` is its id, the same at every try, so that who hears of it twice can tell.
    """

    message = models.CharField(max_length=50)
    kind = models.CharField(max_length=30)
    body = models.TextField()  # canonical JSON, without values that are not shown
    webhook = models.ForeignKey(Webhook, models.CASCADE, null=True, blank=True, related_name="deliveries")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, blank=True, related_name="+"
    )
    state = models.CharField(
        max_length=10, choices=[(s, s) for s in ("waiting", "sent", "dead")], default="waiting"
    )
    tries = models.PositiveIntegerField(default=0)
    due_at = models.DateTimeField(db_default=Now())
    tried_at = models.DateTimeField(null=True, blank=True)
    status = models.PositiveIntegerField(null=True, blank=True)  # of the last HTTP response
    error = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints: ClassVar = [
            # One event is one message to each, however often it is handed out.
            models.UniqueConstraint(fields=["webhook", "message"], name="one_message_to_a_webhook"),
            models.UniqueConstraint(fields=["user", "message"], name="one_message_to_a_person"),
            models.CheckConstraint(
                condition=Q(webhook=None, user__isnull=False) | Q(webhook__isnull=False, user=None),
                name="message_to_one",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["due_at"], condition=Q(state="waiting"), name="messages_due"),
            models.Index(fields=["webhook", "-id"], name="messages_of_a_webhook"),
        ]

    def __str__(self) -> str:
        return f"{self.message} ({self.state})"
