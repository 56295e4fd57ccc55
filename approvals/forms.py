"""The form of an answer: what the page asks for on top of what approvals.services checks."""

from typing import Any

from django import forms

from approvals.question_page import QuestionPage
from approvals.questions import why_not_undoable
from approvals.services import Reply
from runs.models import Step

MAX_TEXT = 2000
MISSING = {
    "answer": "Choose one of the answers.",
    "digest": "The form came without its digest; open the page again.",
    "nonce": "The form came without its nonce; open the page again.",
}


class AnswerForm(forms.Form):
    """An answer with the digest that was seen and a one-time nonce. Skipping and stopping take a reason."""

    answer = forms.CharField(max_length=20)
    digest = forms.CharField(max_length=64)
    nonce = forms.CharField(max_length=64)
    reason = forms.CharField(max_length=MAX_TEXT, required=False)
    reference = forms.CharField(max_length=MAX_TEXT, required=False)
    typed = forms.CharField(max_length=40, required=False)  # the run's name, to abandon its rollback

    def __init__(self, data: Any, page: QuestionPage, step: Step) -> None:
        super().__init__(data)
        self.page, self.step = page, step
        for name, words in MISSING.items():
            self.fields[name].error_messages["required"] = words

    def clean(self) -> dict[str, Any]:
        """What the chosen answer needs."""
        cleaned = super().clean() or {}
        answer = cleaned.get("answer", "")
        choice = next((item for item in self.page.choices if item.value == answer), None)
        if choice and choice.needs and not cleaned.get(choice.needs, "").strip():
            self.add_error(choice.needs, _missing(choice.label, choice.needs))
        if answer == "abandon" and cleaned.get("typed", "").strip() != self.page.run_name:
            self.add_error("typed", f"To abandon the rollback, type its run's name: {self.page.run_name}.")
        if answer == "happened" and self.result and (why := why_not_undoable(self.step, self.result)):
            self.add_error("reason", f"With this result the call could not be undone: {why}.")
        return cleaned

    @property
    def result(self) -> dict[str, Any] | None:
        """The fields of what happened, where the page asked for them; a dotted name is a field of a field."""
        made: dict[str, Any] = {}
        for path in self.page.result_fields:
            value = self.data.get(f"result.{path}", "").strip()
            if value:
                _put(made, path.split("."), value)
        return made or None

    def reply(self) -> Reply:
        """The answer as it was sent; approvals.services says what comes of it."""
        answer, digest, nonce, reason, reference = (
            str(self.data.get(name, "")) for name in ("answer", "digest", "nonce", "reason", "reference")
        )
        result = self.result if answer == "happened" else None
        return Reply(answer, digest, nonce, reason=reason, reference=reference, result=result)

    @property
    def first_error(self) -> str:
        """The first thing that is wrong, in words."""
        return next((str(messages[0]) for messages in self.errors.values()), "")


def _missing(label: str, needs: str) -> str:
    what = "where it was done: a reference is needed" if needs == "reference" else "why: a reason is needed"
    return f"{label}: say {what}."


def _put(target: dict[str, Any], path: list[str], value: str) -> None:
    for part in path[:-1]:
        target = target.setdefault(part, {})
    target[path[-1]] = value
