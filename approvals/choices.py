"""The answers that a question takes, and in plain words what each of them triggers."""

from collections.abc import Sequence

from approvals.question_page import Choice
from runs.agentfile import AgentSpec
from runs.left import left_if_it_fails
from runs.loading import is_halted
from runs.models import Step
from runs.parking import says_irreversible
from runs.replies import still_in_effect
from runs.states import RUN_ENDS, STEP_ENDS


def choices_of(step: Step, steps: Sequence[Step], spec: AgentSpec) -> tuple[Choice, ...]:
    return {"confirm": _confirm, "outcome": _outcome, "undo": _undo}[step.asks](step, steps, spec)


def _confirm(step: Step, steps: Sequence[Step], spec: AgentSpec) -> tuple[Choice, ...]:
    later = any(is_later(other, step) for other in steps)
    goes_on = "the run goes on" if later or step.run.opened else "the run ends"
    approve = (
        Choice("approve", "Approve…", "One more look before it runs.", "a", last_look=True)
        if says_irreversible(step.warnings)
        else Choice("approve", "Approve", "It runs now, exactly as shown.", "a")
    )
    return (
        approve,
        Choice("skip", "Skip this step", f"It does not run; {goes_on}.", "s", needs="reason"),
        Choice("cancel_all", "Cancel all", _cancel_words(step, steps, spec), "c", needs="reason"),
    )


def _cancel_words(step: Step, steps: Sequence[Step], spec: AgentSpec) -> str:
    kept = step.run.mode == "keep"
    left = left_if_it_fails(still_in_effect(steps, spec), spec, kept=kept)
    if kept:
        return "The run stops and is handed over; nothing is undone."
    if not left.undone:
        return (
            "The run stops; what it did stays."
            if left.stays
            else "The run stops; it has changed nothing yet."
        )
    names = ", ".join(write.by for write in left.undone)
    return (
        f"The run stops; {names} undoes what it did."
        if len(left.undone) == 1
        else f"The run stops; undone by {names}."
    )


def _outcome(step: Step, steps: Sequence[Step], spec: AgentSpec) -> tuple[Choice, ...]:
    if step.run.state in RUN_ENDS:
        return _outcome_at_last()
    if step.undoes_id:
        missed = "The undo is tried again."
    elif step.run.mode == "keep":
        missed = "The run stops and is handed over."
    else:
        missed = "The run stops and what it did before is undone."
    return (
        Choice(
            "happened", "It happened", "The run goes on as if the call had answered.", "a", needs="reason"
        ),
        Choice("did_not_happen", "It did not happen", missed, "s", needs="reason"),
        Choice(
            "send_again", "Send it again", "The same call goes out under the same key.", "c", needs="reason"
        ),
    )


def _outcome_at_last() -> tuple[Choice, ...]:
    """The run has ended, and nothing more is sent."""
    effect = "The record says so; nothing follows by itself."
    return (
        Choice("happened", "It happened", effect, "a", needs="reason"),
        Choice("did_not_happen", "It did not happen", effect, "s", needs="reason"),
    )


def if_looked_up(step: Step) -> str:
    """What the lookup's answer leads to by itself."""
    run = step.run
    if (run.cancel_requested_at or run.gave_up or is_halted(run)) and not step.undoes_id:
        missed = "the run stops, as it was to"
    elif step.calls < step.budget:
        missed = "the same call goes out again under its key, as soon as the first can no longer arrive"
    else:
        missed = (
            "the undo is stuck, and asked about" if step.undoes_id else "it is for you to say what follows"
        )
    return f"Where it happened, no answer is needed any more. Where it did not, {missed}."


def _undo(step: Step, steps: Sequence[Step], spec: AgentSpec) -> tuple[Choice, ...]:
    write = step.undoes.tool if step.undoes else step.tool
    return (
        Choice("retry", "Retry", f"{step.tool} is sent again, under the same key.", "a"),
        Choice(
            "done_by_hand",
            "Done by hand",
            f"Somebody undid {write} elsewhere; the next one follows.",
            "s",
            needs="reference",
        ),
        Choice(
            "abandon",
            "Abandon",
            "Nothing more is undone; the reply lists what is left.",
            "c",
            needs="reason",
        ),
    )


def is_later(step: Step, this: Step) -> bool:
    """Whether a step comes after this one, and may still run."""
    return step.number > this.number and step.undoes_id is None and step.state not in STEP_ENDS
