"""What an operator has workers do: pause, resume, drain. It is written down, and each worker hears of it at its beat.

pause    take no new run; what is in flight is finished, recorded and given back; the process stays
resume   take runs again
drain    as a pause, and then the process ends, with exit code 0
"""

from django.db import transaction
from django.db.models.functions import Now

from runs.access import Actor, may_operate
from runs.errors import BadInput, Conflict, NotFound
from runs.models import Worker, WorkerOrder
from runs.roster import KNOWN_FOR
from runs.services.refusals import require
from runs.workers import DRAINED, PAUSED

# what -> what it may be wanted to do before, and what it is wanted to do then
ORDERS = {"pause": ([""], PAUSED), "resume": ([PAUSED], ""), "drain": (["", PAUSED], DRAINED)}
MAX_REASON = 500


def order(actor: Actor, what: str, worker_id: int | None = None, reason: str = "") -> list[Worker]:
    """Have one worker do this, or all that were heard from within a day. Returns those that were meant.

    Who does so already is left as it is. Raises NotAllowed, BadInput, NotFound, Conflict (it has stopped, or is being
    drained, which nothing takes back).
    """
    require(may_operate(actor), "Only an operator may pause, resume or drain workers; ask one.")
    if what not in ORDERS:
        raise BadInput(f"A worker can be told: {', '.join(ORDERS)}.", field="/do")
    if len(reason) > MAX_REASON or "\x00" in reason:
        raise BadInput(f"The reason has at most {MAX_REASON} characters, without NUL.", field="/reason")
    before, wanted = ORDERS[what]
    with transaction.atomic():
        meant = _all() if worker_id is None else [_one(worker_id, what)]
        for worker in meant:
            if worker.wanted in before:
                _write(actor, worker, what, wanted, reason)
    return meant


def _all() -> list[Worker]:
    """Also one that is silent just now: it hears of it if it comes back."""
    known = Worker.objects.carrying().filter(seen_at__gt=Now() - KNOWN_FOR)
    return list(known.select_for_update().order_by("pk"))


def _one(worker_id: int, what: str) -> Worker:
    worker = Worker.objects.select_for_update().filter(pk=worker_id).first()
    if worker is None:
        raise NotFound("There is no such worker; the page Workers, or `stalwart workers`, lists them.")
    if worker.kind != "worker":
        raise Conflict(f"{worker.name} is a {worker.kind} process: only those that carry runs out are told.")
    if worker.stopped_at:
        raise Conflict(f"{worker.name} has stopped: there is nothing to {what}.")
    if worker.wanted == DRAINED and what != "drain":
        raise Conflict(f"{worker.name} is being drained, and ends: start another with `stalwart worker`.")
    return worker


def _write(actor: Actor, worker: Worker, what: str, wanted: str, reason: str) -> None:
    worker.wanted = wanted
    worker.save(update_fields=["wanted"])
    WorkerOrder.objects.create(
        worker=worker.name, what=what, by=actor.name, user_id=actor.user_id, reason=reason.strip()
    )
