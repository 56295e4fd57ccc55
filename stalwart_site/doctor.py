"""What is wrong with an installation, and what to do about it: the checks of `stalwart doctor`.

A finding is `ok`, `warn` (look at it) or `bad` (mend it: work is lost, held up, or open to others).
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from approvals.models import Delivery, Webhook
from runs import queue, roster, workers
from runs.agentfile import agents
from runs.demo import LOGINS, PASSWORD
from runs.errors import ModelNotReady, StalwartError
from runs.model_requests import refuse_unready
from runs.models import Notice, Step
from runs.states import StepState
from runs.transitions import clock

OK, WARN, BAD = "ok", "warn", "bad"
SLOW = timedelta(seconds=60)  # what should move and does not for so long is stuck
LOCAL_HOSTS = {"localhost", "127.0.0.1", "[::1]", "::1"}
INSECURE_KEY = "insecure-key-of-a-practice-machine"
NAMED = 5  # of many, so many are named


@dataclass(frozen=True)
class Finding:
    """`part` is what was looked at; `do` says what to do, '' where there is nothing to do."""

    state: str
    part: str
    text: str
    do: str = ""

    def __str__(self) -> str:
        return f"{self.state:<5} {self.part:<10} {self.text}{f': {self.do}' if self.do else ''}"


def examine_settings() -> list[Finding]:
    """What needs no database."""
    return [*_access(), *_times(), *_models(), *_agents()]


def examine_database(*, alone: bool = False) -> list[Finding]:
    """What the database is, and what is in it. Raises DatabaseError.

    `alone`: it was started for this look, so that nobody can be carrying runs out, and nobody need be.
    """
    found = [*_server()]
    if any(finding.state == BAD and finding.part == "tables" for finding in found):
        return found
    now = clock()
    work = (
        *_workers(now, alone),
        *_queue(now, alone),
        *_stuck(now),
        *_questions(now),
        *_messages(now, alone),
    )
    return [*found, *_logins(), *work]


# --- Settings -------------------------------------------------------------------------------------------
def _access() -> Iterator[Finding]:
    """Who may get in, and how."""
    others = sorted(set(settings.ALLOWED_HOSTS) - LOCAL_HOSTS)
    if "*" in others:
        yield Finding(BAD, "settings", "any host name is answered", "name yours in STALWART_HOSTS")
    if settings.FAULTS_ALLOWED:
        state = BAD if others else OK
        yield Finding(
            state,
            "settings",
            "this is a practice machine: faults are on, and so may be logins that everybody knows",
            f"set STALWART_FAULTS=0, since it is reached as {', '.join(others)}" if others else "",
        )
    if settings.DEBUG:
        yield Finding(
            BAD if others else WARN, "settings", "STALWART_DEBUG is on", "unset it: errors show code"
        )
    if settings.SECRET_KEY == INSECURE_KEY and not settings.FAULTS_ALLOWED:
        yield Finding(BAD, "settings", "there is no secret key of your own", "set STALWART_SECRET_KEY")
    elif len(settings.SECRET_KEY) < 32:
        yield Finding(
            WARN, "settings", "the secret key is short", "set STALWART_SECRET_KEY to 50 random characters"
        )
    if others and not settings.SESSION_COOKIE_SECURE:
        yield Finding(
            BAD, "settings", "people sign in without TLS", "end it in a proxy, and set STALWART_TLS=1"
        )


def _times() -> Iterator[Finding]:
    """The longest call against what waits for it."""
    try:
        longest = max(
            (_timeout(tool) for spec in agents().values() for tool in spec.catalogue.values()), default=0
        )
    except StalwartError:
        return  # said by `_agents`
    for name, limit, why in (
        ("STALWART_TASK_TIMEOUT_SECONDS", settings.TASK_TIMEOUT_SECONDS, "the queue kills such a call"),
        ("STALWART_DRAIN_SECONDS", settings.DRAIN_SECONDS, "a deploy kills such a call"),
    ):
        if longest >= limit:
            text = f"a call may take {longest:g} s, and {name} is {limit:g}"
            yield Finding(BAD, "settings", text, f"raise it: {why}")


def _models() -> Iterator[Finding]:
    """Whether the models that would be asked can be asked from here."""
    try:
        asking = [spec for spec in agents().values() if spec.on_unread == "ask_model"]
    except StalwartError:
        return  # said by `_agents`
    if asking and settings.MODEL_TIMEOUT_SECONDS >= settings.TASK_TIMEOUT_SECONDS:
        text = f"a request to a model may take {settings.MODEL_TIMEOUT_SECONDS:g} s"
        yield Finding(
            BAD, "settings", text, "raise STALWART_TASK_TIMEOUT_SECONDS: the queue kills such a request"
        )
    for spec in asking:
        try:
            refuse_unready(spec.file.agents[spec.name].model or "")
        except ModelNotReady as error:
            yield Finding(BAD, "agents", f"{spec.name}: {error}", "its turns that are not read are refused")


def _timeout(tool: Any) -> float:
    return float(tool.timeout or settings.CALL_TIMEOUT_SECONDS)


def _agents() -> Iterator[Finding]:
    try:
        names = sorted(agents())
    except StalwartError as error:
        yield Finding(BAD, "agents", " ".join(str(error).split()), "no run of this installation can go on")
        return
    state = OK if names else WARN
    yield Finding(
        state, "agents", ", ".join(names) or "there are none", "" if names else "set STALWART_AGENTS"
    )


# --- The database ---------------------------------------------------------------------------------------
def _server() -> Iterator[Finding]:
    began = time.perf_counter()
    version, fsync, commit, most, used = _row(
        "SELECT current_setting('server_version'), current_setting('fsync'), current_setting('synchronous_commit'),"
        " current_setting('max_connections')::int, (SELECT count(*) FROM pg_stat_activity)"
    )
    took = (time.perf_counter() - began) * 1000
    yield Finding(OK, "database", f"PostgreSQL {version.split(' ')[0]} answers in {took:.0f} ms")
    if "off" in (fsync, commit):
        which = "fsync" if fsync == "off" else "synchronous_commit"
        yield Finding(
            BAD, "database", f"{which} is off: an intent may be lost that a call has left for", "turn it on"
        )
    if used > 0.8 * most:
        yield Finding(WARN, "database", f"{used} of {most} connections are used", "raise max_connections")
    ahead = abs((timezone.now() - clock()).total_seconds())
    if ahead > 5:
        yield Finding(
            WARN, "database", f"its clock and this machine's are {ahead:.0f} s apart", "set both by NTP"
        )
    yield from _tables()


def _tables() -> Iterator[Finding]:
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        yield Finding(BAD, "tables", "they are not up to date", "run `stalwart migrate` once")
        return
    guarded, told, may_truncate = _row(
        "SELECT bool_or(tgname LIKE 'pgtrigger_append_only_%'), bool_or(tgname LIKE 'pgtrigger_notable_%'),"
        " has_table_privilege('runs_event', 'TRUNCATE')"
        " FROM pg_trigger WHERE tgrelid = 'runs_event'::regclass AND NOT tgisinternal AND tgenabled <> 'D'"
    )
    if not told:
        text = "nobody is told of anything: the trigger of the outbox is gone"
        yield Finding(BAD, "tables", text, "run `stalwart pgtrigger install`")
    if not guarded:
        yield Finding(
            BAD,
            "tables",
            "the record can be changed: its trigger is gone",
            "run `stalwart pgtrigger install`",
        )
    elif may_truncate and not settings.FAULTS_ALLOWED:
        do = "give the processes a role that does not own the tables"
        yield Finding(WARN, "tables", "this role may empty the record", do)
    else:
        yield Finding(OK, "tables", "up to date; the record can only be added to")


def _row(sql: str) -> tuple[Any, ...]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        found = cursor.fetchone()
    assert found is not None
    return tuple(found)


def _logins() -> Iterator[Finding]:
    """Outside practice nobody may sign in with the password that everybody knows."""
    if settings.FAULTS_ALLOWED:
        return
    demo = User.objects.filter(username__in=[login for login, _, _ in LOGINS], is_active=True)
    known = [user.username for user in demo.order_by("username") if user.check_password(PASSWORD)]
    if known:
        text = f"demo logins still have their password: {', '.join(known)}"
        yield Finding(BAD, "logins", text, "change it, or switch them off, in the admin")


# --- Work -----------------------------------------------------------------------------------------------
def _workers(now: datetime, alone: bool) -> Iterator[Finding]:
    known = [process for process in roster.processes(now) if process.worker.kind == "worker"]
    alive = [process for process in known if process.is_carrying]
    silent = [process for process in known if process.state in ("silent", "dead")]
    paused = [process for process in alive if process.worker.wanted]
    if not alive:
        state, do = (WARN if alone else BAD), "start `stalwart worker`, or `stalwart serve`"
        yield Finding(state, "workers", "none is alive", do)
    elif paused:
        do = "no run is taken: `stalwart workers resume`" if len(paused) == len(alive) else ""
        text = f"{len(paused)} of {len(alive)} paused or draining: {_some(paused, _told)}"
        yield Finding(WARN, "workers", text, do)
    else:
        yield Finding(OK, "workers", f"{len(alive)} alive: {_some(alive, lambda process: process.name)}")
    if silent:
        names = _some(silent, lambda process: f"{process.name} {_ago(now - process.worker.seen_at)} ago")
        yield Finding(
            WARN, "workers", f"ended without a word: {names}", "see their logs; `stalwart prune` forgets them"
        )


def _told(process: roster.Process) -> str:
    return f"{process.name} by {process.order.by}" if process.order else process.name


def _queue(now: datetime, alone: bool) -> Iterator[Finding]:
    waiting, oldest = queue.waiting_since()
    age = now - oldest if oldest else timedelta()
    text = f"{waiting} nudge(s) wait, the oldest for {_ago(age)}" if oldest else "no nudge waits"
    is_old = age > SLOW and not alone
    do = "resume the workers" if workers.all_paused() else "start more workers"
    yield Finding(BAD if is_old else OK, "queue", text, do if is_old else "")
    if failed := queue.failures(now - timedelta(days=1)):
        yield Finding(WARN, "queue", f"{failed} nudge(s) failed within a day", "the worker's log says why")


def _stuck(now: datetime) -> Iterator[Finding]:
    """Runs that could move and do not, and calls that never come back."""
    since = now - SLOW
    runs = roster.unheld_since().filter(idle_since__lt=since)
    calls = Step.objects.filter(state=StepState.SENT, doubt="", sent_at__lt=since).select_related("run")
    if runs:
        text = f"{len(runs)} run(s) could move, and nothing moves them: {_some(runs, lambda run: run.name)}"
        do = "resume the workers" if workers.all_paused() else "is a `stalwart sweep` running, and a worker?"
        yield Finding(BAD, "work", text, do)
    if calls:
        which = _some(calls, lambda step: f"{step.run.name} {step.tool}")
        text = f"{len(calls)} call(s) under way for over a minute: {which}"
        yield Finding(WARN, "work", text, "a dead worker's are looked up once its lease has run out")
    if not (runs or calls):
        yield Finding(OK, "work", "nothing is stuck")


def _questions(now: datetime) -> Iterator[Finding]:
    asked = Step.objects.asking().order_by("asked_at")
    unknown = asked.filter(state=StepState.UNKNOWN)
    escalated = asked.filter(escalated_at__isnull=False)
    forgotten = asked.filter(expires_at__lt=now - SLOW, escalated_at=None)
    for rows, what, do in (
        (unknown, "unknown outcome(s)", "`stalwart lookup`, or the console: Needs you"),
        (escalated, "question(s) that nobody answered in time", "answer them in the console: Needs you"),
        (forgotten, "question(s) past their time that have not escalated", "is a `stalwart sweep` running?"),
    ):
        first = rows.first()
        if first and first.asked_at:
            text = f"{rows.count()} {what}, the oldest asked {_ago(now - first.asked_at)} ago"
            yield Finding(WARN, "questions", text, do)
    if not unknown and not escalated and not forgotten:
        yield Finding(OK, "questions", f"{asked.count()} open, none past its time")


def _messages(now: datetime, alone: bool) -> Iterator[Finding]:
    """Who is to be told, and is not."""
    oldest = Notice.objects.order_by("pk").select_related("event").first()
    if oldest and now - oldest.event.at > SLOW and not alone:
        text = (
            f"{Notice.objects.count()} line(s) wait to be told, the oldest for {_ago(now - oldest.event.at)}"
        )
        yield Finding(WARN, "messages", text, "is a `stalwart sweep` running?")
    if dead := Delivery.objects.filter(state="dead", created_at__gt=now - timedelta(days=1)).count():
        text = f"{dead} message(s) were given up within a day"
        yield Finding(WARN, "messages", text, "the console says why: Settings, Webhooks")
    if gone := Webhook.objects.filter(disabled_at__isnull=False).order_by("pk"):
        text = f"disabled: {_some(gone, lambda webhook: webhook.url)}"
        yield Finding(WARN, "messages", text, "enable or remove it in the console: Settings, Webhooks")


def _some(rows: Any, name: Callable[[Any], str]) -> str:
    named = [name(row) for row in rows[:NAMED]]
    return ", ".join(named) + (f" and {len(rows) - NAMED} more" if len(rows) > NAMED else "")


def _ago(age: timedelta) -> str:
    seconds = max(int(age.total_seconds()), 0)
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"
