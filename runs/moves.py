"""What the engine does to steps that needs nothing from outside: check, settle, add an undo, cancel."""

from dataclasses import replace

from django.db.models import Q

from runs import ledger, outcomes, rows
from runs.agentfile import AgentSpec
from runs.loading import step_view, undo_named
from runs.marks import marks_of
from runs.models import Step, Thread
from runs.parking import recount
from runs.rulebook import Ruling
from runs.rulebook.check import by_rules, outright
from runs.rulebook.record import RecordedPast, call_of
from runs.states import RUN_BACKWARD, UNSENT, EntryState, StepState
from runs.tools.bindings import Unbindable, bind
from runs.tools.registry import Tool
from runs.transitions import ENGINE, Held, by_lookup, change, move_step, record


def check_step(held: Held, step: Step, spec: AgentSpec) -> None:
    """Rule on a step. An action that its ticket has done or is doing is not sent, so no rule is asked about it."""
    call = call_of(step)
    ruling = outright(spec, call) or _proposed_again(held, step, spec) or _done_before(held, step, spec)
    ruling = ruling or by_rules(spec, call, RecordedPast(held, step, spec))
    if ruling.verdict == "allowed" and _others_wrote(held, step, spec):
        ruling = replace(
            ruling, verdict="ask", rule="text_of_others", approver=spec.catalogue[step.tool].approver
        )
    if ruling.verdict == "ask" and _was_approved(step, spec.catalogue[step.tool], ruling):
        ruling = replace(ruling, verdict="allowed", rule="approved")
    held.rulings[step.number] = ruling
    held.touch(step)


def _proposed_again(held: Held, step: Step, spec: AgentSpec) -> Ruling | None:
    """What a person or a rule said no to in a run, its model may not propose again unchanged."""
    if not held.run.model or step.undoes_id:
        return None
    for other in held.steps:
        said_no = other.state in (StepState.DECLINED, StepState.REFUSED) and other.number < step.number
        if said_no and (other.tool, other.args) == (step.tool, step.args):
            by = (
                "a person said no to" if other.state == StepState.DECLINED else f"{other.error_class} refused"
            )
            cause = f"{by} this very call: step {other.number}"
            return Ruling("refused", "proposed_again", spec.rule_version, cause)
    return None


def _others_wrote(held: Held, step: Step, spec: AgentSpec) -> bool:
    """Whoever decided it may have been told by a text what to write: such words go out when a person has seen them.

    Always where a model of ours decides; of calls that an outside agent proposes, where the agent file says so.
    """
    looks = bool(held.run.model) or spec.asks_about_text_of_others
    writes = spec.catalogue[step.tool].writes and step.undoes_id is None
    return looks and writes and any(mark.loose for mark in marks_of(held, step, spec))


def _done_before(held: Held, step: Step, spec: AgentSpec) -> Ruling | None:
    """With `keys: action`, what another run made of this very action of the ticket decides first (S4)."""
    entry, version = ledger.earlier(held, step, spec.catalogue[step.tool]), spec.rule_version
    if entry is None or entry.state in (EntryState.FAILED, EntryState.NOT_PERFORMED):
        return None
    if entry.state != EntryState.PERFORMED:
        return Ruling("busy", "in_flight_elsewhere", version)
    made = Step.objects.filter(attempts__entry=entry)
    if made.filter(state=StepState.UNDONE).exists():
        return Ruling("refused", "undone_since", version)
    if made.filter(Q(run__state__in=RUN_BACKWARD) | Q(run__undo_requested_at__isnull=False)).exists():
        return Ruling("busy", "being_undone_elsewhere", version)
    change(held, step, entry=entry, replayed=True)
    return Ruling("replayed", "performed_before", version)


def _was_approved(step: Step, tool: Tool, ruling: Ruling) -> bool:
    """A person approved this very call, the tool is still the one that they were shown, and the rules ask for nobody
    else by now: an approval that was given under older rules holds only then (S3)."""
    moved = step.state in (StepState.APPROVED, StepState.SENT, StepState.UNKNOWN)
    same = step.fingerprint == tool.fingerprint
    return moved and same and bool(step.consent) and ruling.is_met_by(**step.consent)


def settle(held: Held, step: Step, state: StepState, spec: AgentSpec) -> None:
    """Move a step by the answer it carries, or by what was learnt."""
    answer, actor = step.answer, step.answered_by or ENGINE
    changes = outcomes.settled(step_view(held, step, spec), state)
    refused = held.rulings[step.number] if state is StepState.REFUSED else None
    if refused:
        changes |= {"error_class": refused.rule, "error": refused.cause}
    result = (step.answer_data or {}).get("result") if answer == "happened" else None
    data = ({"answer": answer} if answer else by_lookup(step)) | (refused.said() if refused else {})
    ledger.apply(held, step, changes, result=result, data=data, actor=actor, by_hand=answer == "done_by_hand")
    if answer in ("approve", "skip"):
        _settle_covered(held, step, state, actor)
    after_move(held, step, spec)


def _settle_covered(held: Held, step: Step, state: StepState, actor: str) -> None:
    """One answer for all writes of a proposal: each is still checked and sent on its own."""
    for number in step.covers:
        other = held.step(number)
        if other.state == StepState.PROPOSED:
            move_step(held, other, state, actor=actor, data={"answered_with": step.number})


def after_move(held: Held, step: Step, spec: AgentSpec) -> None:
    """A write's `undone` and its undo's `performed` are committed together, and what is left is counted anew."""
    held.rulings.pop(step.number, None)
    if step.undoes_id and step.state == StepState.PERFORMED:
        write = next(other for other in held.steps if other.pk == step.undoes_id)
        if write.state == StepState.PERFORMED:
            move_step(held, write, StepState.UNDONE, data={"by": step.tool, "step": step.number})
    if step.state == StepState.PERFORMED and held.run.state in RUN_BACKWARD:
        recount(held, spec)


def add_undo(held: Held, write: Step, spec: AgentSpec) -> None:
    """Bind the undo of a write and add it as a step; one that cannot be bound is not possible, and says why."""
    undo = undo_named(write, spec.catalogue.get(write.tool))
    assert undo is not None
    result = write.entry.result if write.entry else None
    try:
        args = bind(undo, spec.tools.get(undo.tool), write.args, result)
    except Unbindable as error:
        change(held, write, note=str(error))
        record(held, "step.undo_not_possible", write, data={"why": str(error)})
        return
    step = Step.objects.create(
        run=held.run,
        thread=held.run.thread,
        number=next_number(held),
        tool=undo.tool,
        args=args,
        undoes=write,
        budget=write.named["tries"] if write.named else outcomes.UNDO_SENDS,
    )
    held.append(step)
    record(held, "step.proposed", step, after=StepState.PROPOSED, data={"undoes": write.number})


LOCK_RUN = "SELECT 1 FROM runs_run WHERE id = $1 FOR NO KEY UPDATE"


def next_number(held: Held) -> int:
    """The number of the thread's next step. Locks the run and the thread."""
    rows.one(LOCK_RUN, [held.run.pk])  # before its thread, as everybody locks them
    thread = Thread.objects.select_for_update(no_key=True).get(pk=held.run.thread_id)
    thread.next_step += 1
    thread.save(update_fields=["next_step"])
    return thread.next_step - 1


def cancel_unsent(held: Held) -> None:
    """The run stops: what was never sent is cancelled, and its question withdrawn."""
    for step in held.steps:
        if step.undoes_id is None and step.state in UNSENT:
            move_step(held, step, StepState.CANCELLED, actor=step.answered_by or ENGINE, answer="")
            ledger.settle_entry(held, step)


def cancel_stuck(held: Held) -> None:
    """The rollback was abandoned."""
    for step in held.steps:
        if step.state == StepState.UNDO_STUCK:
            move_step(held, step, StepState.CANCELLED, actor=step.answered_by or ENGINE, answer="")


def revive_undos(held: Held) -> None:
    """An abandoned undo is tried anew when an operator asks for the undo after all."""
    for step in held.steps:
        if step.undoes_id and step.state == StepState.CANCELLED:
            budget = step.calls + outcomes.UNDO_SENDS
            move_step(held, step, StepState.PROPOSED, budget=budget, due_at=None, doubt="", said="")
