"""`Idempotency-Key`: the same request sent again is the same run.

The key's record is committed together with the run that it started, so neither can be without the other. A
lock that lasts as long as that transaction is how a second request knows that the first is in progress: a
process that dies leaves nothing behind that would have to expire.
"""

import hashlib
import re
from collections.abc import Callable
from typing import Any

from django.db import connection, transaction
from rest_framework.request import Request

from runs.api.auth import actor_of
from runs.digest import sha256
from runs.errors import BadInput, InProgress, KeyReused
from runs.models import IdempotencyRecord, Run

HEADER = "Idempotency-Key"
KEY = re.compile(r"[\x21-\x7e]{1,200}")


def once(request: Request, start: Callable[[], Run]) -> tuple[Run, bool]:
    """`start()`, or the run that an earlier request with this key started, and then True.

    A key belongs to its token. Raises BadInput, KeyReused (422), InProgress (409), and what `start` raises;
    then nothing is stored, and the key is free.
    """
    key = request.headers.get(HEADER)
    with transaction.atomic():
        if key is None:
            return start(), False
        if not KEY.fullmatch(key):
            raise BadInput(f"The {HEADER} is 1 to 200 visible ASCII characters.", parameter=HEADER)
        owner, body = f"token:{actor_of(request).token_id}", _digest(request)
        _lock(owner, key)
        found = IdempotencyRecord.objects.select_related("run").filter(owner=owner, key=key).first()
        if found is None:
            run = start()
            IdempotencyRecord.objects.create(owner=owner, key=key, body=body, run=run)
            return run, False
        if found.body != body or found.run is None:
            raise KeyReused(parameter=HEADER)
        return found.run, True


def _digest(request: Request) -> str:
    """Over the address and the body, so that a key names one request."""
    return sha256({"method": request.method, "path": request.path, "body": sha256(request.data)})


def _lock(owner: str, key: str) -> None:
    """Hold this key until the transaction ends. Raises InProgress where another request holds it."""
    digest = hashlib.sha256(f"{HEADER}\n{owner}\n{key}".encode()).digest()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [int.from_bytes(digest[:8], signed=True)])
        [held] = _row(cursor.fetchone())
    if not held:
        raise InProgress(parameter=HEADER)


def _row(found: tuple[Any, ...] | None) -> tuple[Any, ...]:
    assert found is not None
    return found
