"""The ledger: an entry is written before anything is sent, and settled after.

`intend` and `settle` run inside the engine's transaction; what lies between them is the call itself.
"""

from datetime import timedelta
from typing import Any

from django.conf import settings

from runs import outcomes, rows
from runs.digest import action_key, step_key
from runs.models import Attempt, LedgerEntry, Step
from runs.rulebook import Ruling
from runs.states import STEP_ENDS, EntryState, StepState
from runs.tools.dispatch import Outcome
from runs.tools.registry import Tool
from runs.transitions import Held, add, by_lookup, change, move_entry, move_step, record
from runs.view import StepView

ENTRY_OF_STEP = {
    StepState.PERFORMED: EntryState.PERFORMED,
    StepState.FAILED: EntryState.FAILED,
    StepState.NOT_PERFORMED: EntryState.NOT_PERFORMED,
    StepState.UNKNOWN: EntryState.UNKNOWN,
    StepState.UNDO_STUCK: EntryState.FAILED,
    # Not sent again: what was sent before did not get there.
    StepState.CANCELLED: EntryState.FAILED,
    StepState.DECLINED: EntryState.FAILED,
    StepState.REFUSED: EntryState.FAILED,
}


def timeout_of(tool: Tool) -> float:
    """Seconds that one call of this tool may take."""
    return tool.timeout or settings.CALL_TIMEOUT_SECONDS


def settle_after_of(tool: Tool) -> float:
    """Seconds after which a sending of this tool can no longer be on the wire."""
    return tool.settle_after or 2 * timeout_of(tool)


def intend(held: Held, step: Step, view: StepView, tool: Tool, ruling: Ruling) -> Attempt:
    """Record that this call is about to leave: tool, arguments, key, attempt number, and what allowed it."""
    settle_after = timedelta(seconds=settle_after_of(tool))
    retention = timedelta(seconds=tool.key_retention) if tool.key_retention else None
    changes = outcomes.sending(view, held.now, settle_after, retention)
    del changes["check"], changes["state"]  # the ruling was kept in memory, and is used up
    entry = _entry(held, step, tool)
    changes |= {"entry": entry, "sent_at": held.now}
    said = {"key": entry.key, "attempt": changes["calls"], **ruling.said(), **by_lookup(step)}
    if step.state == StepState.SENT:
        change(held, step, **changes)
        record(held, "step.sent_again", step, data=said)
    else:
        move_step(held, step, StepState.SENT, data=said, **changes)
    return _attempt(held, step, entry)


def key_of(held: Held, step: Step, tool: Tool) -> str:
    """The key of a step's change. Reads and undos are always named by their place in the thread."""
    if held.run.keys == "action" and tool.writes and step.undoes_id is None:
        return action_key(held.run.ticket, step.tool, step.args)
    return step_key(str(step.thread_id), step.number, step.tool, step.args)


def earlier(held: Held, step: Step, tool: Tool) -> LedgerEntry | None:
    """The entry that another run made for this very action of the same ticket. Locks the action until the commit."""
    if step.entry_id or held.run.keys != "action":
        return None
    key = key_of(held, step, tool)
    rows.one("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [key])
    return LedgerEntry.objects.filter(pk=key).first()


def _entry(held: Held, step: Step, tool: Tool) -> LedgerEntry:
    """The entry of a step, counted up for one more call."""
    entry = step.entry or earlier(held, step, tool)
    if entry is None:
        entry = LedgerEntry(
            key=key_of(held, step, tool), tool=step.tool, args=step.args, fingerprint=tool.fingerprint
        )
        entry.calls, entry.first_sent_at, entry.last_sent_at = 1, held.now, held.now
        add(held, entry)
        return entry
    if entry.state != EntryState.INTENDED:
        move_entry(held, entry, EntryState.INTENDED)
    change(held, entry, calls=entry.calls + 1, last_sent_at=held.now)
    return entry


def _attempt(held: Held, step: Step, entry: LedgerEntry) -> Attempt:
    epoch, number = held.run.lease_epoch, step.calls
    attempt = Attempt(entry=entry, step=step, number=number, epoch=epoch, worker=held.owner, sent_at=held.now)
    add(held, attempt)
    return attempt


def settle(held: Held, step: Step, attempt: Attempt, outcome: Outcome, changes: dict[str, Any]) -> None:
    """Record what became of an attempt, and what the step becomes by it."""
    failed = {"error_class": outcome.error_class, "error": outcome.error}
    change(held, attempt, verdict=outcome.verdict, finished_at=held.now, **failed)
    said = {"verdict": str(outcome.verdict), "attempt": attempt.number}
    if outcome.error_class:
        said |= failed
    reason = str(outcome.verdict) if outcome.verdict in ("refused", "raised") else ""
    apply(
        held,
        step,
        changes | failed | {"reason": reason},
        result=outcome.result,
        data=said,
        quiet="step.attempt_ended",
    )


def apply(
    held: Held,
    step: Step,
    changes: dict[str, Any],
    *,
    result: Any = None,
    data: dict[str, Any] | None = None,
    actor: str = "engine",
    quiet: str = "",
    by_hand: bool = False,
) -> None:
    """Make these changes of a step; where its state moves, move its entry too, and say so in the record.

    `quiet` is the kind of the line that is written where the state does not move. `by_hand`: somebody did it
    outside, so the entry, which names our own call, stays as it is.
    """
    changes = dict(changes)
    state = changes.pop("state", step.state)
    changes.pop("check", None)
    if state in (StepState.PERFORMED, StepState.FAILED, StepState.NOT_PERFORMED):
        changes["ended_at"] = held.now
    if state == StepState.PERFORMED and _is_anothers(held, step):
        changes["replayed"] = True
    if state == step.state:
        change(held, step, **changes)
        if quiet:
            record(held, quiet, step, data=data)
    else:
        move_step(held, step, StepState(state), actor=actor, data=data, **changes)
    if not by_hand:
        settle_entry(held, step, result)


def _is_anothers(held: Held, step: Step) -> bool:
    """This step had ended, and since then another run sent the very action: what happened is that run's to undo."""
    if held.run.keys != "action" or step.state not in STEP_ENDS:
        return False
    since = Attempt.objects.filter(entry=step.entry_id, sent_at__gt=step.sent_at)
    return since.exclude(step=step).exists()


def settle_entry(held: Held, step: Step, result: Any = None) -> None:
    """The entry follows its step. One that was performed stays so, whatever a later attempt of another run says."""
    entry, state = step.entry, ENTRY_OF_STEP.get(StepState(step.state))
    if entry is None:
        return
    if result is not None:
        change(held, entry, result=result)
    if state is not None and entry.state not in (state, EntryState.PERFORMED):
        settled_at = None if state is EntryState.UNKNOWN else held.now
        move_entry(held, entry, state, settled_at=settled_at)
