"""A plan: what calls would do, before any is made."""

from collections.abc import Sequence
from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from runs.access import may_plan
from runs.agentfile import AgentSpec, agents
from runs.api import bodies, shapes
from runs.api.auth import actor_of
from runs.api.endpoint import Endpoint, sees, sent, thread_of
from runs.api.openapi import problems
from runs.api.reading import read_body
from runs.errors import NotFound
from runs.left import Left, Write
from runs.models import Thread
from runs.plan import PlannedCall, plan
from runs.redaction import hidden_of_undo, without
from runs.services import Proposal, RunRequest
from runs.tools.bindings import promised


class Plans(Endpoint):
    """No plan is kept: it is tried where it is sent."""

    rules: ClassVar = {"POST": sees}

    @extend_schema(
        operation_id="plan",
        tags=["runs"],
        request=bodies.NewPlan,
        responses={200: shapes.Plan, **problems(403, 404, 422)},
    )
    def post(self, request: Request) -> Response:
        """Try a plan: what each call would ask, what undoes it, what a failure there would leave. Stores nothing."""
        body = read_body(bodies.NewPlan, request)
        thread = _thread(request, body)
        spec = agents().get(thread.agent)
        if spec is None or not may_plan(actor_of(request), thread.agent):
            raise NotFound(f"There is no agent called {thread.agent!r} for this token.", field="/agent")
        wanted = RunRequest(
            text=body.text,
            steps=[Proposal(step.tool, step.args, step.text) for step in body.steps],
            task=body.task,
            ticket=body.ticket,
            subject=body.subject,
        )
        return sent(shown(spec, plan(spec, thread, wanted)))


def shown(spec: AgentSpec, calls: Sequence[PlannedCall]) -> shapes.Plan:
    """A plan as JSON has it."""
    steps = [_step(call, spec) for call in calls]
    return shapes.Plan(agent=spec.name, rules=spec.rule_version, steps=steps)


def _thread(request: Request, body: bodies.NewPlan) -> Thread:
    """The thread, or one that is not stored."""
    if body.thread:
        return thread_of(request, body.thread, "/thread")
    return Thread(agent=body.agent, user=body.user)


def _step(call: PlannedCall, spec: AgentSpec) -> shapes.PlannedStep:
    return shapes.PlannedStep(
        number=call.number,
        tool=call.tool,
        args=call.args,
        text=call.sentence,
        writes=call.writes,
        ruling=call.ruling.verdict,
        rule=call.ruling.rule,
        cause=call.ruling.cause,
        asks=_asked(call),
        undo=_undo(call, spec),
        not_undoable=(call.undo.why_not or None) if call.undo else None,
        if_it_fails=_left(call.left),
    )


def _asked(call: PlannedCall) -> shapes.Asked | None:
    ruling = call.ruling
    if ruling.verdict != "ask":
        return None
    return shapes.Asked(
        approver=ruling.approver,
        not_by=list(ruling.not_by),
        rule=ruling.rule,
        with_step=call.asked_with,
        warnings=list(call.warnings),
    )


def _undo(call: PlannedCall, spec: AgentSpec) -> shapes.UndoOf | None:
    undo = spec.tools[call.tool].undo
    if undo is None or call.undo is None or not call.undo.tool:
        return None
    by = spec.tools[undo.tool]
    args = promised(undo, by, call.args)
    hidden = hidden_of_undo(undo, by, args, frozenset(spec.tools[call.tool].redact))
    return shapes.UndoOf(tool=undo.tool, args=without(args, hidden))


def _left(left: Left) -> shapes.IfItFails:
    return shapes.IfItFails(
        undone=[_write(write) for write in left.undone],
        stays=[_write(write) for write in left.stays],
        handed_over=left.kept and bool(left.stays),
        text=left.words,
    )


def _write(write: Write) -> shapes.PlannedWrite:
    return shapes.PlannedWrite(step=write.number, text=write.sentence, undone_by=write.by or None)
