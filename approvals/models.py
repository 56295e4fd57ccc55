"""The people's own rows: what they answered, and what they did with the runs that were handed to them."""

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
        indexes: ClassVar = [models.Index(fields=["at"], name="answers_by_time")]

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
