"""What people do with a question: answer it, once."""

import re
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction

from approvals.models import Answer, Bulk
from runs import services
from runs.access import Actor
from runs.errors import AlreadyAnswered, BadInput

HEX = re.compile(r"[0-9a-f]{64}")
NONCE = re.compile(r"[\x21-\x7e]{8,64}")


@dataclass(frozen=True)
class Reply:
    """What a person said. `digest` is the 64 hex digits they saw; `nonce` makes a repeat the same answer.

    `reason` is needed to abandon, `reference` for done by hand; `result` are the fields of what happened. `bulk` is
    what it was given together with.
    """

    answer: str
    digest: str
    nonce: str
    reason: str = ""
    reference: str = ""
    result: dict[str, Any] | None = None
    bulk: Bulk | None = None


def answer(actor: Actor, step_id: int, reply: Reply) -> Answer:
    """Store an answer and wake a worker, in one transaction. The same nonce again returns what was stored.

    Raises BadInput, NotFound, NotAllowed, DigestMismatch, AlreadyAnswered, Gone, NotSettledYet; then nothing
    is stored and nothing is sent.
    """
    _check(reply)
    stored = _stored(actor, step_id, reply)
    if stored:
        return stored
    data = {name: value for name in ("reason", "reference", "result") if (value := getattr(reply, name))}
    if reply.bulk:
        data["together"] = len(reply.bulk.rows)
    try:
        with transaction.atomic():
            step = services.resolve(actor, step_id, reply.answer, reply.digest, data)
            return Answer.objects.create(
                step_id=step_id,
                digest=reply.digest,
                nonce=reply.nonce,
                answer=reply.answer,
                reason=reply.reason,
                data=data,
                by=actor.name,
                user_id=actor.user_id,
                asked_at=step.asked_at,
                bulk=reply.bulk,
            )
    except (AlreadyAnswered, IntegrityError):
        stored = _stored(actor, step_id, reply)  # a double click: the first one has just been stored
        if stored:
            return stored
        raise


def _stored(actor: Actor, step_id: int, reply: Reply) -> Answer | None:
    found = Answer.objects.filter(nonce=reply.nonce).first()
    if found is None:
        return None
    if (found.step_id, found.digest, found.answer, found.user_id) != (
        step_id,
        reply.digest,
        reply.answer,
        actor.user_id,
    ):
        raise BadInput("This nonce was used for another answer; send a new one.", field="/nonce")
    return found


def _check(reply: Reply) -> None:
    if not HEX.fullmatch(reply.digest):
        raise BadInput("The digest is 64 hex digits, as the question shows it.", field="/digest")
    if not NONCE.fullmatch(reply.nonce):
        raise BadInput("The nonce is 8 to 64 visible characters, new for each answer.", field="/nonce")
    if reply.answer == "abandon" and not reply.reason.strip():
        raise BadInput("To abandon the rollback, say why.", field="/reason")
    if reply.answer == "done_by_hand" and not reply.reference.strip():
        raise BadInput("Say where it was undone: a reference is needed.", field="/reference")
    for name in ("reason", "reference"):
        value = getattr(reply, name)
        if "\x00" in value or len(value) > 2000:
            raise BadInput("At most 2,000 characters, without NUL.", field=f"/{name}")
