"""What a step becomes when something is learnt about it: pure functions from a step to its changes.

Each takes a `StepView` and gives the fields that change, by name; the engine applies them to the row, the
model checker to its model. Standard library only.
"""

from datetime import datetime, timedelta
from typing import Any

from runs.states import StepState
from runs.view import StepView

Changes = dict[str, Any]
LOOKUP_TRIES = 4
NO_NEWS = (
    frozenset(  # where a late success changes nothing: of a write it is known; the others can only be reads
        {
            StepState.PERFORMED,
            StepState.UNDONE,
            StepState.REFUSED,
            StepState.NEEDS_APPROVAL,
            StepState.DECLINED,
        }
    )
)
UNDO_SENDS = 4  # in all, unless a person asks for more
MOST_COUNTED = 100  # lookups of a question


def back_off(calls: int, first: timedelta, most: timedelta = timedelta(minutes=5)) -> timedelta:
    """The pause after this many calls: doubling, up to `most`."""
    doubled: timedelta = first * 2 ** max(min(calls, 20) - 1, 0)
    return min(doubled, most)


def asked(step: StepView, kind: str, now: datetime, pause: timedelta, *, by_agent: bool = False) -> Changes:
    """The step becomes a question of this kind: confirm, outcome or undo.

    An unknown outcome is looked up again meanwhile, unless it is settled that it did not happen: then there is
    nothing more to learn, and a person says what follows. Where its agent's `reconcile` function looked, and wants
    a person, it is looked up when one asks, and never sent again by itself.
    """
    state = {"outcome": StepState.UNKNOWN, "undo": StepState.UNDO_STUCK}.get(kind, StepState.NEEDS_APPROVAL)
    fresh: Changes = {"state": state, "answer": "", "lookups": 0, "look_asked_at": None, "due_at": None}
    if kind != "outcome":
        return fresh
    if by_agent:
        return fresh | {"said": "waiting", "budget": step.calls}
    looks = step.lookup and step.said != "did_not_happen"
    return fresh | {"due_at": now + pause if looks else None}


def not_decided(step: StepView, now: datetime, pause: timedelta | None) -> Changes:
    """A request to the model brought no call. `pause` is until the next one; None: none is made."""
    calls = step.calls + 1
    return {"calls": calls, "budget": calls} if pause is None else {"calls": calls, "due_at": now + pause}


def sending(step: StepView, now: datetime, settle_after: timedelta, retention: timedelta | None) -> Changes:
    """The intent is recorded: from here until an outcome is known, the call may be on the wire.

    An undo that was answered but not proven is on the wire again. A sending may still land `settle_after`
    later, so the last one under a key leaves that much before the service forgets the key.
    """
    last = now + retention - settle_after if retention else None
    return {
        "state": StepState.SENT,
        "calls": step.calls + 1,
        "check": "",
        "said": "",
        "lookups": 0,
        "due_at": None,
        "settles_at": now + settle_after,
        "resend_until": step.resend_until or last,
        "doubt": "no_answer" if step.doubt == "unproven" else step.doubt,
    }


def called(step: StepView, verdict: str, now: datetime, pause: timedelta) -> Changes:
    """An attempt ended. `verdict` is performed, refused, unavailable, raised or in_doubt.

    Doubt is sticky: once one attempt was in doubt, a failure of a later one speaks of that one only. An undo
    that has a lookup is done only when the world says so. An undo that failed is tried again. What the late outcome
    of an earlier attempt settled stays settled.
    """
    if step.state is StepState.PERFORMED:
        return {}
    if verdict == "performed":
        proven = not (step.undoes and step.lookup)
        return {"state": StepState.PERFORMED} if proven else {"doubt": step.doubt or "unproven"}
    if not step.writes:
        final = verdict in ("refused", "raised")
        return {"state": StepState.FAILED} if final else {"state": StepState.APPROVED, "due_at": now + pause}
    if verdict == "in_doubt" or step.doubt:
        resends = step.retry_safe and not step.lookup  # anything else is looked up or asked about at once
        return {"doubt": step.doubt or "no_answer", "due_at": now + pause if resends else None}
    if verdict == "unavailable" or step.undoes:
        return {"state": StepState.APPROVED, "due_at": now + pause}
    return {"state": StepState.FAILED}


def looked_up(step: StepView, answer: str, now: datetime, pause: timedelta) -> Changes:
    """A lookup ended. `answer` is happened, did_not_happen, cannot_say or failed (the lookup itself).

    "Did not happen" is settled only once the call can no longer be on the wire; an undo whose service had
    answered is not on the wire, so there it means that the undo failed.
    """
    if answer == "happened":
        return {"state": StepState.PERFORMED, "said": "happened", "answer": ""}
    if step.state is StepState.UNKNOWN:
        return _looked_up_while_asked(step, answer, now, pause)
    if answer == "failed":
        tried = step.lookups + 1
        return {
            "lookups": tried,
            "due_at": now + pause,
            "said": "cannot_say" if tried >= LOOKUP_TRIES else "",
        }
    if answer == "cannot_say":
        return {"said": "cannot_say"}
    if step.doubt == "unproven":
        return {"state": StepState.APPROVED, "doubt": "", "due_at": now + pause}
    return {"said": _missed(step, now)}


def _missed(step: StepView, now: datetime) -> str:
    """The service knows nothing of the call: is that settled?"""
    settled = step.settles_at is None or now >= step.settles_at
    return "did_not_happen" if settled else "not_yet"


def _looked_up_while_asked(step: StepView, answer: str, now: datetime, pause: timedelta) -> Changes:
    """A lookup of a question ended, and did not find it. `pause` is until the next one by itself.

    Who asked for it is served, unless they asked after it had left (`now`), and makes no pause longer. An answer
    that came meanwhile stands.
    """
    served = step.look_asked_at is not None and step.look_asked_at <= now
    changes: Changes = {"look_asked_at": None} if served else {}
    if step.answer:
        return changes
    counted = step.lookups if served else min(step.lookups + 1, MOST_COUNTED)
    changes |= {"lookups": counted, "due_at": now + pause, "check": ""}
    if answer != "did_not_happen":
        return changes | ({"said": answer} if answer == "cannot_say" else {})
    if step.doubt == "unproven":
        return changes | {"state": StepState.APPROVED, "doubt": "", "due_at": None}
    missed = _missed(step, now)
    return changes | {"said": missed, "due_at": step.settles_at if missed == "not_yet" else None}


def interrupted(step: StepView) -> Changes:
    """Found `sent` by a worker that took the run over: a read runs again, anything else is in doubt.

    An undo that may be repeated has a call left for that, where it was to be tried once only (a saga's).
    """
    if not step.writes:
        return {"state": StepState.APPROVED}
    doubt: Changes = {"doubt": step.doubt or "interrupted"}
    again = step.undoes and step.retry_safe and step.calls < UNDO_SENDS
    return doubt | {"budget": max(step.budget, step.calls + 1)} if again else doubt


def settled(step: StepView, state: StepState) -> Changes:
    """The core moved the step, by the answer it carries or by what was learnt; an answer is used once."""
    changes: Changes = {"state": state, "answer": "", "check": "", "due_at": None}
    more = max(step.budget, step.calls + 1)
    if step.answer == "send_again":
        return changes | {"budget": more, "said": "send_again"}
    if step.answer == "retry":
        return changes | {"budget": more, "doubt": "", "said": ""}
    if state is StepState.APPROVED and step.answer:
        return changes | {"said": "", "doubt": ""}
    if state is StepState.NOT_PERFORMED and step.answer:  # a person's word: the closing look asks afresh
        return changes | {"said": "", "lookups": 0}
    return changes


def late(step: StepView, verdict: str) -> Changes:
    """The tool's own answer, that came after its worker had lost the run. It settles what is not settled yet.

    A success speaks for the whole entry, unless it is an undo that a lookup must prove; a failure speaks for the
    entry only where there was no other attempt. A read that a person is asked about, or had skipped, learns nothing.
    """
    open_states = (StepState.SENT, StepState.UNKNOWN)
    if verdict == "performed":
        believed = not (step.undoes and step.lookup)
        return {"state": StepState.PERFORMED, "answer": ""} if believed and step.state not in NO_NEWS else {}
    if verdict == "in_doubt" or step.state not in open_states or step.calls > 1 or not step.writes:
        return {}
    if step.undoes:
        return {"state": StepState.APPROVED, "doubt": "", "answer": "", "due_at": None}
    missed = StepState.NOT_PERFORMED if verdict == "unavailable" else StepState.FAILED
    return {"state": missed, "answer": ""}
