"""From the outbox to messages: who is told of a line of the record, and what they are told.

The outbox (runs.models.Notice) is written by the database with the line itself. Here each notice becomes one message to
each webhook and each person that asked for its kind, and is taken out of the outbox, in one transaction. A message says
what happened in a sentence and where to look; never an argument that its tool hides, and nothing that could answer.
"""

import logging
import uuid
from collections.abc import Iterator
from typing import Any

import rfc8785
from django.conf import settings
from django.db import transaction
from django.urls import reverse

from approvals.models import Delivery, MailChoice, Webhook
from approvals.needs_you import title_of
from runs.access import may_answer, may_see, person
from runs.models import Event, Notice, Step
from runs.notable import KIND_OF
from runs.states import RunState
from runs.views.looks import RUN_LOOKS

log = logging.getLogger(__name__)
BATCH = 100
ASKED = {"confirm": "Asked to confirm", "outcome": "Asked", "undo": "Stuck"}


def hand_out() -> int:
    """Make messages of what is in the outbox; returns how many notices there were.

    Two at the same time take different ones; one that dies in the middle leaves all as it was.
    """
    with transaction.atomic():
        notices = list(_oldest())
        if notices:
            hooks, choices = list(Webhook.objects.filter(disabled_at=None)), list(_choices())
            events = [_as_it_was(notice.event) for notice in notices]
            Delivery.objects.bulk_create(
                message for event in events for message in _messages(event, hooks, choices)
            )
            Notice.objects.filter(pk__in=[notice.pk for notice in notices]).delete()
    return len(notices)


def _oldest() -> "Iterator[Notice]":
    rows = Notice.objects.select_for_update(skip_locked=True, of=("self",)).order_by("pk")
    return rows.select_related("event__run__thread", "event__step__undoes", "event__step__run__thread")[
        :BATCH
    ].iterator()


def _as_it_was(event: Event) -> Event:
    """A question is told as it was asked, whatever its step has become since."""
    if event.step:
        event.step.asks = event.data.get("kind", event.step.asks)
        event.step.approver = event.data.get("approver", event.step.approver)
        event.step.not_by = event.data.get("not_by", event.step.not_by)
    return event


def _choices() -> Iterator[MailChoice]:
    """The people who want mail, where this installation sends any."""
    found = MailChoice.objects.filter(user__is_active=True).exclude(user__email="").select_related("user")
    return found.iterator() if settings.MAIL else iter(())


def _messages(event: Event, hooks: list[Webhook], choices: list[MailChoice]) -> Iterator[Delivery]:
    kind = KIND_OF[event.kind]
    told: list[dict[str, Any]] = [{"webhook": hook} for hook in hooks if _concerns(hook, kind, event)]
    told += [{"user": choice.user} for choice in choices if _wants(choice, kind, event)]
    if told:
        body = body_of(kind, event.at.isoformat(), _data(event, kind))
        yield from (Delivery(message=message_id(event), kind=kind, body=body, **to) for to in told)


def _concerns(hook: Webhook, kind: str, event: Event) -> bool:
    return kind in hook.kinds and hook.agent in ("", event.run.thread.agent)


def _wants(choice: MailChoice, kind: str, event: Event) -> bool:
    actor = person(choice.user)
    if kind not in choice.kinds or not may_see(actor):
        return False
    return not (choice.only_mine and event.step and kind.startswith("question.")) or may_answer(
        actor, event.step
    )


def message_id(event: Event) -> str:
    """The same for everybody who is told, and at every try; unlike that of any event of another database."""
    return f"msg_{uuid.uuid5(event.run.thread_id, str(event.pk)).hex}"


def body_of(kind: str, timestamp: str, data: dict[str, Any]) -> str:
    """A message as canonical JSON: {type, timestamp, data}."""
    return rfc8785.dumps({"type": kind, "timestamp": timestamp, "data": data}).decode()


def _data(event: Event, kind: str) -> dict[str, Any]:
    """What happened, and where to look. What has no text that can be read says so, and holds up no other."""
    run = event.run
    try:
        text = _text(event, kind)
    except Exception:  # what a tool says of its call may break in any way
        log.exception("A message about %s has no words of its own", run.name)
        text = f"{run.name}: {kind}"
    data = {
        "run": run.name,
        "version": run.version,
        "agent": run.thread.agent,
        "text": text,
        "url": settings.SITE_URL + _address(event, kind),
    }
    return data | (_of_question(event, event.step) if event.step else _of_run(event))


def _of_run(event: Event) -> dict[str, Any]:
    reason = event.data.get("reason")
    return ({"state": event.after} if event.after else {}) | ({"reason": str(reason)} if reason else {})


def _of_question(event: Event, step: Step) -> dict[str, Any]:
    """`kind` is confirm, outcome or undo; `for` the role that answers, or that it was escalated to."""
    to = event.data.get("to", step.approver)
    return {"step": step.number, "question": step.pk, "kind": step.asks, "for": to}


def _text(event: Event, kind: str) -> str:
    run, step = event.run, event.step
    if step is None:
        if kind == "handover.opened":
            return f"{run.name} was handed over: {str(event.data.get('reason')).replace('_', ' ')}"
        return f"{run.name} of {run.thread.user}: {RUN_LOOKS[RunState(event.after)].word}"
    if kind == "question.escalated":
        return f"Nobody answered in time, escalated to {event.data['to']}: {title_of(step)}"
    return f"{ASKED[step.asks]}: {title_of(step)}"


def _address(event: Event, kind: str) -> str:
    if event.step:
        return reverse("question", args=[event.step.pk])
    return reverse("handover" if kind == "handover.opened" else "run", args=[event.run_id])
