"""The tables. What must not be is refused here, by the schema: one entry per key, one undo per write,
one open run per thread, and events that are only ever appended.

States are written by runs/transitions.py alone. A foreign key that is the first column of another index has none
of its own: each index costs every step.
"""

import uuid
from collections.abc import Iterable
from typing import ClassVar

import pgtrigger
from django.conf import settings
from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from runs.fields import ListField, ObjectField
from runs.notable import KIND_OF
from runs.states import PARKED, RUN_BACKWARD, RUN_ENDS, RUN_FORWARD, EntryState, RunState, StepState


def _choices(states: type[RunState] | type[StepState] | type[EntryState]) -> list[tuple[str, str]]:
    return [(state.value, state.value.replace("_", " ")) for state in states]


def _values(states: Iterable[RunState | StepState | EntryState]) -> list[str]:
    """Plain text, so that a migration stands by itself."""
    return sorted(state.value for state in states)


class Thread(models.Model):
    """A conversation of one user with one agent. Its id is part of every key, so it is random."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    agent = models.CharField(max_length=100)
    user = models.CharField(max_length=200)
    next_step = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["agent", "user", "-created_at"], name="thread_of_agent"),
            models.Index(fields=["user"], name="thread_of_user"),
            models.Index(fields=["-created_at"], name="thread_newest_first"),
        ]

    def __str__(self) -> str:
        return f"{self.user} with {self.agent}"


class RunQuerySet(models.QuerySet["Run"]):
    """Runs, in the words of the field."""

    def alive(self) -> "RunQuerySet":
        """Those that have not ended."""
        return self.exclude(state__in=RUN_ENDS)

    def unheld(self) -> "RunQuerySet":
        """Those that no live worker holds, by the database's clock."""
        return self.filter(Q(lease_expires_at=None) | Q(lease_expires_at__lt=Now()))

    def held(self) -> "RunQuerySet":
        """Those that somebody carries out, or did when it died: a run that is held is moving."""
        return self.filter(state__in=[RunState.RUNNING, RunState.ROLLING_BACK]).exclude(lease_owner="")

    def with_work(self) -> "RunQuerySet":
        """Those that a worker could move now: its turn, a lookup that is due, a late outcome, or what people said."""
        steps = Step.objects.filter(run=models.OuterRef("pk"))
        told = steps.filter(~Q(answer="") | Q(look_asked_at__isnull=False), waits=True, state__in=PARKED)
        proposed = steps.filter(state=StepState.PROPOSED)
        due = Q(due_at__lte=Now())
        free = due | Q(due_at=None)
        machine = Q(state__in=[RunState.READY, RunState.RUNNING, RunState.ROLLING_BACK]) & free
        wanted = Q(state=RunState.WAITING, cancel_requested_at__isnull=False) & ~Q(cancel_seen=True)
        opened = Q(state=RunState.OPEN) & (
            models.Exists(proposed) | Q(closed_at__isnull=False) | Q(cancel_requested_at__isnull=False)
        )
        undo = Q(state__in=RUN_ENDS, undo_requested_at__isnull=False)
        asked = Q(state__in=[RunState.WAITING, *RUN_BACKWARD]) & models.Exists(told)
        parked = Q(state__in=[RunState.WAITING, RunState.STUCK]) & due
        not_held_up = free | Q(failures=0)
        return self.unheld().filter(
            not_held_up, machine | wanted | opened | undo | asked | parked | Q(late=True)
        )


class Run(models.Model):
    """What one turn, or one API request, started."""

    thread = models.ForeignKey(Thread, models.PROTECT, related_name="runs")
    state = models.CharField(max_length=20, choices=_choices(RunState), default=RunState.READY.value)
    version = models.PositiveBigIntegerField(default=0)  # rises with every commit of the engine
    task = models.CharField(max_length=100, blank=True)
    ticket = models.CharField(max_length=100, blank=True)
    subject = models.CharField(max_length=100, blank=True)
    # The agent's policy, as it was when the run started.
    mode = models.CharField(max_length=10, default="atomic")
    rollback = models.CharField(max_length=20, default="ordered")
    keys = models.CharField(max_length=10, default="step")
    confirm = models.CharField(max_length=10, default="step")
    faults = ObjectField(default=dict, blank=True)  # practice: {tool: fault}
    started_by = models.CharField(max_length=200, blank=True)
    opened = models.BooleanField(default=False)  # its agent proposes the calls one at a time
    closed_at = models.DateTimeField(null=True, blank=True)
    unread = ListField(default=list, blank=True)  # the parts of its turn that the selector did not read
    # provider:model; it proposes the calls, and the engine asks it (runs/deciding.py). What that took, in all:
    model = models.CharField(max_length=200, blank=True)
    requests = models.PositiveIntegerField(default=0)  # sent, answered or not
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    # In US dollars; of the requests whose price is known: `unpriced` are not.
    cost = models.DecimalField(max_digits=16, decimal_places=8, default=0)
    unpriced = models.PositiveIntegerField(default=0)
    words = models.TextField(blank=True)  # with which the model ended
    stop = models.JSONField(null=True, blank=True)  # why it stopped: {kind, step, tool, cause, by, detail}
    due_at = models.DateTimeField(null=True, blank=True)
    nudged_at = models.DateTimeField(null=True, blank=True)
    nudges = models.PositiveIntegerField(default=0)  # of the sweep, since somebody took it last
    failures = models.PositiveIntegerField(default=0)  # tries in a row that got nowhere (runs/mishaps.py)
    trouble = models.CharField(max_length=500, blank=True)  # why, in words; '' where it gets on
    lease_owner = models.CharField(max_length=120, blank=True)
    lease_expires_at = models.DateTimeField(null=True, blank=True)
    lease_epoch = models.PositiveBigIntegerField(default=0)
    claimed_at = models.DateTimeField(null=True, blank=True)  # by its last owner
    cancel_requested_at = models.DateTimeField(null=True, blank=True)
    cancel_requested_by = models.CharField(max_length=200, blank=True)
    cancel_reason = models.TextField(blank=True)
    cancel_seen = models.BooleanField(default=False)  # the engine has read the cancel and waits for a person
    undo_requested_at = models.DateTimeField(null=True, blank=True)
    undo_requested_by = models.CharField(max_length=200, blank=True)
    rewound_at = models.DateTimeField(null=True, blank=True)
    deadline_at = models.DateTimeField(null=True, blank=True)  # past it, never resumed unattended
    gave_up = models.BooleanField(default=False)  # it died, and its task's recovery says undo and hand over
    # How its worker died, until its agent's `reconcile` function has been heard: deploy | killed | lost_lease.
    died = models.CharField(max_length=20, blank=True)
    late = models.BooleanField(default=False)  # a late outcome waits to be read
    handover_reason = models.CharField(max_length=50, blank=True)
    handover_at = models.DateTimeField(null=True, blank=True)
    # Somebody has its handover, or resolved it: the people's side says.
    taken = models.BooleanField(default=False)
    created_at = models.DateTimeField(db_default=Now())
    ended_at = models.DateTimeField(null=True, blank=True)

    objects = RunQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(state__in=_values(RunState)), name="run_state_known"),
            models.UniqueConstraint(
                fields=["thread"], condition=Q(state__in=_values(RUN_FORWARD)), name="one_open_run_per_thread"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["-created_at"], include=["state"], name="run_newest_first"),
            models.Index(
                fields=["due_at"],
                condition=Q(state__in=_values(RUN_FORWARD | RUN_BACKWARD)),
                name="run_alive",
            ),
            models.Index(fields=["ticket"], condition=~Q(ticket=""), name="run_of_ticket"),
            models.Index(fields=["subject"], condition=~Q(subject=""), name="run_of_subject"),
            models.Index(fields=["state", "-id"], name="run_by_state"),
            models.Index(fields=["handover_at"], condition=Q(handover_at__isnull=False), name="handed_over"),
            models.Index(
                fields=["handover_at"],
                condition=Q(handover_at__isnull=False, taken=False),
                name="open_handovers",
            ),
            # With `run_alive`, all that `with_work` may find: the sweep asks for it in each pass.
            models.Index(
                fields=["id"],
                condition=Q(late=True) | Q(undo_requested_at__isnull=False),
                name="run_called_back",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """The id that people say: R-1042."""
        return f"R-{self.pk}"


class LedgerEntry(models.Model):
    """One named change, and what is known of it. One per key, for ever."""

    key = models.CharField(max_length=64, primary_key=True)
    tool = models.CharField(max_length=100)
    args = models.JSONField()
    fingerprint = models.CharField(max_length=64)
    state = models.CharField(max_length=20, choices=_choices(EntryState), default=EntryState.INTENDED.value)
    result = models.JSONField(null=True, blank=True)
    calls = models.PositiveIntegerField(default=0)
    first_sent_at = models.DateTimeField(null=True, blank=True)
    last_sent_at = models.DateTimeField(null=True, blank=True)
    settled_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name_plural = "ledger entries"
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(state__in=_values(EntryState)), name="entry_state_known"),
        ]

    def __str__(self) -> str:
        return f"{self.tool} {self.key[:12]}"


class StepQuerySet(models.QuerySet["Step"]):
    """Steps, in the words of the field."""

    def asking(self) -> "StepQuerySet":
        """The open questions: parked, and not answered."""
        return self.filter(waits=True, answer="", state__in=PARKED)

    def expired(self) -> "StepQuerySet":
        """Open questions that nobody answered in time, and that have not escalated yet; by the database's clock."""
        return self.asking().filter(expires_at__lte=Now(), escalated_at=None)


class Step(models.Model):
    """One tool call of a run; an undo is a step too, and names the step it undoes.

    A parked step (needs_approval, unknown, undo_stuck) is the question: its kind, warnings, who may answer
    and its digest were computed when it was parked. The answer is written here by a guarded update.
    """

    run = models.ForeignKey(Run, models.PROTECT, related_name="steps", db_index=False)
    thread = models.ForeignKey(Thread, models.PROTECT, related_name="steps", db_index=False)
    number = models.PositiveIntegerField()  # within the thread
    tool = models.CharField(max_length=100)  # '' while its model is deciding
    args = ObjectField()
    text = models.TextField(blank=True)  # the part of the turn that it came from
    # Of a program's step (runs/saga.py), what it named with it: {undo: {tool: {argument: value}}, lookup, tries}.
    named = models.JSONField(null=True, blank=True)
    undoes = models.OneToOneField("self", models.PROTECT, null=True, blank=True, related_name="undo")
    entry = models.ForeignKey(
        LedgerEntry, models.PROTECT, null=True, blank=True, related_name="steps", db_index=False
    )
    state = models.CharField(max_length=20, choices=_choices(StepState), default=StepState.PROPOSED.value)
    calls = models.PositiveIntegerField(default=0)
    budget = models.PositiveIntegerField(default=3)  # calls in all; a person's "send again" adds one
    doubt = models.CharField(max_length=20, blank=True)  # sticky: no_answer | interrupted | unproven
    said = models.CharField(max_length=20, blank=True)  # what a lookup said since the last sending
    lookups = models.PositiveSmallIntegerField(default=0)
    look_asked_at = models.DateTimeField(null=True, blank=True)  # a person wants it looked up now
    sent_at = models.DateTimeField(null=True, blank=True)
    settles_at = models.DateTimeField(null=True, blank=True)  # from then on it can no longer be on the wire
    resend_until = models.DateTimeField(null=True, blank=True)  # the service forgets the key then
    closes_at = models.DateTimeField(null=True, blank=True)  # as a tool said: nothing undoes it from then on
    due_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    replayed = models.BooleanField(default=False)
    reason = models.CharField(max_length=20, blank=True)  # of a failure: raised | refused
    error_class = models.CharField(max_length=100, blank=True)
    error = models.TextField(blank=True)
    note = models.TextField(blank=True)  # why it cannot be undone
    # The question.
    asks = models.CharField(max_length=10, blank=True)  # confirm | outcome | undo
    asked = models.PositiveIntegerField(default=0)  # how many times
    asked_at = models.DateTimeField(null=True, blank=True)
    # It is a question, until the engine has moved it on: so the index of the open ones holds no other step.
    waits = models.BooleanField(default=False)
    expires_at = models.DateTimeField(null=True, blank=True)  # of an open question; time never answers it
    escalated_at = models.DateTimeField(null=True, blank=True)
    escalated_to = models.CharField(max_length=50, blank=True)  # outside the digest (runs/escalating.py)
    approver = models.CharField(max_length=50, blank=True)
    not_by = ListField(default=list, blank=True)  # four eyes: the names of those who may not answer
    # Of whom the approval of the call was asked: {approver, not_by}. It stays when the step asks something else.
    consent = ObjectField(default=dict, blank=True)
    warnings = ListField(default=list, blank=True)
    marks = ListField(default=list, blank=True)  # of its arguments: which others wrote (runs/marks.py)
    covers = ListField(default=list, blank=True)  # with `confirm: plan`: the later steps it asks about too
    question = models.TextField(blank=True)
    digest = models.CharField(max_length=64, blank=True)
    fingerprint = models.CharField(max_length=64, blank=True)  # of the tool, when it was shown for approval
    # The answer, as it was given; the row in approvals says the rest.
    answer = models.CharField(max_length=20, blank=True)
    answered_by = models.CharField(max_length=200, blank=True)
    answer_data = ObjectField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    objects = StepQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["thread", "number"], name="one_step_per_number"),
            models.CheckConstraint(condition=Q(state__in=_values(StepState)), name="step_state_known"),
            models.CheckConstraint(condition=~Q(undoes=F("id")), name="step_does_not_undo_itself"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["run", "number"], name="steps_of_run"),
            # None holds the state, which every write changes, not even as an INCLUDE: a row that no index must follow
            # is updated in place.
            models.Index(fields=["asked_at"], condition=Q(waits=True), name="open_questions"),
            models.Index(
                fields=["expires_at"],
                condition=Q(expires_at__isnull=False, escalated_at=None),
                name="questions_by_expiry",
            ),
            # Undos are few beside the writes.
            models.Index(fields=["tool", "-id"], condition=Q(undoes__isnull=False), name="undos_of_tool"),
            models.Index(fields=["created_at"], condition=Q(undoes__isnull=False), name="undos_by_time"),
            # For caps per day. Steps are sent about in the order of their rows, and a BRIN costs a step nothing.
            BrinIndex(fields=["sent_at"], autosummarize=True, name="sent_on_a_day"),
        ]

    def __str__(self) -> str:
        return f"{self.tool} (step {self.number})"


class Attempt(models.Model):
    """One sending of a ledger entry. `verdict` is '' while it is under way."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    entry = models.ForeignKey(LedgerEntry, models.PROTECT, related_name="attempts", db_index=False)
    step = models.ForeignKey(Step, models.PROTECT, related_name="attempts", db_index=False)
    number = models.PositiveIntegerField()
    epoch = models.PositiveBigIntegerField()
    worker = models.CharField(max_length=120)
    sent_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    verdict = models.CharField(max_length=20, blank=True)
    error_class = models.CharField(max_length=100, blank=True)
    error = models.TextField(blank=True)
    late = models.BooleanField(default=False)  # written down after the lease was lost
    result = models.JSONField(null=True, blank=True)  # of a late one, until the engine has read it
    absorbed = models.BooleanField(default=False)  # the engine has read the late outcome

    class Meta:
        ordering: ClassVar = ["step", "number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["step", "number"], name="one_attempt_per_number"),
        ]
        indexes: ClassVar = [models.Index(fields=["entry"], name="attempts_of_entry")]

    def __str__(self) -> str:
        return f"attempt {self.number} of {self.step_id}"


class Message(models.Model):
    """What was said in a thread. `rewound_at` takes it out of the model's memory, never out of the record."""

    thread = models.ForeignKey(Thread, models.PROTECT, related_name="messages")
    run = models.ForeignKey(Run, models.PROTECT, null=True, blank=True, related_name="messages")
    role = models.CharField(max_length=20)  # user | customer (what somebody else wrote: data) | agent | tool
    text = models.TextField()
    summary = models.BooleanField(default=False)
    rewound_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering: ClassVar = ["id"]

    def __str__(self) -> str:
        return f"{self.role}: {self.text[:60]}"


class Event(models.Model):
    """One line of the record: who, what, when, from which state to which. Only ever appended."""

    run = models.ForeignKey(Run, models.PROTECT, related_name="events", db_index=False)
    step = models.ForeignKey(Step, models.PROTECT, null=True, blank=True, related_name="events")
    kind = models.CharField(max_length=50)
    before = models.CharField(max_length=20, blank=True)
    after = models.CharField(max_length=20, blank=True)
    actor = models.CharField(max_length=200)
    data = models.JSONField(default=dict, blank=True)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering: ClassVar = ["id"]
        indexes: ClassVar = [
            models.Index(fields=["run", "id"], name="events_of_run"),
            models.Index(fields=["at"], condition=Q(kind="step.interrupted"), name="interruptions_by_time"),
        ]
        triggers: ClassVar = [
            pgtrigger.Protect(name="append_only", operation=pgtrigger.Update | pgtrigger.Delete),
            # The outbox. The condition is looked at for each line, and costs a step nothing that can be measured.
            pgtrigger.Trigger(
                name="notable",
                when=pgtrigger.After,
                operation=pgtrigger.Insert,
                condition=pgtrigger.Q(new__kind__in=sorted(KIND_OF)),
                func="INSERT INTO runs_notice (event_id) VALUES (NEW.id); RETURN NULL;",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} at {self.at}"


class Notice(models.Model):
    """The outbox: a line of the record that others are to be told of, until it is known whom (approvals/notices.py)."""

    event = models.OneToOneField(Event, models.PROTECT, primary_key=True, related_name="notice")

    def __str__(self) -> str:
        return f"notice of {self.event_id}"


class Token(models.Model):
    """An API token: hashed at rest, shown once. `agent` limits an agent's token to that agent."""

    name = models.CharField(max_length=100)
    hash = models.CharField(max_length=64, unique=True)
    scope = models.CharField(max_length=10, choices=[(s, s) for s in ("agent", "approver", "operator")])
    agent = models.CharField(max_length=100, blank=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now())
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            # An answer is a person's: a token that answers belongs to one.
            models.CheckConstraint(
                condition=Q(scope="agent") | Q(user__isnull=False), name="people_have_tokens"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.scope})"


class IdempotencyRecord(models.Model):
    """The first answer to an API request that carried an Idempotency-Key."""

    owner = models.CharField(max_length=100)
    key = models.CharField(max_length=200)
    body = models.CharField(max_length=64)  # SHA-256 of the canonical request
    run = models.ForeignKey(Run, models.CASCADE, null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["owner", "key"], name="one_request_per_key")]

    def __str__(self) -> str:
        return self.key


class WorkerQuerySet(models.QuerySet["Worker"]):
    """Processes, in the words of the field."""

    def carrying(self) -> "WorkerQuerySet":
        """Those that carry runs out, and have not said that they stopped."""
        return self.filter(kind="worker", stopped_at=None)


class Worker(models.Model):
    """A process of this installation; alive while its heartbeat is fresh. Those of the kind `worker` carry runs out."""

    name = models.CharField(max_length=120, unique=True)  # host:pid:family (runs/workers.py)
    kind = models.CharField(max_length=10, default="worker")  # worker | sweep | web
    version = models.CharField(max_length=40, blank=True)
    doing = models.CharField(max_length=10, default="works")  # works | finishes | rests: as it says itself
    wanted = models.CharField(
        max_length=10, blank=True
    )  # paused | drained: the last order; '' where it may work
    started_at = models.DateTimeField(db_default=Now())
    seen_at = models.DateTimeField(db_default=Now())
    stopped_at = models.DateTimeField(null=True, blank=True)

    objects = WorkerQuerySet.as_manager()

    def __str__(self) -> str:
        return self.name


class WorkerOrder(models.Model):
    """What an operator had a worker do: pause, resume or drain. Only ever appended."""

    worker = models.CharField(max_length=120)  # by name: its row goes once nobody needs it
    what = models.CharField(max_length=10)
    by = models.CharField(max_length=200)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True)
    reason = models.TextField(blank=True)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering: ClassVar = ["id"]
        indexes: ClassVar = [models.Index(fields=["worker", "-id"], name="orders_of_worker")]
        triggers: ClassVar = [
            pgtrigger.Protect(name="order_stays", operation=pgtrigger.Update | pgtrigger.Delete),
        ]

    def __str__(self) -> str:
        return f"{self.what} {self.worker}"
