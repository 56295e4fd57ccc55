"""Messages leave: each is tried until it got there, at least once, under one id, or is given up and shown.

1. A try is claimed by a guarded UPDATE, which counts it, and has it due again a minute later: whoever dies then
   leaves it to be tried again.
2. It is sent outside any transaction.
3. What came of it is written down. A message that failed waits, longer each time, and so does all else for the same
   receiver: one that is down costs one try at a time, and keeps nobody else waiting for long.

A webhook that answers 410 wants no more, and is disabled (Standard Webhooks).
"""

import json
import logging
import threading
import uuid
from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import close_old_connections
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now
from django.urls import reverse

from approvals import posting, webhooks
from approvals.models import Delivery, Webhook
from approvals.notices import body_of, hand_out
from runs import outcomes
from runs.errors import Conflict
from runs.notable import KINDS
from runs.transitions import clock

log = logging.getLogger(__name__)
LONGEST = timedelta(hours=6)  # between two tries
ROUND = 50  # messages


@dataclass(frozen=True)
class Came:
    """What came of a try: the status of an HTTP response, or the error; both empty where mail was taken."""

    status: int | None = None
    error: str = ""

    @property
    def well(self) -> bool:
        """It got there."""
        return not self.error and (self.status is None or HTTPStatus(200) <= self.status < 300)


def deliver_due() -> int:
    """Try what is due, each receiver's oldest first; returns how many got there."""
    sent = 0
    for pk in list(_due().order_by("due_at", "pk").values_list("pk", flat=True)[:ROUND]):
        sent += deliver(pk)
    return sent


def _due() -> "QuerySet[Delivery]":
    usable = Q(webhook=None) | Q(webhook__disabled_at=None)
    return Delivery.objects.filter(usable, state="waiting", due_at__lte=Now())


def deliver(pk: int) -> bool:
    """Try one message, if it is due and nobody else is at it; whether it got there."""
    until = Now() + timedelta(seconds=settings.DELIVERY_CLAIM_SECONDS)
    claimed = {"due_at": until, "tried_at": Now(), "tries": F("tries") + 1}
    if not _due().filter(pk=pk).exists():
        return False  # what was tried before it may have disabled its webhook
    # By the columns of its own row alone: of two at the same time, the second one looks at them again.
    if not Delivery.objects.filter(pk=pk, state="waiting", due_at__lte=Now()).update(**claimed):
        return False
    message = Delivery.objects.select_related("webhook", "user").get(pk=pk)
    came = _try(message)
    _write_down(message, came)
    return came.well


def _try(message: Delivery) -> Came:
    """Send it. Whatever goes wrong is a try that failed."""
    try:
        return _post(message) if message.webhook else _mail(message)
    except Exception as error:  # noqa: BLE001 (a receiver, or a mail server, may break in any way)
        return Came(error=f"{type(error).__name__}: {error}"[:300])


def _post(message: Delivery) -> Came:
    webhook, at = message.webhook, message.tried_at
    assert webhook is not None and at is not None
    url = webhooks.valid_url(webhook.url)  # the installation may have become stricter
    return Came(posting.post(url, message.body, webhooks.headers(webhook, message.message, at, message.body)))


def _mail(message: Delivery) -> Came:
    """A link, and nothing that answers: what scans mail follows every link in it."""
    assert message.user is not None
    if not (settings.MAIL and message.user.email):
        return Came(error="There is nowhere to send it: no mail server, or no address.")
    data = json.loads(message.body)["data"]
    host = settings.SITE_URL.rpartition("//")[2].partition(":")[0]
    mail = EmailMessage(
        subject=" ".join(f"[{data['run']}] {data['text']}".split())[:200],
        body=f"{data['text']}\n\n{data['url']}\n\nYou asked to be told when {KINDS[message.kind]}: "
        f"{settings.SITE_URL}/settings/\n",
        to=[message.user.email],
        headers={"Message-ID": f"<{message.message}@{host}>", "Auto-Submitted": "auto-generated"},
    )
    mail.send()
    return Came()


def _write_down(message: Delivery, came: Came) -> None:
    """What came of it. Of two tries at the same time the one that got there counts."""
    mine = Delivery.objects.filter(pk=message.pk, state="waiting")
    if came.well:
        mine.update(state="sent", status=came.status, error="")
        return
    said: dict[str, Any] = {"status": came.status, "error": came.error or f"answered {came.status}"}
    if came.status == HTTPStatus.GONE and message.webhook:
        webhooks.disable(message.webhook, "It answered 410: it wants no more messages.")
    if message.tries >= settings.DELIVERY_TRIES or came.status == HTTPStatus.GONE:
        mine.filter(tries=message.tries).update(state="dead", **said)
        return
    first = timedelta(seconds=settings.DELIVERY_RETRY_SECONDS)
    due = Now() + outcomes.back_off(message.tries, first, LONGEST)
    mine.filter(tries=message.tries).update(due_at=due, **said)
    same = Q(webhook=message.webhook) if message.webhook else Q(user=message.user)
    Delivery.objects.filter(same, state="waiting", due_at__lt=due).update(due_at=due)


def send_test(webhook: Webhook) -> Delivery:
    """Send a message that says nothing, now; what came of it is in its row. Raises Conflict where it is disabled."""
    if webhook.disabled_at:
        raise Conflict("It is disabled: enable it first.")
    data = {"text": "A test message: nothing happened.", "url": f"{settings.SITE_URL}{reverse('webhooks')}"}
    body = body_of("test", clock().isoformat(), data)
    made = Delivery.objects.create(message=f"msg_{uuid.uuid4().hex}", kind="test", body=body, webhook=webhook)
    deliver(made.pk)
    made.refresh_from_db()
    return made


def deliver_forever(stop: threading.Event) -> None:
    """Hand out and deliver every STALWART_SWEEP_SECONDS until told to stop. Whatever goes wrong is tried again."""
    while not stop.is_set():
        try:
            if hand_out() + deliver_due():
                continue  # there may be more
        except Exception:  # beside the sweep, which must go on
            log.exception("Messages could not be delivered, and are tried again")
            close_old_connections()
        stop.wait(settings.SWEEP_SECONDS)
