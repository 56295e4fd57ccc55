"""The verbs that callers use: start a run, answer a question, cancel.

Each writes its own rows in one transaction, together with the nudge; only the engine moves a run.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from runs import queue
from runs.access import Actor, may_answer, may_operate, may_start
from runs.agentfile import AgentSpec, agent
from runs.errors import (
    AlreadyAnswered,
    BadInput,
    DigestMismatch,
    Gone,
    NotAllowed,
    NotFound,
    NotRead,
    NotSettledYet,
    RunClosed,
    RunLeased,
    ThreadBusy,
)
from runs.models import Event, Message, Run, Step, Thread
from runs.selector import Unread
from runs.states import PARKED, RUN_BACKWARD, RUN_ENDS, RUN_FORWARD
from runs.transitions import clock

ANSWERS = {
    "confirm": ("approve", "skip", "cancel_all"),
    "outcome": ("happened", "did_not_happen", "send_again"),
    "undo": ("retry", "done_by_hand", "abandon"),
}
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


@dataclass(frozen=True)
class Proposal:
    """One call that a run shall make. `text` is the part of the turn that it came from."""

    tool: str
    args: dict[str, Any]
    text: str = ""


@dataclass(frozen=True)
class RunRequest:
    """What starts a run: a turn, or the steps themselves; `opened` where the agent proposes more later."""

    text: str = ""
    steps: Sequence[Proposal] = ()
    opened: bool = False
    task: str = ""
    ticket: str = ""
    subject: str = ""
    faults: dict[str, str] | None = None


def start_thread(actor: Actor, agent_name: str, user: str) -> Thread:
    """A new conversation. Raises NotFound, NotAllowed, BadInput."""
    spec = agent(agent_name)
    _require(may_start(actor, spec.name), f"You may not start a run of {spec.name}.")
    return Thread.objects.create(agent=spec.name, user=_text(user, "/user", 200))


def start(actor: Actor, thread: Thread, request: RunRequest) -> Run:
    """Start a run in a thread: one transaction stores the turn, the run and its steps, and wakes a worker.

    Raises NotRead, BadInput, NotAllowed, ThreadBusy; then nothing is stored and nothing is sent.
    """
    spec = agent(thread.agent)
    _require(may_start(actor, spec.name), f"You may not start a run of {spec.name}.")
    faults = _faults(request.faults or {}, spec)
    proposals = read_turn(spec, request.text) if request.text and not request.steps else list(request.steps)
    steps = [_valid(spec, proposal, f"/steps/{index}") for index, proposal in enumerate(proposals)]
    if not steps and not request.opened:
        raise BadInput("A run needs a turn or at least one step.", field="/steps")
    with transaction.atomic():
        locked = Thread.objects.select_for_update(no_key=True).get(pk=thread.pk)
        _refuse_if_busy(locked)
        run = _create_run(actor, locked, spec, request, faults)
        _append(locked, run, steps)
        queue.nudge(run.pk)
    return run


def read_turn(spec: AgentSpec, text: str) -> list[Proposal]:
    """The calls that a turn asks for; the whole turn or nothing. Raises NotRead."""
    try:
        reading = spec.selector.read(text)
    except Unread as error:
        raise NotRead(str(error), field="/text", parts=list(error.parts)) from None
    return [Proposal(call.tool, _as_json(call.args), call.text) for call in reading.calls]


def _as_json(args: dict[str, Any]) -> dict[str, Any]:
    return {name: str(value) if isinstance(value, Decimal) else value for name, value in args.items()}


def _valid(spec: AgentSpec, proposal: Proposal, place: str = "") -> Proposal:
    tool = spec.tools.get(proposal.tool)
    if tool is None:
        raise BadInput(
            f"{spec.name} has no tool called {proposal.tool!r}; it has: {', '.join(sorted(spec.tools))}.",
            field=f"{place}/tool",
        )
    try:
        return Proposal(tool.name, tool.validate(proposal.args), proposal.text)
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


def _refuse_if_busy(thread: Thread) -> None:
    busy = thread.runs.filter(state__in=RUN_FORWARD | RUN_BACKWARD).first()
    if busy:
        waits = busy.steps.filter(state__in=PARKED).first()
        what = (
            f"it waits for an answer about {waits.tool}" if waits else f"it is {busy.state.replace('_', ' ')}"
        )
        raise ThreadBusy(
            f"{busy.name} of this conversation is not done: {what}. Answer or cancel it first.",
            run=busy.name,
            question=waits.pk if waits else None,
        )


def _create_run(
    actor: Actor, thread: Thread, spec: AgentSpec, request: RunRequest, faults: dict[str, str]
) -> Run:
    file = spec.file
    if request.task and request.task not in file.tasks:
        raise BadInput(f"{spec.name} has no task called {request.task!r}.", field="/task")
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
        opened=request.opened,
        task=request.task,
        ticket=_text(request.ticket, "/ticket", 100, blank=True),
        subject=_text(request.subject, "/subject", 100, blank=True),
        faults=faults,
        started_by=actor.name,
    )
    if request.text:
        Message.objects.create(thread=thread, run=run, role="user", text=request.text)
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
    _require(may_start(actor, spec.name), f"You may not propose calls of {spec.name}.")
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


def close(actor: Actor, run: Run) -> None:
    """An open run's agent has nothing more to propose. Raises RunClosed, NotAllowed."""
    _require(may_start(actor, run.thread.agent), f"You may not close runs of {run.thread.agent}.")
    with transaction.atomic():
        still = Run.objects.filter(pk=run.pk, opened=True, closed_at=None, state__in=RUN_FORWARD)
        if not still.update(closed_at=Now(), version=F("version") + 1):
            raise RunClosed(f"{run.name} is closed already.")
        queue.nudge(run.pk)


def resolve(actor: Actor, step_id: int, answer: str, digest: str, data: dict[str, Any] | None = None) -> Step:
    """Write a person's answer on a parked step, bound to what they saw, and wake a worker.

    One guarded update decides between two people. Runs in the caller's transaction where there is one.
    Raises NotFound, NotAllowed, BadInput, DigestMismatch (409), AlreadyAnswered (409), Gone (410), NotSettledYet (409).
    """
    step = Step.objects.select_related("run", "undoes").filter(pk=step_id).first()
    if step is None or not step.asks:
        raise NotFound("There is no such question.")
    _require(may_answer(actor, step), f"This question is for the role {step.approver}.")
    if answer not in ANSWERS[step.asks]:
        raise BadInput(f"The answers are: {', '.join(ANSWERS[step.asks])}.", field="/answer")
    with transaction.atomic():
        # The run's row is locked first, as the engine does, so that an answer and a commit of it take turns.
        Run.objects.filter(pk=step.run_id).update(version=F("version") + 1)
        parked = Step.objects.filter(pk=step_id, state__in=PARKED, digest=digest, answer="")
        if not parked.update(answer=answer, answered_by=actor.name, answer_data=data or {}):
            raise _why_not(step_id, digest)
        if answer in ("did_not_happen", "send_again"):
            _refuse_if_early(step)
        Event.objects.create(
            run_id=step.run_id,
            step_id=step.pk,
            kind="question.answered",
            actor=actor.name,
            data={"answer": answer, "digest": digest, **(data or {})},
        )
        queue.nudge(step.run_id)
    step.refresh_from_db()
    return step


def _refuse_if_early(step: Step) -> None:
    """Until then the call can still be on the wire (docs/engine.md); the database's clock says when."""
    early = Step.objects.filter(pk=step.pk, settles_at__gt=Now()).first()
    if early and early.settles_at:
        when = timezone.localtime(early.settles_at)
        raise NotSettledYet(
            f"The call can still arrive until {when:%H:%M:%S %Z}; say it after that.",
            settles_at=early.settles_at.isoformat(),
        )


def _why_not(step_id: int, digest: str) -> Exception:
    """Who answered what and when; or what changed; or that the question was withdrawn."""
    step = Step.objects.select_related("run").get(pk=step_id)
    answers = Event.objects.filter(step=step, kind="question.answered", data__digest=digest)
    answered = answers.order_by("-pk").first()
    if answered:
        said, when = str(answered.data["answer"]), timezone.localtime(answered.at)
        return AlreadyAnswered(
            f"Answered by {answered.actor}, {when:%H:%M %Z}: {said.replace('_', ' ')}.",
            answered_by=answered.actor,
            answer=said,
            answered_at=answered.at.isoformat(),
        )
    if step.state in PARKED and step.digest != digest:
        return DigestMismatch(digest=step.digest)
    return Gone(
        f"This question was withdrawn: the step is {step.state.replace('_', ' ')},"
        f" and {step.run.name} is {step.run.state.replace('_', ' ')}."
    )


def cancel(actor: Actor, run: Run, reason: str = "") -> None:
    """Ask a live run to stop and undo what it did. A call in flight is not killed. Raises RunClosed, NotAllowed."""
    _require(may_operate(actor), "Only an operator may cancel a run.")
    with transaction.atomic():
        alive = Run.objects.alive().filter(pk=run.pk, cancel_requested_at=None)
        asked = alive.update(
            cancel_requested_at=Now(),
            cancel_requested_by=actor.name,
            cancel_reason=reason,
            version=F("version") + 1,
        )
        if not asked:
            raise RunClosed(f"{run.name} has ended, or is being cancelled already.")
        Event.objects.create(run=run, kind="run.cancel_requested", actor=actor.name, data={"reason": reason})
        queue.nudge(run.pk)


def undo(actor: Actor, run: Run) -> None:
    """Have a finished run undone, last write first, asking nothing again. Raises RunClosed, ThreadBusy, NotAllowed.

    Refused while another run of its thread is open. What an abandoned rollback left is tried anew.
    """
    _require(may_operate(actor), "Only an operator may undo a run.")
    with transaction.atomic():
        ended = Run.objects.filter(pk=run.pk, state__in=RUN_ENDS, undo_requested_at=None)
        asked = ended.update(undo_requested_at=Now(), undo_requested_by=actor.name, version=F("version") + 1)
        if not asked:
            raise RunClosed(
                f"{run.name} has not ended, or is being undone already; cancel a run that is alive."
            )
        thread = Thread.objects.select_for_update(no_key=True).get(pk=run.thread_id)
        _refuse_if_busy(thread)
        Event.objects.create(run=run, kind="run.undo_requested", actor=actor.name)
        queue.nudge(run.pk)


def resume(actor: Actor, run: Run) -> None:
    """Have a worker look at a run now. Raises RunLeased where a live one holds it, RunClosed, NotAllowed."""
    _require(may_operate(actor), "Only an operator may resume a run.")
    with transaction.atomic():
        found = Run.objects.alive().filter(pk=run.pk)
        if not found.exists():
            raise RunClosed(f"{run.name} has ended.")
        if not found.unheld().exists():
            raise RunLeased(f"{run.name} is held by {run.lease_owner}; nothing was changed.")
        queue.nudge(run.pk)


def _require(allowed: bool, why: str) -> None:
    if not allowed:
        raise NotAllowed(why)


def _text(value: str, field: str, limit: int, *, blank: bool = False) -> str:
    if not isinstance(value, str) or "\x00" in value or len(value) > limit or not (value or blank):
        raise BadInput(f"Text of 1 to {limit} characters, without NUL, is needed.", field=field)
    return value
