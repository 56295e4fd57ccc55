"""Webhooks: the addresses of other programs that are told what happens, and what proves that it was us.

A message is signed as Standard Webhooks has it (https://www.standardwebhooks.com): HMAC-SHA256 over
`<webhook-id>.<webhook-timestamp>.<body>`. The secret is not stored: it is made from the key of this installation, so
that a stolen database signs nothing. It is shown once, when the webhook is added and when it is rotated; for a day
after a rotation a message carries the signatures of both.
"""

import base64
import hashlib
import hmac
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils.crypto import salted_hmac

from approvals.models import Webhook
from runs.access import Actor
from runs.agentfile import agents
from runs.errors import BadInput, Conflict, NotFound
from runs.notable import KINDS

BOTH_FOR = timedelta(days=1)  # after a rotation
MOST_URL = 500


def add(actor: Actor, url: str, kinds: Sequence[str], agent: str = "") -> Webhook:
    """Tell this address of these kinds. Raises BadInput, Conflict where it is told already."""
    checked = {"url": valid_url(url), "kinds": valid_kinds(kinds), "agent": valid_agent(agent)}
    try:
        with transaction.atomic():
            return Webhook.objects.create(**checked, created_by=actor.name)
    except IntegrityError:
        raise Conflict("This address has a webhook already: change that one.") from None


def change(webhook: Webhook, kinds: Sequence[str], agent: str) -> None:
    """Tell it of other things from now on. Raises BadInput."""
    webhook.kinds, webhook.agent = valid_kinds(kinds), valid_agent(agent)
    webhook.save(update_fields=["kinds", "agent"])


def rotate(webhook: Webhook) -> str:
    """A new secret, which is returned. What the old one signs is sent beside it for a day."""
    Webhook.objects.filter(pk=webhook.pk).update(generation=F("generation") + 1, rotated_at=Now())
    webhook.refresh_from_db()
    return secret_of(webhook)


def disable(webhook: Webhook, because: str) -> None:
    """Send it nothing more; what waits is kept, and goes on where it is enabled again."""
    Webhook.objects.filter(pk=webhook.pk).update(disabled_at=Now(), disabled_because=because[:200])


def enable(webhook: Webhook) -> None:
    """Send to it again."""
    Webhook.objects.filter(pk=webhook.pk).update(disabled_at=None, disabled_because="")


def find(number: int) -> Webhook:
    """The webhook of this number. Raises NotFound."""
    found = Webhook.objects.filter(pk=number).first() if 0 < number < 2**63 else None
    if found is None:
        raise NotFound(f"There is no webhook {number}.")
    return found


# --- What may be told, and where to -------------------------------------------------------------------
def valid_url(url: str) -> str:
    """An address that messages may leave for. Raises BadInput."""
    try:
        parts = urlsplit(url.strip())
        well_formed = (
            parts.hostname and parts.port != 0 and url.strip().isprintable() and " " not in url.strip()
        )
    except ValueError:
        well_formed = False
    schemes = ("https", "http") if settings.WEBHOOKS_PLAIN else ("https",)
    if not well_formed or parts.scheme not in schemes or len(url) > MOST_URL:
        raise BadInput(f"An address that begins with {schemes[0]}:// is needed.", field="/url")
    if parts.username or parts.password or parts.fragment:
        raise BadInput("Leave user, password and fragment out: messages are signed.", field="/url")
    return url.strip()


def valid_kinds(kinds: Sequence[str]) -> list[str]:
    """In the order in which they are offered. Raises BadInput."""
    if unknown := sorted(set(kinds) - set(KINDS)):
        raise BadInput(f"There is no kind {unknown[0]}; there are: {', '.join(KINDS)}.", field="/kinds")
    if not kinds:
        raise BadInput(f"Say of what it is told: {', '.join(KINDS)}.", field="/kinds")
    return [kind for kind in KINDS if kind in kinds]


def valid_agent(agent: str) -> str:
    """'' for all of them. Raises BadInput."""
    if agent and agent not in agents():
        raise BadInput(
            f"There is no agent {agent}; there are: {', '.join(sorted(agents()))}.", field="/agent"
        )
    return agent


# --- What proves that it was us -----------------------------------------------------------------------
def secret_of(webhook: Webhook) -> str:
    """`whsec_` and 32 bytes in base64: what its owner keeps, to check signatures with."""
    return f"whsec_{base64.b64encode(_key(webhook, webhook.generation)).decode()}"


def _key(webhook: Webhook, generation: int) -> bytes:
    return salted_hmac("stalwart.webhook", f"{webhook.uid}.{generation}", algorithm="sha256").digest()


def headers(webhook: Webhook, message: str, at: datetime, body: str) -> dict[str, str]:
    """The headers of one sending at this time."""
    stamp = str(int(at.timestamp()))
    generations = [webhook.generation]
    if webhook.rotated_at and at < webhook.rotated_at + BOTH_FOR:
        generations.append(webhook.generation - 1)
    signatures = (signature(_key(webhook, number), message, stamp, body) for number in generations)
    return {
        "content-type": "application/json",
        "webhook-id": message,
        "webhook-timestamp": stamp,
        "webhook-signature": " ".join(signatures),
    }


def signature(key: bytes, message: str, stamp: str, body: str) -> str:
    """`v1,` and the base64 of HMAC-SHA256 over id, time and body."""
    made = hmac.new(key, f"{message}.{stamp}.{body}".encode(), hashlib.sha256)
    return f"v1,{base64.b64encode(made.digest()).decode()}"


def as_json(webhook: Webhook) -> dict[str, Any]:
    """A webhook without its secret."""
    times = {"created_at": webhook.created_at, "disabled_at": webhook.disabled_at}
    return {
        "id": webhook.pk,
        "url": webhook.url,
        "kinds": webhook.kinds,
        "agent": webhook.agent or None,
        "disabled_because": webhook.disabled_because or None,
        **{name: moment.isoformat() if moment else None for name, moment in times.items()},
    }
