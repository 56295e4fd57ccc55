"""The states of a run, a step and a ledger entry, and the moves between them that are allowed.

A state says who must act. Nothing else in the code decides whether a move is allowed; the drawings in
docs/states.md are made from the tables below. Standard library only.
"""

from collections.abc import Mapping
from enum import StrEnum


class RunState(StrEnum):
    """What a run is doing, or how it ended."""

    OPEN = "open"  # its agent may propose the next call
    READY = "ready"  # the machine's turn; with `due_at` while it waits for time
    RUNNING = "running"
    WAITING = "waiting"  # a person's turn
    ROLLING_BACK = "rolling_back"
    STUCK = "stuck"  # a rollback parked on a person
    SUCCEEDED = "succeeded"
    ROLLED_BACK = "rolled_back"
    ABANDONED = "abandoned"
    FAILED = "failed"
    HANDED_OVER = "handed_over"


class StepState(StrEnum):
    """Where one tool call of a run stands; an undo is a step too."""

    DECIDING = "deciding"  # its model is asked which call it is
    PROPOSED = "proposed"
    NEEDS_APPROVAL = "needs_approval"
    APPROVED = "approved"  # by a person; or about to be sent again
    SENT = "sent"  # a call may be on the wire, or its outcome is in doubt
    PERFORMED = "performed"
    FAILED = "failed"  # the tool raised, or the service refused
    NOT_PERFORMED = "not_performed"  # it was in doubt, and it did not happen
    UNKNOWN = "unknown"  # nobody knows; a person is asked
    DECLINED = "declined"  # a person skipped it
    REFUSED = "refused"  # by our own check
    UNDONE = "undone"
    UNDO_STUCK = "undo_stuck"  # an undo past its tries; a person is asked
    CANCELLED = "cancelled"  # never sent: the run stopped before it


class EntryState(StrEnum):
    """What is known of one named change."""

    INTENDED = "intended"
    PERFORMED = "performed"
    FAILED = "failed"
    NOT_PERFORMED = "not_performed"
    UNKNOWN = "unknown"


RUN_ENDS = frozenset(
    {
        RunState.SUCCEEDED,
        RunState.ROLLED_BACK,
        RunState.ABANDONED,
        RunState.FAILED,
        RunState.HANDED_OVER,
    }
)
RUN_FORWARD = frozenset({RunState.OPEN, RunState.READY, RunState.RUNNING, RunState.WAITING})
RUN_BACKWARD = frozenset({RunState.ROLLING_BACK, RunState.STUCK})

# A parked step is the question; this is what it asks (docs/contract.md).
PARKED = frozenset({StepState.NEEDS_APPROVAL, StepState.UNKNOWN, StepState.UNDO_STUCK})
# The outcome may still change the world, or be learnt: nothing is undone meanwhile.
IN_FLIGHT = frozenset({StepState.SENT, StepState.UNKNOWN})
# Nothing of it has left; a run that stops cancels it.
UNSENT = frozenset({StepState.DECIDING, StepState.PROPOSED, StepState.NEEDS_APPROVAL, StepState.APPROVED})
STEP_ENDS = frozenset(
    {
        StepState.PERFORMED,
        StepState.FAILED,
        StepState.NOT_PERFORMED,
        StepState.DECLINED,
        StepState.REFUSED,
        StepState.UNDONE,
        StepState.CANCELLED,
    }
)
# Why a run was halted: it ends `failed`, and nothing is undone by itself (runs/halts.py).
HALTS = frozenset({"reconcile_conflict", "internal_error", "agent_gone"})
# A forward step that ended like this stops its run.
STEP_STOPS = frozenset({StepState.FAILED, StepState.NOT_PERFORMED, StepState.REFUSED})

_R, _S, _E = RunState, StepState, EntryState

RUN_MOVES: Mapping[RunState, frozenset[RunState]] = {
    _R.OPEN: frozenset(
        {_R.READY, _R.RUNNING, _R.WAITING, _R.ROLLING_BACK, _R.SUCCEEDED, _R.FAILED, _R.HANDED_OVER}
    ),
    _R.READY: frozenset(
        {_R.RUNNING, _R.WAITING, _R.OPEN, _R.ROLLING_BACK, _R.SUCCEEDED, _R.FAILED, _R.HANDED_OVER}
    ),
    _R.RUNNING: frozenset(
        {_R.READY, _R.WAITING, _R.OPEN, _R.ROLLING_BACK, _R.SUCCEEDED, _R.FAILED, _R.HANDED_OVER}
    ),
    _R.WAITING: frozenset({_R.RUNNING, _R.ROLLING_BACK, _R.FAILED, _R.HANDED_OVER}),
    _R.ROLLING_BACK: frozenset({_R.STUCK, _R.ROLLED_BACK, _R.ABANDONED, _R.FAILED, _R.HANDED_OVER}),
    _R.STUCK: frozenset({_R.ROLLING_BACK, _R.ABANDONED, _R.FAILED, _R.HANDED_OVER}),
    # An operator undoes a finished run; a late outcome is undone.
    _R.SUCCEEDED: frozenset({_R.ROLLING_BACK}),
    _R.ROLLED_BACK: frozenset({_R.ROLLING_BACK}),
    _R.ABANDONED: frozenset({_R.ROLLING_BACK}),
    _R.FAILED: frozenset({_R.ROLLING_BACK}),
    _R.HANDED_OVER: frozenset({_R.ROLLING_BACK}),
}

STEP_MOVES: Mapping[StepState, frozenset[StepState]] = {
    _S.DECIDING: frozenset({_S.PROPOSED, _S.FAILED, _S.CANCELLED}),
    # What the check allows without asking anybody is sent: proposed -> sent. An undo that it refuses is stuck at
    # once: proposed -> undo_stuck. An action that another run of its ticket performed is replayed: proposed or
    # approved -> performed.
    _S.PROPOSED: frozenset(
        {
            _S.NEEDS_APPROVAL,
            _S.APPROVED,
            _S.SENT,
            _S.DECLINED,
            _S.REFUSED,
            _S.UNDO_STUCK,
            _S.CANCELLED,
            _S.PERFORMED,
        }
    ),
    _S.NEEDS_APPROVAL: frozenset({_S.APPROVED, _S.DECLINED, _S.CANCELLED}),
    # It is checked again between approval and sending.
    _S.APPROVED: frozenset(
        {_S.SENT, _S.NEEDS_APPROVAL, _S.REFUSED, _S.UNDO_STUCK, _S.CANCELLED, _S.FAILED, _S.PERFORMED}
    ),
    _S.SENT: frozenset({_S.PERFORMED, _S.FAILED, _S.NOT_PERFORMED, _S.UNKNOWN, _S.APPROVED, _S.UNDO_STUCK}),
    # A lookup that settles an undo which may not be sent again: unknown -> undo_stuck.
    _S.UNKNOWN: frozenset({_S.SENT, _S.PERFORMED, _S.NOT_PERFORMED, _S.APPROVED, _S.FAILED, _S.UNDO_STUCK}),
    _S.PERFORMED: frozenset({_S.UNDONE}),
    # A late outcome may show that it did happen.
    _S.NOT_PERFORMED: frozenset({_S.PERFORMED}),
    _S.FAILED: frozenset({_S.PERFORMED}),
    _S.UNDO_STUCK: frozenset({_S.APPROVED, _S.PERFORMED, _S.CANCELLED}),
    _S.DECLINED: frozenset(),
    _S.REFUSED: frozenset(),
    _S.UNDONE: frozenset(),
    # An operator undoes an abandoned run after all: its abandoned undo is tried anew.
    # The late outcome of one that was abandoned: performed.
    _S.CANCELLED: frozenset({_S.PROPOSED, _S.PERFORMED}),
}

ENTRY_MOVES: Mapping[EntryState, frozenset[EntryState]] = {
    _E.INTENDED: frozenset({_E.PERFORMED, _E.FAILED, _E.NOT_PERFORMED, _E.UNKNOWN}),
    _E.UNKNOWN: frozenset({_E.INTENDED, _E.PERFORMED, _E.NOT_PERFORMED, _E.FAILED}),
    # Sent again under the same key; or a late outcome.
    _E.FAILED: frozenset({_E.INTENDED, _E.PERFORMED}),
    _E.NOT_PERFORMED: frozenset({_E.INTENDED, _E.PERFORMED}),
    _E.PERFORMED: frozenset(),
}
