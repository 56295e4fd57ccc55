"""Starting a run, proposing its next call, closing it: what an agent does."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from runs import queue
from runs.access import Actor, may_start
from runs.agentfile import AgentSpec, agent
from runs.errors import (
    BadInput,
    NotAllowed,
    NotRead,
    RunClosed,
    TurnAmbiguous,
)
from runs.model_requests import refuse_unready
from runs.models import Event, Message, Run, Step, Thread
from runs.selector import Ambiguous, Reading, Unread, written
from runs.services.refusals import refuse_if_busy, require
from runs.states import RUN_ENDS, RUN_FORWARD
from runs.transitions import clock

FAULTS = frozenset(
    {
        "down",
        "refused",
        "unavailable",
        "timeout_before_write",
        "timeout_after_write",
        "slow",
        "slow_before",
        "drop_before",
        "drop_after",
        "error_500",
    }
)
MAX_STEPS = 1000
MAX_MESSAGE = 64 * 1024  # characters


@dataclass(frozen=True)
class Proposal:
    """One call that a run shall make. `text` is the part of the turn that it came from."""

    tool: str
    args: dict[str, Any]
    text: str = ""


@dataclass(frozen=True)
class Turn:
    """What becomes of a turn: its calls; or the parts that were not read, where its model or a person is asked."""

    steps: Sequence[Proposal] = ()
    unread: Sequence[str] = ()


@dataclass(frozen=True)
class RunRequest:
    """What starts a run: a turn, or the steps themselves; `opened` where the agent proposes more later.

    `message` is what somebody else wrote, such as a customer's mail: data that the agent may read, never a request.
    """

    text: str = ""
    message: str = ""
    steps: Sequence[Proposal] = ()
    opened: bool = False
    task: str = ""
    ticket: str = ""
    subject: str = ""
    faults: dict[str, str] | None = None


def start_thread(actor: Actor, agent_name: str, user: str) -> Thread:
    """A new conversation. Raises NotFound, NotAllowed, BadInput."""
    spec = agent(agent_name)
    require(may_start(actor, spec.name), f"You may not start a run of {spec.name}.")
    return Thread.objects.create(agent=spec.name, user=valid_text(user, "/user", 200))


def start(actor: Actor, thread: Thread, request: RunRequest) -> Run:
    """Start a run in a thread: one transaction stores the turn, the run and its steps, and wakes a worker.

    A turn that was not read starts a run that its model decides, or a person takes over, where `on_unread` says so.
    Raises NotRead, TurnAmbiguous, ModelNotReady, BadInput, NotAllowed, ThreadBusy; then nothing is stored or sent.
    """
    spec = agent(thread.agent)
    require(may_start(actor, spec.name), f"You may not start a run of {spec.name}.")
    faults = _faults(request.faults or {}, spec)
    turn = take_turn(spec, request.text) if _is_turn(request) else Turn()
    steps = [] if turn.unread else valid_steps(spec, replace(request, steps=turn.steps or request.steps))
    with transaction.atomic():
        locked = Thread.objects.select_for_update(no_key=True).get(pk=thread.pk)
        refuse_if_busy(locked)
        wanted = replace(request, subject=subject_of(request, spec, steps))
        run = _create_run(actor, locked, spec, wanted, faults, turn.unread)
        _append(locked, run, steps)
        queue.nudge(run.pk)
    return run


def subject_of(request: RunRequest, spec: AgentSpec, steps: Sequence[Proposal]) -> str:
    """What the run is about: as the caller says, or the first argument that the agent file names for it."""
    return request.subject or spec.subject_of((step.tool, step.args) for step in steps)


def valid_steps(spec: AgentSpec, request: RunRequest) -> list[Proposal]:
    """The calls of a request, valid for their tools. Raises NotRead, BadInput."""
    proposals = read_turn(spec, request.text) if request.text and not request.steps else list(request.steps)
    steps = [_valid(spec, proposal, f"/steps/{index}") for index, proposal in enumerate(proposals)]
    if not steps and not request.opened:
        raise BadInput("A run needs a turn or at least one step.", field="/steps")
    if request.task and request.task not in spec.file.tasks:
        raise BadInput(f"{spec.name} has no task called {request.task!r}.", field="/task")
    return steps


def _is_turn(request: RunRequest) -> bool:
    """The turn says what is to be called, and whoever sent it proposes nothing."""
    return bool(request.text) and not request.steps and not request.opened


def take_turn(spec: AgentSpec, text: str) -> Turn:
    """What becomes of a turn, if nobody is asked who is not there.

    Raises NotRead, TurnAmbiguous, and ModelNotReady where its model would have to be asked, and cannot be from here.
    A turn that can be read in two ways, or is none, is for the person who wrote it.
    """
    try:
        return Turn(read_turn(spec, text))
    except NotRead as refusal:
        parts = refusal.extra.get("parts")
        if spec.on_unread == "refuse" or isinstance(refusal, TurnAmbiguous) or not parts:
            raise
    if spec.on_unread == "ask_model":
        refuse_unready(spec.file.agents[spec.name].model or "")
    return Turn(unread=parts)


def read_turn(spec: AgentSpec, text: str) -> list[Proposal]:
    """The calls that a turn asks for; the whole turn or nothing. Raises NotRead, TurnAmbiguous."""
    try:
        reading = spec.selector.read(text)
    except Ambiguous as error:
        readings = [_reading_json(reading) for reading in error.readings]
        raise TurnAmbiguous(str(error), field="/text", parts=list(error.parts), readings=readings) from None
    except Unread as error:
        raise NotRead(str(error), field="/text", parts=list(error.parts)) from None
    return [Proposal(call.tool, _as_json(call.args), call.text) for call in reading.calls]


def _reading_json(reading: Reading) -> dict[str, Any]:
    calls = [
        {"tool": call.tool, "args": _as_json(call.args), "text": written(call)} for call in reading.calls
    ]
    return {"text": reading.text, "calls": calls}


def _as_json(args: dict[str, Any]) -> dict[str, Any]:
    return {name: str(value) if isinstance(value, Decimal) else value for name, value in args.items()}


def _valid(spec: AgentSpec, proposal: Proposal, place: str = "") -> Proposal:
    try:
        return Proposal(proposal.tool, spec.valid(proposal.tool, proposal.args), proposal.text)
    except BadInput as error:
        raise BadInput(str(error), field=f"{place}{error.field}") from None


def _faults(faults: dict[str, str], spec: AgentSpec) -> dict[str, str]:
    if faults and not settings.FAULTS_ALLOWED:
        raise NotAllowed("Faults are for practice: set STALWART_FAULTS=1 to allow them.")
    for name, fault in faults.items():
        if name not in spec.catalogue:
            raise BadInput(f"There is no tool called {name!r} to fail.", field="/faults")
        if fault.partition(":")[0] not in FAULTS:  # `slow:0.3` takes 0.3 s
            raise BadInput(
                f"There is no fault called {fault!r}; there are: {', '.join(sorted(FAULTS))}.",
                field="/faults",
            )
    return faults


def add_faults(run: Run, faults: dict[str, str]) -> None:
    """Practice: from now on these tools' calls fail in this run. Raises NotAllowed, BadInput, RunClosed."""
    known = _faults(faults, agent(run.thread.agent))
    with transaction.atomic():
        found = Run.objects.select_for_update().exclude(state__in=RUN_ENDS).filter(pk=run.pk).first()
        if found is None:
            raise RunClosed(f"{run.name} has ended; start a new run.")
        found.faults |= known
        found.version += 1
        found.save(update_fields=["faults", "version"])
        Event.objects.create(run=run, kind="run.faults_added", actor="practice", data=known)


def _create_run(
    actor: Actor,
    thread: Thread,
    spec: AgentSpec,
    request: RunRequest,
    faults: dict[str, str],
    unread: Sequence[str],
) -> Run:
    file = spec.file
    if len(request.steps) > MAX_STEPS:
        raise BadInput(f"A run has at most {MAX_STEPS} steps at its start.", field="/steps")
    task = file.tasks.get(request.task)
    if file.keys == "action" and not request.ticket:
        raise BadInput(f"{spec.name} names its changes by ticket: a ticket is needed.", field="/ticket")
    run = Run.objects.create(
        deadline_at=clock() + task.within if task and task.within else None,
        thread=thread,
        mode=file.runs,
        rollback=file.rollback,
        keys=file.keys,
        confirm=file.confirm,
        opened=request.opened or (bool(unread) and spec.on_unread == "ask_model"),
        unread=list(unread),
        model=(spec.file.agents[spec.name].model or "") if unread and spec.on_unread == "ask_model" else "",
        task=request.task,
        ticket=valid_text(request.ticket, "/ticket", 100, blank=True),
        subject=valid_text(request.subject, "/subject", 100, blank=True),
        faults=faults,
        started_by=actor.name,
    )
    if request.text:
        Message.objects.create(thread=thread, run=run, role="user", text=request.text)
    if request.message:
        said = valid_text(request.message, "/message", MAX_MESSAGE)
        Message.objects.create(thread=thread, run=run, role="customer", text=said)
    Event.objects.create(
        run=run, kind="run.started", after=run.state, actor=actor.name, data={"agent": spec.name}
    )
    return run


def _append(thread: Thread, run: Run, proposals: Sequence[Proposal]) -> None:
    """Add the steps, numbered within the thread. The caller holds the thread's row."""
    first = thread.next_step
    Step.objects.bulk_create(
        Step(run=run, thread=thread, number=first + index, tool=item.tool, args=item.args, text=item.text)
        for index, item in enumerate(proposals)
    )
    thread.next_step = first + len(proposals)
    thread.save(update_fields=["next_step"])


def propose(actor: Actor, run: Run, proposal: Proposal) -> Step:
    """An open run's agent proposes its next call. Raises RunClosed, BadInput, NotAllowed."""
    spec = agent(run.thread.agent)
    require(may_start(actor, spec.name), f"You may not propose calls of {spec.name}.")
    _refuse_model(run)
    valid = _valid(spec, proposal)
    with transaction.atomic():
        touched = Run.objects.filter(
            pk=run.pk, opened=True, closed_at=None, cancel_requested_at=None, state__in=RUN_FORWARD
        )
        if not touched.update(version=F("version") + 1):
            raise RunClosed(f"{run.name} takes no more steps; start a new run.")
        # The run before its thread, as the engine locks them.
        thread = Thread.objects.select_for_update(no_key=True).get(pk=run.thread_id)
        _append(thread, run, [valid])
        queue.nudge(run.pk)
    return Step.objects.get(thread_id=run.thread_id, number=thread.next_step - 1)


def _refuse_model(run: Run) -> None:
    """Raises RunClosed for a run whose calls its model proposes."""
    if run.model:
        raise RunClosed(f"{run.name} is decided by {run.model}: it takes calls of nobody else.")


def close(actor: Actor, run: Run) -> None:
    """An open run's agent has nothing more to propose. Raises RunClosed, NotAllowed."""
    require(may_start(actor, run.thread.agent), f"You may not close runs of {run.thread.agent}.")
    _refuse_model(run)
    with transaction.atomic():
        still = Run.objects.filter(pk=run.pk, opened=True, closed_at=None, state__in=RUN_FORWARD)
        if not still.update(closed_at=Now(), version=F("version") + 1):
            raise RunClosed(f"{run.name} is closed already.")
        queue.nudge(run.pk)


def valid_text(value: str, field: str, limit: int, *, blank: bool = False) -> str:
    """A name that can be stored. Raises BadInput."""
    fits = isinstance(value, str) and "\x00" not in value and len(value) <= limit and bool(value or blank)
    if not fits or value.encode(errors="ignore").decode() != value:
        raise BadInput(f"Text of 1 to {limit} characters, without NUL, is needed.", field=field)
    return value
