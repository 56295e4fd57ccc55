"""The people's own rows: what they answered."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from runs.models import Step


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
    at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints: ClassVar = [
            # A question is answered once: its digest changes each time it is asked.
            models.UniqueConstraint(fields=["step", "digest"], name="one_answer_per_question"),
        ]

    def __str__(self) -> str:
        return f"{self.answer} by {self.by}"
