"""API tokens: 32 random bytes, shown once. Only their SHA-256 is kept, so a stolen database opens nothing.

A token is random and long, so a plain hash is enough: there is nothing to guess.
"""

import hashlib
import re
import secrets
from datetime import timedelta

from django.contrib.auth.models import User
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from runs.models import Token

PREFIX = "stw_"  # so that people and secret scanners recognise one
SHAPE = re.compile(PREFIX + r"[A-Za-z0-9_-]{43}")
USE_IS_NOTED_EVERY = timedelta(minutes=1)


def make(name: str, scope: str, *, agent: str = "", user: User | None = None) -> tuple[Token, str]:
    """A new token: its row, and the text that its holder sends; the text is nowhere else."""
    text = PREFIX + secrets.token_urlsafe(32)
    return Token.objects.create(name=name, hash=hash_of(text), scope=scope, agent=agent, user=user), text


def hash_of(text: str) -> str:
    """64 hex digits, as they are stored."""
    return hashlib.sha256(text.encode()).hexdigest()


def verify(text: str) -> Token | None:
    """The token of this text; None where it is unknown or revoked, or its person may no longer sign in."""
    if not SHAPE.fullmatch(text):
        return None
    token = Token.objects.select_related("user").filter(hash=hash_of(text), revoked_at=None).first()
    if token is None or (token.user is not None and not token.user.is_active):
        return None
    _note_use(token)
    return token


def revoke(token: Token) -> bool:
    """End a token now. False where it was revoked before."""
    return Token.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=Now()) == 1


def _note_use(token: Token) -> None:
    """At most one write a minute, by the database's clock; ours only says when to try."""
    if token.last_used_at and timezone.now() - token.last_used_at < USE_IS_NOTED_EVERY:
        return
    stale = Q(last_used_at=None) | Q(last_used_at__lt=Now() - USE_IS_NOTED_EVERY)
    Token.objects.filter(stale, pk=token.pk).update(last_used_at=Now())
