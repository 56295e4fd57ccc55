"""Parking a step as a question: what it asks, of whom, with which warnings, and the digest that binds the answer."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

from django.conf import settings

from runs import outcomes
from runs.agentfile import AgentSpec
from runs.digest import sha256
from runs.ledger import settle_entry
from runs.loading import closes_at, step_view, undoable
from runs.marks import Mark, marks_of, warning
from runs.models import Step
from runs.replies import still_in_effect
from runs.rulebook import Ruling
from runs.rulebook.check import who_answers
from runs.rulebook.record import RecordedPast, call_of
from runs.states import STEP_ENDS, StepState
from runs.transitions import Held, by_lookup, change, move_step, record

CANNOT_UNDO = "Nothing can undo this step once it runs."
LATER_CANNOT_UNDO = "Nothing undoes this step, and the steps after it cannot undo it."
OPERATOR = "operator"
LOOK_MOST = timedelta(hours=1)  # between two lookups of a question
TOLD = ("digest", "approver", "not_by", "warnings", "covers")  # of a question, in the record


def ask(held: Held, step: Step, kind: str, spec: AgentSpec, said: str | None = None) -> None:
    """Park the step as a question of this kind; `said` is what its agent's `reconcile` function says beside it."""
    covered = _covered(held, step, spec) if kind == "confirm" and held.run.confirm == "plan" else []
    fields = park(held, step, kind, spec, covered, said)
    for other in covered:
        fingerprint = spec.catalogue[other.tool].fingerprint
        marks = [mark.as_json() for mark in marks_of(held, other, spec)]
        change(held, other, fingerprint=fingerprint, consent=fields["consent"], marks=marks)
    said_last = fields.get("said", step.said)
    shown = {"kind": kind, "said": said_last} | {name: fields[name] for name in TOLD} | by_lookup(step)
    if fields.get("marks"):
        shown["marks"] = fields["marks"]
    ruling = held.rulings.get(step.number)
    if ruling and (kind == "confirm" or ruling.verdict == "refused"):
        shown |= ruling.said()
    move_step(held, step, fields.pop("state"), data=shown, **fields)
    settle_entry(held, step)


def reword(held: Held, step: Step, spec: AgentSpec) -> None:
    """What a lookup said is part of what a person sees: another answer of it is another digest.

    The same answer once more changes nothing, so that what somebody is writing meanwhile is still taken.
    """
    if step.state != StepState.UNKNOWN or step.answer:
        return
    told = {name: getattr(step, name) for name in (*TOLD, "asks", "asked")}
    told["digest"] = digest(step, told, (), spec)
    if told["digest"] != step.digest:
        change(held, step, digest=told["digest"])
        record(held, "question.changed", step, data={"said": step.said} | {name: told[name] for name in TOLD})


def look_pause(looks: int) -> timedelta:
    """How long a question waits for its next lookup, after this many."""
    first = timedelta(seconds=settings.LOOK_AGAIN_SECONDS)
    return outcomes.back_off(looks + 1, first, LOOK_MOST)


def park(
    held: Held, step: Step, kind: str, spec: AgentSpec, covered: Sequence[Step] = (), said: str | None = None
) -> dict[str, Any]:
    """The fields of a step, its state among them, that becomes a question of this kind; it asks about `covered` too."""
    tool = spec.catalogue.get(step.tool)
    view, confirm = step_view(held, step, spec), kind == "confirm"
    asks = _asked(held, step, spec) if confirm else Ruling("ask", kind, spec.rule_version, approver=OPERATOR)
    marks = marks_of(held, step, spec) if confirm else []
    warned = _all_warnings(held, step, marks, covered, spec) if confirm else []
    within = spec.answered_within(held.run.task)
    fields: dict[str, Any] = {
        **outcomes.asked(view, kind, held.now, look_pause(0), by_agent=said is not None),
        "asks": kind,
        "asked": step.asked + 1,
        "asked_at": held.now,
        "waits": True,
        "expires_at": held.now + within if within else None,
        "escalated_at": None,
        "escalated_to": "",
        "approver": asks.approver,
        "not_by": list(asks.not_by),
        "warnings": [*warned, said] if said else warned,
        "covers": [other.number for other in covered],
        "question": question(held, step, kind, spec),
        "answered_by": "",
        "answer_data": None,
    }
    if confirm and tool:
        fields["fingerprint"] = tool.fingerprint
        fields["consent"] = {"approver": asks.approver, "not_by": list(asks.not_by)}
        fields["marks"] = [mark.as_json() for mark in marks]
    return fields | {"digest": digest(step, fields, covered, spec)}


def _covered(held: Held, step: Step, spec: AgentSpec) -> list[Step]:
    """The later writes of the proposal that would ask the same people. A read speaks for itself alone."""
    if not spec.catalogue[step.tool].writes:
        return []
    asked = _asked(held, step, spec)
    later = (
        other
        for other in held.steps
        if other.number > step.number and other.state == StepState.PROPOSED and other.undoes_id is None
    )
    return [other for other in later if _asks_the_same(held, other, spec, asked)]


def _asked(held: Held, step: Step, spec: AgentSpec) -> Ruling:
    """Who is asked: as the check said; where its agent's `reconcile` function asks, whom the rules or the tool name."""
    tool = spec.catalogue.get(step.tool)
    by_tool = Ruling("ask", "confirm", spec.rule_version, approver=tool.approver if tool else OPERATOR)
    by_rules = held.rulings.get(step.number) or who_answers(
        spec, call_of(step), RecordedPast(held, step, spec)
    )
    return by_rules if by_rules.verdict == "ask" else by_tool


def _asks_the_same(held: Held, step: Step, spec: AgentSpec, asked: Ruling) -> bool:
    tool = spec.tools.get(step.tool)
    if tool is None or not tool.writes:
        return False
    asks = who_answers(spec, call_of(step), RecordedPast(held, step, spec))
    return asks.verdict == "ask" and (asks.approver, asks.not_by) == (asked.approver, asked.not_by)


def digest(step: Step, fields: dict[str, Any], covered: Sequence[Step], spec: AgentSpec) -> str:
    """SHA-256 over everything that the person is shown and bound to (docs/contract.md)."""
    bound = {
        "run": step.run_id,
        "kind": fields["asks"],
        "asked": fields["asked"],
        "attempts": step.calls,
        "said": fields.get("said", step.said),
        "approver": fields["approver"],
        "warnings": fields["warnings"],
        **_call(step, fields.get("fingerprint", step.fingerprint)),
    }
    if fields.get("marks"):
        bound["marks"] = fields["marks"]
    if fields["not_by"]:
        bound["not_by"] = fields["not_by"]
    if covered:
        bound["covers"] = [_call(other, spec.catalogue[other.tool].fingerprint) for other in covered]
    return sha256(bound)


def _call(step: Step, fingerprint: str) -> dict[str, Any]:
    return {"step": step.number, "tool": step.tool, "fingerprint": fingerprint, "args": step.args}


def _all_warnings(
    held: Held, step: Step, marks: Sequence[Mark], covered: Sequence[Step], spec: AgentSpec
) -> list[str]:
    others = [
        f"Step {other.number}, {other.tool}: {line}"
        for other in covered
        for line in [*warnings(held, other, spec), *warning(marks_of(held, other, spec))]
    ]
    return [*warnings(held, step, spec), *warning(marks), *others]


def says_irreversible(lines: Iterable[str]) -> bool:
    """Whether a question was parked with the warning that nothing undoes what it asks about."""
    return any(CANNOT_UNDO in line for line in lines)


def warnings(held: Held, step: Step, spec: AgentSpec) -> list[str]:
    """Both lines of S0: it is irreversible; and a later failure would undo other writes of the run but not this."""
    if not _is_irreversible(held, step, spec):
        return []
    earlier = any(undoable(write, spec, held.now) for write in still_in_effect(held.steps, spec))
    later = any(
        undoable(other, spec, held.now)
        for other in held.steps
        if other.number > step.number and other.undoes_id is None and other.state not in STEP_ENDS
    )
    return [CANNOT_UNDO, LATER_CANNOT_UNDO] if earlier or later else [CANNOT_UNDO]


def _is_irreversible(held: Held, step: Step, spec: AgentSpec) -> bool:
    """Its tool says so; or the time in which it could be undone is over already."""
    tool = spec.catalogue.get(step.tool)
    closes = closes_at(step, tool)
    return bool(tool and tool.irreversible) or (closes is not None and held.now >= closes)


def question(held: Held, step: Step, kind: str, spec: AgentSpec) -> str:
    """The question's own text; a confirmation's is the call itself."""
    if kind == "outcome":
        how = (
            "It was being sent when the run stopped."
            if step.doubt == "interrupted"
            else ("The call was sent and no answer came back.")
        )
        return f"Did {step.tool} take effect? {how}"
    if kind == "undo":
        return _stuck(held, step, spec)
    return ""


def _stuck(held: Held, step: Step, spec: AgentSpec) -> str:
    write = step.undoes.tool if step.undoes else step.tool
    ruling = held.rulings.get(step.number)
    refused = ruling.rule if ruling and ruling.verdict == "refused" else ""
    cause = refused or step.error_class or "it did not take effect"
    return f"Undoing {write} failed after {step.calls} tries ({cause}). {_still_to_undo(held, step, spec)}"


def _still_to_undo(held: Held, step: Step, spec: AgentSpec) -> str:
    left = [
        w for w in still_in_effect(held.steps, spec) if w.pk == step.undoes_id or undoable(w, spec, held.now)
    ]
    return f"{len(left)} step(s) still need undoing."


def recount(held: Held, spec: AgentSpec) -> None:
    """Stuck undos say how much is left by now, and stay the same questions. A best-effort rollback may have several."""
    for step in held.steps:
        if step.state == StepState.UNDO_STUCK:
            failed = step.question.rpartition(". ")[0]
            change(held, step, question=f"{failed}. {_still_to_undo(held, step, spec)}")
