"""How a run stops, is let go, and ends: with its one reply and, where a person takes over, a ticket."""

from datetime import timedelta
from typing import Any

from django.conf import settings

from runs import rewind
from runs.actions import HandOver, RollBack, Wait
from runs.agentfile import AgentSpec
from runs.loading import is_halted
from runs.models import Message, Step
from runs.moves import cancel_stuck, cancel_unsent
from runs.queue import nudge
from runs.replies import reply
from runs.states import RUN_BACKWARD, RunState
from runs.transitions import Held, add, change, move_run, record

# Why a run was handed over, where the ticket has another word for it than the stop.
REASONS = {"died": "run_died_mid_sequence"}
# Nobody holds it, and it got on: what was counted against it is forgotten (runs/mishaps.py).
FREE = {"lease_owner": "", "lease_expires_at": None, "failures": 0, "trouble": ""}


def stop(held: Held, action: RollBack | HandOver) -> None:
    """Say why the run stopped, and cancel what was never sent."""
    step = held.step(action.step) if action.step else None
    change(held, held.run, stop=_why(held, action.kind, step))
    cancel_unsent(held)


def _why(held: Held, kind: str, step: Step | None) -> dict[str, Any]:
    if kind == "cancel_all" and step:
        return {"kind": "cancelled", "by": step.answered_by, "step": step.number}
    if kind == "cancelled":
        return {"kind": "cancelled", "by": held.run.cancel_requested_by}
    if kind == "late" and held.run.stop:
        return dict(held.run.stop)
    if kind == "died":
        return {"kind": "died"}
    if kind == "model_limit":
        return {"kind": kind, "detail": f"{held.run.requests} times"}
    if kind == "not_read":
        return {"kind": kind, "detail": ", ".join(f'"{part}"' for part in held.run.unread)}
    if kind == "undo":
        return {"kind": "cancelled", "by": held.run.undo_requested_by}
    assert step is not None
    return {"kind": kind, "step": step.number, "tool": step.tool or None, "cause": step.error_class}


def release(held: Held, wait: Wait) -> None:
    """Let the run go, and say who must act."""
    backward = held.run.state in RUN_BACKWARD
    state = {
        "person": RunState.STUCK if backward else RunState.WAITING,
        "agent": RunState.OPEN,
        "time": RunState.ROLLING_BACK if backward else RunState.READY,
    }.get(wait.on)
    if state and state != held.run.state:
        move_run(held, state)
    for step in held.steps:
        if step.look_asked_at:  # what could be looked up has been: its tool has no lookup any more
            change(held, step, look_asked_at=None)
    seen = held.run.cancel_requested_at is not None
    due = wait.until or (held.now + timedelta(seconds=settings.RETRY_SECONDS) if wait.on == "time" else None)
    change(held, held.run, due_at=due, cancel_seen=seen, **FREE)


def let_go(held: Held) -> None:
    """The call in flight is recorded, and whoever is free goes on: this process stops, or its turn is over."""
    if held.run.state == RunState.RUNNING:
        move_run(held, RunState.READY, why="given back")
    change(held, held.run, due_at=None, **FREE)
    nudge(held.run.pk)


def finish(held: Held, state: RunState, spec: AgentSpec) -> None:
    """End the run with its one reply."""
    cancel_stuck(held)
    if is_halted(held.run):
        cancel_unsent(held)  # its agent may have proposed more, while what was in flight was settled
    if state is RunState.ABANDONED:
        rewind.refuse(held, spec)
    if state in (RunState.HANDED_OVER, RunState.ABANDONED):
        kind = held.run.stop["kind"] if held.run.stop else ""
        open_ticket(held, "undo_stuck" if state is RunState.ABANDONED else REASONS.get(kind, kind))
    close(held, state, spec)


def close(held: Held, state: RunState, spec: AgentSpec) -> None:
    """Say the one reply, and let the run go for good."""
    text = reply(held.run, held.steps, spec, state, held.now)
    summary = held.run.rewound_at is not None
    add(held, Message(thread=held.run.thread, run=held.run, role="agent", text=text, summary=summary))
    move_run(held, state)
    change(held, held.run, due_at=None, undo_requested_at=None, **FREE)


def open_ticket(held: Held, reason: str) -> None:
    """Hand the run to a person; its ticket is computed from the rows (runs/handover.py)."""
    if held.run.handover_at is None:
        change(held, held.run, handover_reason=reason, handover_at=held.now)
        record(held, "handover.opened", data={"reason": reason})
