"""Parking a step as a question: what it asks, of whom, with which warnings, and the digest that binds the answer."""

from datetime import timedelta
from typing import Any

from django.conf import settings

from runs.agentfile import AgentSpec
from runs.digest import sha256
from runs.loading import undo_of
from runs.models import Step
from runs.replies import still_in_effect
from runs.states import STEP_ENDS, StepState
from runs.transitions import Held, move_step

CANNOT_UNDO = "Nothing can undo this step once it runs."
LATER_CANNOT_UNDO = "Nothing undoes this step, and the steps after it cannot undo it."
STATES = {"confirm": StepState.NEEDS_APPROVAL, "outcome": StepState.UNKNOWN, "undo": StepState.UNDO_STUCK}
OPERATOR = "operator"


def park(held: Held, step: Step, kind: str, spec: AgentSpec) -> dict[str, Any]:
    """The fields of a step that becomes a question of this kind."""
    tool = spec.catalogue.get(step.tool)
    confirm = kind == "confirm"
    fields: dict[str, Any] = {
        "asks": kind,
        "asked": step.asked + 1,
        "asked_at": held.now,
        "expires_at": held.now + timedelta(seconds=settings.QUESTION_SECONDS),
        "approver": tool.approver if confirm and tool else OPERATOR,
        "warnings": warnings(held, step, spec) if confirm else [],
        "question": question(held, step, kind, spec),
        "answer": "",
        "answered_by": "",
        "answer_data": None,
    }
    if confirm and tool:
        fields["fingerprint"] = tool.fingerprint
    return fields | {"digest": digest(step, fields)}


def digest(step: Step, fields: dict[str, Any]) -> str:
    """SHA-256 over everything that the person is shown and bound to (docs/contract.md)."""
    return sha256(
        {
            "run": step.run_id,
            "step": step.number,
            "kind": fields["asks"],
            "asked": fields["asked"],
            "attempts": step.calls,
            "said": step.said,
            "tool": step.tool,
            "fingerprint": fields.get("fingerprint", step.fingerprint),
            "args": step.args,
            "approver": fields["approver"],
            "warnings": fields["warnings"],
        }
    )


def ask(held: Held, step: Step, kind: str, spec: AgentSpec) -> None:
    """Park the step."""
    fields = park(held, step, kind, spec)
    data = {
        "kind": kind,
        "digest": fields["digest"],
        "approver": fields["approver"],
        "warnings": fields["warnings"],
    }
    move_step(held, step, STATES[kind], data=data, **fields)


def warnings(held: Held, step: Step, spec: AgentSpec) -> list[str]:
    """Both lines of S0: it is irreversible; and a later failure would undo other writes of the run but not this."""
    tool = spec.catalogue.get(step.tool)
    if tool is None or not tool.irreversible:
        return []
    earlier = any(
        undo_of(write, spec.catalogue.get(write.tool), spec) for write in still_in_effect(held.steps, spec)
    )
    later = any(
        undo_of(other, spec.catalogue.get(other.tool), spec)
        for other in held.steps
        if other.number > step.number and other.undoes_id is None and other.state not in STEP_ENDS
    )
    return [CANNOT_UNDO, LATER_CANNOT_UNDO] if earlier or later else [CANNOT_UNDO]


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
    left = [w for w in still_in_effect(held.steps, spec) if undo_of(w, spec.catalogue.get(w.tool), spec)]
    return (
        f"Undoing {write} failed after {step.calls} tries ({cause}). {len(left)} step(s) still need undoing."
    )
