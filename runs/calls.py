"""The calls that leave the process: a tool's sending, and a lookup. Each is recorded before, and after.

`send` and `look` run inside the engine's transaction; `act` outside any; `record` inside the next one.
"""

import math
import time
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from runs import faults, ledger, outcomes
from runs.agentfile import AgentSpec
from runs.endings import open_ticket
from runs.loading import lookup_named, step_view
from runs.models import Attempt, Step
from runs.moves import after_move
from runs.parking import look_pause, reword
from runs.states import StepState
from runs.tools.dispatch import Outcome, Verdict, dispatch
from runs.tools.lookups import Answer, look_up
from runs.tools.registry import Call, Tool, gone
from runs.tools.windows import Window, ask_until_when
from runs.transitions import Held, by_lookup, change, record
from runs.view import StepView

NOT_SENT = Outcome(Verdict.UNAVAILABLE, None, "NotSent", "The database kept it waiting, so it was not sent.")


@dataclass
class Sending:
    """A recorded intent: the call that is about to leave. It leaves by `leave_by` (of time.monotonic) or not at all.

    Its lease, and the time at which it is settled, count from before the intent was recorded: a call that leaves long
    after that could be on the wire when others take it for settled.
    """

    step: int
    attempt: Attempt
    tool: Tool
    args: dict[str, Any]
    call: Call
    outcome: Outcome | None = None
    leave_by: float = math.inf

    def act(self) -> None:
        """Call the tool. Never inside a transaction."""
        in_time = time.monotonic() <= self.leave_by
        self.outcome = dispatch(self.tool, self.args, self.call) if in_time else NOT_SENT

    def record(self, held: Held, spec: AgentSpec) -> None:
        """Write down what became of it."""
        assert self.outcome is not None
        step = held.step(self.step)
        view = step_view(held, step, spec)
        rest = timedelta(0) if self.outcome is NOT_SENT else pause(view.calls)
        changes = outcomes.called(view, self.outcome.verdict, held.now, rest)
        ledger.settle(held, step, self.attempt, self.outcome, changes)
        after_move(held, step, spec)


@dataclass
class Looking:
    """A question to the service: what became of this key?"""

    step: int
    tool: Tool
    call: Call
    asked_at: datetime
    answer: Answer | None = None

    def act(self) -> None:
        """Ask. Never inside a transaction."""
        self.answer = look_up(self.tool, self.call)

    def record(self, held: Held, spec: AgentSpec) -> None:
        """Write down what it said."""
        assert self.answer is not None
        step = held.step(self.step)
        view = step_view(held, step, spec)
        # The time before the lookup: what it did not see may have landed while it was under way.
        changes = outcomes.looked_up(view, self.answer.said, self.asked_at, _pause_after_look(view))
        said = {"said": self.answer.said} | ({"error": self.answer.error} if self.answer.error else {})
        record(held, "step.looked_up", step, data=said)
        before, data = step.state, by_lookup(step)
        if view.answer and changes.get("state"):
            data = _overrule(held, step)
        ledger.apply(held, step, changes, result=self.answer.result, data=data)
        after_move(held, step, spec)
        reword(held, step, spec)
        if (before, step.state) == (StepState.NOT_PERFORMED, StepState.PERFORMED) and not step.replayed:
            open_ticket(held, "late_outcome")


def _overrule(held: Held, step: Step) -> dict[str, Any]:
    """A person answered while it was looked up, and nothing was done on their word yet: the lookup settles it."""
    data = {"settled_by": "lookup", "instead_of": step.answer, "answered_by": step.answered_by}
    change(held, step, answered_by="", answer_data=None)
    return data


def _pause_after_look(step: StepView) -> timedelta:
    return look_pause(step.lookups + 1) if step.state is StepState.UNKNOWN else pause(step.lookups + 1)


@dataclass
class Timing:
    """A question to the service: until when can this write be undone?"""

    step: int
    tool: Tool
    call: Call
    asked_at: datetime
    answer: Window | None = None

    def act(self) -> None:
        """Ask. Never inside a transaction."""
        self.answer = ask_until_when(self.tool, self.call)

    def record(self, held: Held, spec: AgentSpec) -> None:
        """Write down what it said; it is not asked again until the run is taken up anew."""
        assert self.answer is not None
        step, answer = held.step(self.step), self.answer
        until = answer.until.isoformat() if answer.until else None
        record(held, "step.window", step, data={"said": answer.said, "until": until, "error": answer.error})
        held.timed.add(step.number)
        if answer.said == "closed":
            change(held, step, closes_at=min(step.closes_at or self.asked_at, self.asked_at))
        else:
            change(held, step, closes_at=step.closes_at if answer.said == "failed" else answer.until)


def send(held: Held, step: Step, spec: AgentSpec) -> Sending:
    faults.reach("before-intent", step.tool)
    tool, ruling = spec.catalogue[step.tool], held.rulings.pop(step.number)
    attempt = ledger.intend(held, step, step_view(held, step, spec), tool, ruling)
    call = call_of(held, step, tool)
    return Sending(step.number, attempt, tool, step.args, call, leave_by=leave_by(held, tool))


def leave_by(held: Held, tool: Tool) -> float:
    """Until when a call may leave that is recorded now: within its lease, and long before it counts as settled."""
    return held.heard + min(settings.LEASE_SECONDS, ledger.settle_after_of(tool) / 2)


def unrecorded(held: Held, job: object, spec: AgentSpec) -> Sending | None:
    """What is still to be recorded, where it is not known what was: the rows say it.

    This worker's attempt without a verdict is that of `job`; or its intent was recorded though no answer came, and it
    never left. Whatever else was asked is asked again.
    """
    epoch = held.run.lease_epoch
    open_ones = Attempt.objects.filter(step__run=held.run, epoch=epoch, verdict="")
    attempt = open_ones.select_related("step__entry").first()
    if attempt is None:
        return None
    if isinstance(job, Sending) and job.attempt.pk == attempt.pk:
        job.attempt = attempt
        return job
    step, tool = attempt.step, spec.catalogue.get(attempt.step.tool) or gone(attempt.step.tool)
    return Sending(step.number, attempt, tool, step.args, call_of(held, step, tool), NOT_SENT)


def look(held: Held, step: Step, spec: AgentSpec) -> Looking | Timing:
    """What became of a call; of one that was performed: until when it can be undone."""
    tool = spec.catalogue.get(step.tool)
    if tool and step.state == StepState.PERFORMED:
        asked = spec.catalogue[tool.reversible_until]
        call = replace(call_of(held, step, tool), fault=held.run.faults.get(asked.name, ""))
        return Timing(step.number, asked, call, asked_at=held.now)
    asked = spec.catalogue[lookup_named(step, tool, spec)]
    return Looking(step.number, asked, call_of(held, step, tool or asked), asked_at=held.now)


def call_of(held: Held, step: Step, tool: Tool) -> Call:
    """The next sending of a step, as its tool sees it."""
    assert step.entry is not None
    return Call(
        key=step.entry.key,
        tool=step.tool,
        run=held.run.name,
        step=step.number,
        attempt=step.calls,
        timeout=ledger.timeout_of(tool),
        retry_safe=tool.retry_safe,
        fault=held.run.faults.get(step.tool, ""),
    )


def pause(calls: int) -> timedelta:
    return outcomes.back_off(calls, timedelta(seconds=settings.RETRY_SECONDS))
