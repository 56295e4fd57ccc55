"""A database of many runs: a few are really carried out, and their rows are multiplied by the server.

Each copy has ids, a thread and keys of its own, and is a little older than the next one. Needs Django to be set up.
"""

import secrets
from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import User
from django.db import connection, models

from approvals import handovers
from approvals.models import Answer, Claim, Note
from approvals.services import Reply, answer
from runs import services
from runs.access import Actor, person
from runs.engine import advance
from runs.models import Attempt, Event, LedgerEntry, Message, Run, Step, Thread
from runs.states import PARKED, RUN_ENDS

SHOP = Actor("the shop", frozenset(), "agent")
STRIDE = 10_000  # between the ids of one copy and the next
DAYS = 60  # over which the runs are spread
OPEN = 400  # copies of what waits for somebody: a queue that is long, and not the whole database
# Of runs that ended, and of runs that wait: the agent, and the calls. Of eight that ended, five are done.
ENDED = (
    ("pages", ("ask_put", "put", "ask_put")),
    ("pages", ("put", "put", "put", "ask_put")),
    ("pages", ("ask_put",)),
    ("pages", ("put", "ask_put")),
    ("keeper", ("put", "put")),
    ("pages", ("put", "put", "never")),
    ("pages", ("never",)),
    ("keeper", ("put", "never")),
)
WAITING = (
    ("pages", ("put", "ask_put", "put")),
    ("pages", ("put", "lost")),
    ("pages", ("hook", "put", "never")),
    ("keeper", ("put", "never")),
)
TABLES: tuple[type[models.Model], ...] = (
    Thread,
    Run,
    LedgerEntry,
    Step,
    Attempt,
    Message,
    Event,
    Answer,
    Claim,
    Note,
)


def fill(count: int) -> None:
    """About so many runs."""
    who = person(User.objects.get(username="admin"))
    ended = [_carried_out(who, agent, calls, approves=9) for agent, calls in ENDED]
    handovers.claim(who, ended[-1])
    handovers.note(who, ended[-1], "Called back.")
    handovers.resolve(who, ended[-1], "Refunded by hand.")
    waiting = [_carried_out(who, agent, calls, approves="lost" in calls) for agent, calls in WAITING]
    copies = max(count // len(ENDED), 1)
    with connection.cursor() as cursor:
        # The rows that they refer to are made with them.
        cursor.execute("SET session_replication_role = replica")
        _multiply(cursor, ended, 1, copies)
        _multiply(cursor, waiting, max(copies - OPEN, 0) + 1, copies)  # copy 0 is what was carried out
        cursor.execute("SET session_replication_role = DEFAULT")
        cursor.execute("VACUUM ANALYZE")


def _carried_out(who: Actor, agent: str, calls: Sequence[str], *, approves: int) -> Run:
    """A run, as far as it goes; so many of its questions are answered."""
    thread = services.start_thread(SHOP, agent, "u")
    steps = [services.Proposal(tool, {"n": number}) for number, tool in enumerate(calls)]
    run = services.start(SHOP, thread, services.RunRequest(steps=steps, ticket="T", subject="4000"))
    for _ in range(50):
        Run.objects.filter(pk=run.pk).update(due_at=None)
        Step.objects.filter(run=run).update(due_at=None)
        advance(run.pk)
        run.refresh_from_db()
        step = Step.objects.filter(run=run, state__in=PARKED, answer="").first()
        if run.state in RUN_ENDS or (step and not approves):
            break
        if step:
            answer(who, step.pk, Reply("approve", step.digest, secrets.token_hex(16)))
            approves -= 1
    return run


def _multiply(cursor: Any, runs: Sequence[Run], first: int, last: int) -> None:
    """Copy all that belongs to these runs; `copy` counts from `first` to `last`, which is the newest."""
    ids = [run.pk for run in runs]
    age = f"({last} - copy) * interval '{DAYS * 86400 / last} s'"
    for model in TABLES:
        names = [field.column for field in model._meta.local_concrete_fields]
        values = [_value(field, age) for field in model._meta.local_concrete_fields]
        columns = ", ".join(f'"{name}"' for name in names)
        cursor.execute(
            f"INSERT INTO {model._meta.db_table} ({columns}) SELECT {', '.join(values)} "
            f"FROM {model._meta.db_table} AS old, generate_series({first}, {last}) AS copy WHERE {_of_runs(model)}",
            [ids],
        )


def _of_runs(model: type[models.Model]) -> str:
    """The rows of a table that belong to these runs."""
    if model is Thread:
        return "old.id IN (SELECT thread_id FROM runs_run WHERE id = ANY(%s))"
    if model is LedgerEntry:
        return "old.key IN (SELECT entry_id FROM runs_step WHERE run_id = ANY(%s))"
    if model in (Attempt, Answer):
        return "old.step_id IN (SELECT id FROM runs_step WHERE run_id = ANY(%s))"
    return "old.id = ANY(%s)" if model is Run else "old.run_id = ANY(%s)"


def _value(field: Any, age: str) -> str:
    """What a copy has in this column."""
    column = f'old."{field.column}"'
    named = {
        ("thread", "user"): f"{column} || '-' || copy %% 20000",
        ("run", "ticket"): "'T-' || copy",
        ("run", "subject"): "(4000 + copy)::text",
        ("answer", "nonce"): f"{column} || copy",
    }
    if found := named.get((field.model._meta.model_name, field.column)):
        return found
    target = field.related_model if field.is_relation else (field.model if field.primary_key else None)
    if target not in TABLES:
        return f"{column} - {age}" if isinstance(field, models.DateTimeField) else column
    match target._meta.pk:
        case models.UUIDField():
            return f"md5({column}::text || copy)::uuid"
        case models.CharField():
            return f"md5({column} || copy) || md5(copy || {column})"
    return f"{column} + copy::bigint * {STRIDE}"
