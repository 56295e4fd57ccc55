"""A run that a person must take over as it is: it ends `failed` with a ticket, and nothing is undone by itself.

| why (the ticket's reason) | when |
| --- | --- |
| reconcile_conflict | its agent's `reconcile` function finds a contradiction, or waits for nothing |
| internal_error | that function fails, or gives no answer; a row does not decode; a bug of ours, tried many times |
| agent_gone | its agent has been unknown for many tries, and an operator cancelled it |

`halt` is for a run that can still be carried on: it ends once what is in flight is settled, by the ordinary loop.
`end_now` is for one that cannot: it ends at once, and what is in flight becomes a question that outlives it.
"""

import logging

from django.db import transaction

from runs import ledger, outcomes
from runs.agentfile import AgentSpec, spec_of
from runs.decoding import damage_of
from runs.endings import FREE, close, open_ticket
from runs.loading import step_view
from runs.models import Run, Step
from runs.moves import cancel_unsent
from runs.parking import ask, park
from runs.states import RUN_ENDS, UNSENT, RunState, StepState
from runs.tools.dispatch import storable
from runs.transitions import Held, change, clock, flush, move_step, record

log = logging.getLogger(__name__)


def halt(held: Held, reason: str, detail: str) -> None:
    """Nothing more is sent. The core settles what is in flight, and then ends the run."""
    _say_why(held, reason, detail)
    cancel_unsent(held)


def _say_why(held: Held, reason: str, detail: str) -> None:
    stop = {"kind": reason, "detail": storable(detail).rstrip(".")}
    change(held, held.run, stop=stop)
    record(held, "run.halted", data={"why": stop})
    open_ticket(held, reason)


@transaction.atomic
def end_now(run_id: int, reason: str, detail: str) -> None:
    """End a run that cannot be carried on, unless somebody holds it. One that has ended is left at that."""
    free = Run.objects.unheld().select_for_update(of=("self",)).select_related("thread")
    run = free.filter(pk=run_id).first()
    if run is None:
        return
    held, spec = Held(run, "", clock()), spec_of(run.thread.agent)
    held.take(Step.objects.filter(run=run).select_related("entry", "undoes").order_by("number"))
    if run.state in RUN_ENDS:
        if not (run.undo_requested_at or run.late):
            return  # somebody was faster
        _withdraw(held, reason, detail)
    else:
        _say_why(held, reason, detail)
        _put_to_rest(held, spec)
        close(held, RunState.FAILED, spec)
    flush(held)


def _withdraw(held: Held, reason: str, detail: str) -> None:
    """It had ended, and was to be undone, or to read what came late: that cannot be done."""
    record(held, "run.left_as_it_is", data={"why": {"kind": reason, "detail": detail}})
    change(held, held.run, undo_requested_at=None, late=False, due_at=None, **FREE)
    open_ticket(held, reason)


def _put_to_rest(held: Held, spec: AgentSpec) -> None:
    """A row that is damaged, or that our bug is about, stays as it is: its state says what is known."""
    for step in held.steps:
        try:
            if not damage_of(step):
                _rest(held, step, spec)
        except Exception as error:  # noqa: BLE001 (a bug that ends a run must not keep it from ending)
            log.error("%s of %s stays as it is: %s", step, held.run.name, type(error).__name__)


def _rest(held: Held, step: Step, spec: AgentSpec) -> None:
    """What was never sent is cancelled, and so is a read; what may have taken effect is asked about."""
    if step.state == StepState.SENT:
        ledger.apply(held, step, outcomes.interrupted(step_view(held, step, spec)))
    if step.state in UNSENT or step.state == StepState.UNDO_STUCK:
        move_step(held, step, StepState.CANCELLED, answer="")
        ledger.settle_entry(held, step)
    elif step.state == StepState.SENT:
        ask(held, step, "outcome", spec)
    elif step.state == StepState.UNKNOWN and step.answer == "send_again":
        change(held, step, **park(held, step, "outcome", spec))  # a run that has ended sends nothing
