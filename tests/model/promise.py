"""The promise, as checks of one state and of one move. Each gives what is broken, or ''.

What a person's false word or his 'send again' brings about is his; everything else is asserted for all.
"""

from dataclasses import replace

from runs.actions import Action, Ask, Decide, Finish, Undo, Wait
from runs.states import (
    IN_FLIGHT,
    PARKED,
    RUN_BACKWARD,
    RUN_ENDS,
    RUN_MOVES,
    STEP_MOVES,
    STEP_STOPS,
    RunState,
    StepState,
)
from runs.view import RunView, StepView
from tests.model.loop import ABSENT, Core, Move, Plan, State, tool_of
from tests.model.world import NOW, Key

AT_REST = {
    "person": (RunState.WAITING, RunState.STUCK),
    "agent": (RunState.OPEN, None),
    "time": (RunState.READY, RunState.ROLLING_BACK),
}


def broken_by_state(plan: Plan, state: State) -> str:
    """What this state says that is not so."""
    for step, key in zip(state.run.steps, state.keys, strict=True):
        if said := _doubled(step, key) or (plan.truthful and _record(step, key)):
            return said
    return (_at_the_end(plan, state) if state.run.state in RUN_ENDS else "") or _undone_once(state)


def _doubled(step: StepView, key: Key) -> str:
    if key.landed > 1 and not key.again and not key.lied:
        return f"never twice: {step.number} took effect twice under one key"
    return ""


def _record(step: StepView, key: Key) -> str:
    """The record is the world: in every state, not only at the end."""
    if not step.writes:
        return ""
    if step.answer == "done_by_hand":
        return ""  # said, and not read by the engine yet
    if step.state in ABSENT and key.landed:
        return f"record = world: {step.number} is {step.state} and took effect"
    if step.state in ABSENT and (key.wire or key.theirs):
        return f"settled: {step.number} is {step.state} and a call of it is still on the wire"
    if step.state in (StepState.PERFORMED, StepState.UNDONE) and not key.landed:
        return f"record = world: {step.number} is {step.state} and took no effect"
    return ""


def _undone_once(state: State) -> str:
    undone = [step.undoes for step in state.run.undos]
    return "never undone twice: two undos of one step" if len(undone) != len(set(undone)) else ""


def _at_the_end(plan: Plan, state: State) -> str:
    run, end = state.run, state.run.state
    for step in run.steps:
        if not step.ended:
            return f"the end: {end} with step {step.number} {step.state}"
    if end is not RunState.ABANDONED and any(_not_looked_up(step) for step in run.forward):
        return f"the end: {end} without a closing look"
    if end is RunState.SUCCEEDED:
        return _succeeded(plan, state)
    if end is RunState.ROLLED_BACK and any(_left_to_undo(step) for step in run.forward):
        return "the end: rolled_back with a write left that can be undone"
    if end is not RunState.ABANDONED and not all(_done_or_too_late(state, step) for step in run.undos):
        return f"the end: {end} with an undo that was not performed"
    done = any(key.landed and not step.replayed for step, key in zip(run.steps, state.keys, strict=True))
    if end is RunState.FAILED and done and plan.truthful and not run.halted:
        return "the end: failed says that nothing had been done"
    undone = run.mode == "atomic" and run.gave_up
    if end is RunState.HANDED_OVER and undone and any(_left_to_undo(step) for step in run.forward):
        return "the end: died, and a write is left that can be undone"
    return ""


def _left_to_undo(step: StepView) -> bool:
    return step.to_undo and not step.closed(NOW)


def _done_or_too_late(state: State, undo: StepView) -> bool:
    write = state.run.steps[(undo.undoes or 0) - 1]
    return undo.state is StepState.PERFORMED or (undo.state is StepState.CANCELLED and write.closed(NOW))


def _not_looked_up(step: StepView) -> bool:
    """In doubt once, said not to have happened, and not looked up since."""
    return step.state is StepState.NOT_PERFORMED and bool(step.doubt) and step.lookup and not step.said


def _succeeded(plan: Plan, state: State) -> str:
    fine = {StepState.PERFORMED, StepState.DECLINED} | (
        {StepState.REFUSED} if plan.opened or plan.decides else set()
    )
    # Its agent said that it is completed; or its model, that there is nothing more to call.
    fine |= {StepState.CANCELLED} if plan.reconciles or plan.decides else set()
    forward = list(state.run.forward)
    if not (plan.opened or plan.decides) and len(forward) != len(plan.tools):
        return "the end: succeeded without all of its steps"
    if any(step.state not in fine for step in forward) or any(state.run.undos):
        return "the end: succeeded with a step that is not performed"
    return ""


def broken_by_move(plan: Plan, before: State, action: Action, move: Move) -> str:
    """What this move did that it must not do."""
    return (
        _moves_allowed(before, move)
        or _doubt_is_sticky(plan, before, move)
        or _an_answer_stands(before, move)
        or (_sending(plan, before, move) if move.sent else "")
        or (_undoing(before, action) if isinstance(action, Undo) else "")
        or (_deciding(before) if isinstance(action, Decide) else "")
        or (_asking(before) if isinstance(action, Ask) and action.kind == "confirm" else "")
        or (_abandoning(before) if action == Finish(RunState.ABANDONED) else "")
        or (_kept(plan, before) if move.after.run.state is RunState.ROLLING_BACK else "")
        or _left_as_it_is(before, move)
    )


def _moves_allowed(before: State, move: Move) -> str:
    for number, old, new in move.changes:
        if old is not new and new not in STEP_MOVES[old]:
            return f"moves: step {number} {old} -> {new}"
    old_run, new_run = before.run.state, move.after.run.state
    if old_run is not new_run and new_run not in RUN_MOVES[old_run]:
        return f"moves: run {old_run} -> {new_run}"
    return ""


def _doubt_is_sticky(plan: Plan, before: State, move: Move) -> str:
    """Doubt ends with a success, a lookup or a person's word, and with nothing else."""
    for old, new in zip(before.run.steps, move.after.run.steps, strict=False):
        if not old.doubt or old.state not in IN_FLIGHT or (new.doubt and new.state in IN_FLIGHT):
            continue
        said = "person says" in move.name or "late" in move.name or old.answer
        if new.state is StepState.PERFORMED or "looks" in move.name or said or old.said == "did_not_happen":
            continue
        return f"doubt is sticky: {old.number} {old.state} -> {new.state}, doubt {new.doubt!r}"
    return ""


def _an_answer_stands(before: State, move: Move) -> str:
    """A lookup that found it comes before what anybody says of it; no other lookup changes what was answered."""
    if not move.name.startswith("engine looks"):
        return ""
    for old, new in zip(before.run.steps, move.after.run.steps, strict=False):
        if move.name.startswith(f"engine looks {old.number} up: happened") and new.state in IN_FLIGHT:
            return f"the world comes first: {old.number} was found, and is {new.state}"
        told = move.name.endswith(f" of {old.number})") and new.state is not StepState.PERFORMED
        if told and (not new.answer or (new.state, new.said) != (old.state, old.said)):
            return f"an answer stands: the one of {old.number} is lost"
    return ""


def _sending(plan: Plan, before: State, move: Move) -> str:
    number = move.sent
    old, new = before.run.steps[number - 1], move.after.run.steps[number - 1]
    run, tool = before.run, tool_of(plan, old)
    if not any(one == number and to is StepState.SENT for one, _, to in move.changes) and (
        old.state is not StepState.SENT
    ):
        return f"write-ahead: {number} was called without a committed intent"
    if new.state in IN_FLIGHT and new.calls != old.calls + 1:
        return f"write-ahead: the call of {number} was not counted"
    if old.calls >= old.budget:
        return f"three calls in all: {number} was called once more"
    if tool.confirm and not old.undoes and not before.keys[number - 1].approved:
        return f"approved: {number} was called and nobody had approved it"
    if old.check != "allowed":
        return f"checked: {number} was called and its check said {old.check!r}"
    stopping = run.cancelled or run.gave_up or run.halted
    if old.undoes is None and (stopping or run.state in RUN_BACKWARD):
        return f"stopped: {number} was called although the run was stopping"
    return _undo_sent(before, old) if old.undoes else ""


def _kept(plan: Plan, before: State) -> str:
    """With `runs: keep` a run that has written does not roll back by itself."""
    keep = before.run.mode == "keep" or (before.mode_open and "keep" in plan.modes)
    live = before.run.state is RunState.RUNNING
    return "keep: it has written, and rolls back" if keep and live and before.run.has_written else ""


def _deciding(before: State) -> str:
    """After a failure the model is not called again, nor while a call of the run is not settled."""
    run = before.run
    stopping = (
        run.cancelled or run.gave_up or run.halted or run.exhausted or run.state is not RunState.RUNNING
    )
    ended = [step for step in run.forward if step.state is not StepState.DECIDING]
    failed = any(step.state in STEP_STOPS - {StepState.REFUSED} for step in ended)
    if (
        stopping
        or failed
        or (run.has_written and any(step.state is StepState.REFUSED for step in ended[-1:]))
    ):
        return "decide: the model was asked although the run stops"
    if any(step.state is StepState.DECIDING and step.calls >= step.budget for step in run.forward):
        return "decide: the model was asked once more after it had failed too often"
    unsettled = [step.number for step in ended if not step.ended]
    return f"decide: the model was asked before {unsettled} was settled" if unsettled else ""


def _asking(before: State) -> str:
    """A confirmation says what would be undone and what would stay."""
    unseen = [step.number for step in before.run.forward if step.to_undo and step.window == "ask"]
    return f"until when: asked without a look at {unseen}" if unseen else ""


def _abandoning(before: State) -> str:
    """Somebody gave an undo up; one that came too late was not given up."""
    answered = any(step.answer == "abandon" for step in before.run.undos)
    given_up = any(
        step.state is StepState.CANCELLED and not before.run.steps[(step.undoes or 0) - 1].closed(NOW)
        for step in before.run.undos
    )
    return "" if answered or given_up else "the end: abandoned by nobody"


def _left_as_it_is(before: State, move: Move) -> str:
    """A run that was halted is not undone by itself."""
    undone = move.after.run.state is RunState.ROLLING_BACK
    if before.run.halted and undone and not before.run.undo_requested:
        return "halted: it is undone, and nobody asked for it"
    return ""


def _undo_sent(before: State, undo: StepView) -> str:
    run = before.run
    write = run.steps[(undo.undoes or 0) - 1]
    if undo.state not in IN_FLIGHT and write.closed(NOW):
        return f"until when: undo {undo.number} was sent too late"
    if undo.state not in IN_FLIGHT and write.window == "ask":
        return f"until when: undo {undo.number} was sent without a look"
    if run.state not in RUN_BACKWARD:
        return f"order: undo {undo.number} was sent by a run that is {run.state}"
    if run.rollback == "ordered":
        return _others_in_flight(before, undo.number)
    return ""


def _others_in_flight(before: State, number: int) -> str:
    others = [step.number for step in before.run.steps if step.state in IN_FLIGHT and step.number != number]
    return f"order: undone while {others} in flight or unknown" if others else ""


def _undoing(before: State, action: Undo) -> str:
    run = before.run
    write = run.steps[action.step - 1]
    if write.undoes is not None:
        return f"an undo is undone: {write.number}"
    if write.closed(NOW) or write.window == "ask":
        return f"until when: {write.number} is to be undone, and it is too late or was not looked at"
    if write.replayed:
        return f"replayed: {write.number} was done by another run, and is undone by this one"
    undone = {step.undoes for step in run.undos}
    later = [
        s.number
        for s in run.forward
        if s.number > write.number and _left_to_undo(s) and s.number not in undone
    ]
    if later:
        return f"order: {write.number} is undone before {later}"
    if run.rollback == "ordered":
        open_undos = [step.number for step in run.undos if not step.ended]
        if open_undos:
            return f"order: {write.number} is undone while undo {open_undos} is under way"
        return _others_in_flight(before, 0)
    return ""


def _held_up(run: RunView) -> bool:
    """A best-effort run that stops waits for a doubt, and has not undone the rest meanwhile."""
    undone = {step.undoes for step in run.undos}
    left = any(_left_to_undo(step) and step.number not in undone for step in run.forward)
    stops = (run.cancelled or run.gave_up or run.state in RUN_BACKWARD) and not run.halted
    return run.rollback == "best_effort" and run.mode == "atomic" and stops and left


def _can_be_looked_up(step: StepView) -> bool:
    """A lookup may still settle it."""
    return step.state is StepState.UNKNOWN and step.lookup and step.said not in ("did_not_happen", "waiting")


def broken_at_rest(core: Core, state: State, wait: Wait) -> str:
    """A run that waits has something to wait for, and is the same run when it is claimed again."""
    run = state.run
    if run.state in RUN_ENDS:
        return "" if wait.on == "nothing" else f"stuck: ended, and waits for {wait.on}"
    if wait.on not in AT_REST:
        return f"stuck: waits for {wait.on!r}"
    if wait.on == "person" and not any(step.state in PARKED and not step.answer for step in run.steps):
        return "stuck: waits for a person, and nothing is asked"
    busy = any(step.check == "busy" for step in run.steps)
    if wait.on == "time" and not busy and (wait.until is None or wait.until <= NOW):
        return "stuck: waits for a time that does not come"
    if _held_up(run):
        return "best effort: a doubt holds up what was done before it"
    if wait.until is not None and wait.until <= NOW:
        return "stuck: what it waits for is over"
    if wait.until is None and any(_can_be_looked_up(step) for step in run.steps):
        return "stuck: an unknown outcome, and nobody looks it up again"
    if wait.on == "agent" and not run.opened:
        return "stuck: waits for an agent that is done"
    rest = AT_REST[wait.on][run.state in RUN_BACKWARD]
    if rest is None:
        return "stuck: a rollback waits for its agent"
    if rest is not run.state and (rest not in RUN_MOVES[run.state] or run.state not in RUN_MOVES[rest]):
        return f"moves: run {run.state} -> {rest} and back"
    if core.next_action(replace(run, state=rest)) != wait:
        return f"at rest: a run that is {rest} does not wait for the same"
    return ""
