"""Take a rule out of the core, and the model finds what it was for: one named test for each rule.

A rule is named by the line that says it. Where that line is changed, the test fails with the line, and the
rule is to be named anew here.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from runs.states import StepState
from runs.tools.reconciling import OUTCOMES
from runs.view import StepView
from tests.model.explorer import REAL, explore
from tests.model.loop import Core, Plan
from tests.model.plans import FOR_A_WHILE, FORGETFUL, SAFE_UNDO, SIMPLE_UNDO, steps
from tests.model.variants import Edit, core_with

CHARGE = Plan(steps("undo"), undos=SIMPLE_UNDO)
SAFE_CHARGE = Plan(steps("undo+retry_safe"), undos=SIMPLE_UNDO)
LOOKED_UP = Plan(steps("undo+lookup"), undos=SIMPLE_UNDO)
FORGOTTEN = Plan((FORGETFUL[:1],), undos=SIMPLE_UNDO, faults=4)
TWO = Plan(steps("undo", "undo"), undos=SIMPLE_UNDO, faults=3)
IN_ORDER = Plan(steps("undo", "undo"), undos=SIMPLE_UNDO, rollbacks=("ordered",), faults=3)
BEST_EFFORT = Plan(steps("undo", "undo"), undos=SIMPLE_UNDO, rollbacks=("best_effort",), faults=3)
FOR_A_TIME, UNTIL_COLLECTED = (Plan(((tool,),), undos=SIMPLE_UNDO, faults=3) for tool in FOR_A_WHILE)
THEN_CONFIRMED = Plan((FOR_A_WHILE[1:], *steps("no_undo+confirm")), undos=SIMPLE_UNDO, faults=1)
HALTED = Plan(steps("undo", "undo"), undos=SIMPLE_UNDO, reconciles=OUTCOMES, faults=2)
DECIDED = Plan(steps("undo", "undo"), undos=SIMPLE_UNDO, decides=True, faults=2)
PROVEN_UNDO = Plan(steps("undo"), undos=SAFE_UNDO)


def core(old: str, new: str) -> Edit:
    """A line of runs/next_action.py, and what stands in its place."""
    return Edit("next_action", old, new)


def outcomes(old: str, new: str) -> Edit:
    """The same of runs/outcomes.py."""
    return Edit("outcomes", old, new)


def without(plan: Plan, *edits: Edit, breaks: str) -> None:
    """The plan holds with the rule, and breaks this part of the promise without it."""
    _breaks(plan, core_with(edits), breaks)
    _holds(plan)


@cache
def _holds(plan: Plan) -> None:
    found = explore(plan, REAL)
    assert not found.broken, f"broken with the rule as well: {found}"


def _breaks(plan: Plan, edited: Core, breaks: str) -> None:
    found = explore(plan, edited, breaks)
    print(f"\n{found}")
    assert found.broken, f"nothing breaks {breaks!r}: {found}"


# Doubt --------------------------------------------------------------------------------------------------------


def test_without_sticky_doubt_a_charge_is_recorded_as_failed() -> None:
    edit = outcomes('if verdict == "in_doubt" or step.doubt:', 'if verdict == "in_doubt":')
    without(SAFE_CHARGE, edit, breaks="record = world")


def test_without_doubt_after_a_crash_a_charge_is_done_twice() -> None:
    edit = outcomes(
        '    if not step.writes:\n        return {"state": StepState.APPROVED}',
        '    if True:\n        return {"state": StepState.APPROVED}',
    )
    without(CHARGE, edit, breaks="never twice")


def test_without_the_key_rule_a_charge_is_sent_again_and_done_twice() -> None:
    edit = core('return step.retry_safe or step.said in ("did_not_happen", "send_again")', "return True")
    without(CHARGE, edit, breaks="never twice")


def test_without_settling_a_call_on_the_wire_is_done_twice() -> None:
    edit = outcomes('"did_not_happen" if settled else "not_yet"', '"did_not_happen"')
    without(LOOKED_UP, edit, breaks="never twice")


def test_without_the_time_at_which_it_was_asked_a_slow_lookup_lets_a_charge_be_done_twice() -> None:
    """A rule of the loop: what was asked before the call settled, and recorded after it, has settled nothing."""
    _breaks(replace(LOOKED_UP, lookup_time="recorded"), REAL, "never twice")
    _holds(LOOKED_UP)


def test_without_waiting_for_the_time_it_settles_a_lookup_is_asked_for_ever() -> None:
    edit = core('return Wait("time", step.settles_at) if waits else LookUp', "return LookUp")
    without(LOOKED_UP, edit, breaks="for ever")


def test_without_asking_a_person_a_doubt_is_assumed_away() -> None:
    edit = core(
        '    return Ask(step.number, "outcome")\n\n\ndef _unknown',
        "    return Settle(step.number, StepState.NOT_PERFORMED)\n\n\ndef _unknown",
    )
    without(CHARGE, edit, breaks="record = world")


def test_without_key_retention_a_forgotten_key_is_done_twice() -> None:
    edit = core("if stopping or forgotten or", "if stopping or")
    without(FORGOTTEN, edit, breaks="never twice")


def test_without_the_margin_of_key_retention_a_late_resend_is_done_twice() -> None:
    edit = outcomes("last = now + retention - settle_after", "last = now + retention")
    without(FORGOTTEN, edit, breaks="never twice")


def test_without_a_closing_look_a_false_word_is_never_found_out() -> None:
    edit = core("        if doubted and not step.said:", "        if False:")
    without(Plan(steps("undo+lookup"), undos=SIMPLE_UNDO, truthful=False, faults=2), edit, breaks="the end")


def test_without_an_end_of_the_closing_look_it_goes_on_for_ever() -> None:
    edit = core("        if doubted and not step.said:", "        if doubted:")
    without(LOOKED_UP, edit, breaks="for ever")


def test_without_looking_again_a_question_is_left_to_people_alone() -> None:
    edit = core(
        'return Wait("person", step.due_at) if waits else LookUp(step.number)', 'return Wait("person")'
    )
    without(LOOKED_UP, edit, breaks="stuck: an unknown outcome")


def test_without_waiting_for_its_time_a_question_is_looked_up_for_ever() -> None:
    edit = core('return Wait("person", step.due_at) if waits else LookUp', "return LookUp")
    without(LOOKED_UP, edit, breaks="for ever")


def test_without_serving_who_asked_a_question_is_looked_up_for_ever() -> None:
    edit = outcomes('{"look_asked_at": None} if served else {}', "{}")
    without(replace(LOOKED_UP, looks_asked=True), edit, breaks="for ever")


def test_without_an_answer_that_stands_a_lookup_that_came_later_talks_over_it() -> None:
    edit = outcomes("    if step.answer:\n        return changes\n", "")
    without(PROVEN_UNDO, edit, breaks="an answer stands")


def test_without_the_word_of_the_world_an_answer_that_came_meanwhile_is_taken_for_it() -> None:
    edit = outcomes('if answer == "happened":', 'if answer == "happened" and not step.answer:')
    without(LOOKED_UP, edit, breaks="the world comes first")


def test_without_a_person_what_did_not_happen_is_asked_about_for_ever() -> None:
    edit = core('return Wait("person") if step.state is StepState.UNKNOWN else Ask', "return Ask")
    without(LOOKED_UP, edit, breaks="moves")


def test_without_counting_attempts_a_late_refusal_speaks_for_all_of_them() -> None:
    edit = outcomes("or step.calls > 1 or not step.writes", "or not step.writes")
    without(Plan(steps("undo+retry_safe"), late=True, faults=2), edit, breaks="record = world")


def test_without_late_outcomes_being_believed_only_where_proven_an_undo_is_assumed() -> None:
    edit = outcomes("believed = not (step.undoes and step.lookup)", "believed = True")
    without(Plan(steps("undo"), undos=SAFE_UNDO, late=True, faults=2), edit, breaks="record = world")


# Before a call leaves -----------------------------------------------------------------------------------------


def test_without_the_question_a_write_leaves_unapproved() -> None:
    edits = [
        core(
            '    if step.check == "ask":\n        return _ask_until_when(run) or Ask(step.number, "confirm")\n',
            "",
        ),
        core('if step.check == "allowed" else Check', "if step.check else Check"),
    ]
    without(Plan(steps("undo+confirm"), faults=2), *edits, breaks="approved")


def test_without_the_check_a_call_leaves_unchecked() -> None:
    edit = core(
        'return Send(step.number) if step.check == "allowed" else Check(step.number)',
        "return Send(step.number)",
    )
    without(CHARGE, edit, breaks="checked")


def test_without_the_check_a_call_leaves_again_unchecked() -> None:
    edit = core("return Send(step.number) if step.check else Check(step.number)", "return Send(step.number)")
    without(SAFE_CHARGE, edit, breaks="checked")


def test_without_the_budget_a_call_in_doubt_is_sent_a_fourth_time() -> None:
    edit = core("forgotten or step.calls >= step.budget:", "forgotten:")
    without(SAFE_CHARGE, edit, breaks="three calls")


def test_without_the_budget_an_unavailable_service_is_called_a_fourth_time() -> None:
    edit = core("    if step.calls >= step.budget:\n        return Ask", "    if False:\n        return Ask")
    without(CHARGE, edit, breaks="three calls")


def test_without_the_refusal_a_refused_step_is_checked_for_ever() -> None:
    edit = core('    if step.check == "refused":\n        return Ask', "    if False:\n        return Ask")
    without(CHARGE, edit, breaks="for ever")


# Stopping -----------------------------------------------------------------------------------------------------


def test_without_the_cancel_a_cancelled_run_goes_on() -> None:
    edit = core('    if run.cancelled:\n        return _stop(run, "cancelled", step)\n', "")
    without(CHARGE, edit, breaks="stopped")


def test_without_the_cancel_a_doubted_call_is_sent_again() -> None:
    edit = core("return run.cancelled or run.gave_up or", "return run.gave_up or")
    without(SAFE_CHARGE, edit, breaks="stopped")


def test_without_the_recovery_a_dead_run_goes_on() -> None:
    edit = core('    if run.gave_up:\n        return _stop(run, "died", step)\n', "")
    without(CHARGE, edit, breaks="stopped")


def test_without_the_recovery_a_doubted_call_of_a_dead_run_is_sent_again() -> None:
    edit = core("return run.cancelled or run.gave_up or", "return run.cancelled or")
    without(SAFE_CHARGE, edit, breaks="stopped")


def test_without_the_stop_a_run_succeeds_with_a_failed_step() -> None:
    edit = core("    return last.state in STEP_STOPS", "    return False")
    without(CHARGE, edit, breaks="the end: succeeded")


def test_without_keep_a_run_undoes_what_it_was_to_keep() -> None:
    edit = core('if run.mode == "keep" and (run.has_written or run.gave_up):', "if False:")
    without(TWO, edit, breaks="keep")


def test_without_the_halt_a_run_that_is_to_be_left_as_it_is_goes_on() -> None:
    edit = core("    if run.halted:\n        return _closing_look(run) or Finish(RunState.FAILED)\n", "")
    without(HALTED, edit, breaks="the end: succeeded")


def test_without_the_halt_a_doubted_call_is_sent_again() -> None:
    edit = core("or run.gave_up or run.halted or", "or run.gave_up or")
    without(replace(HALTED, tools=steps("undo+retry_safe")), edit, breaks="stopped")


def test_without_the_halt_a_run_that_is_to_be_left_as_it_is_is_undone_after_its_end() -> None:
    edit = core("if undone and left and not run.halted:", "if undone and left:")
    without(HALTED, edit, breaks="halted")


def test_without_what_stops_a_run_it_is_completed_with_a_failed_step() -> None:
    edit = core(" or (last is not None and _stops(run, last)))", ")")
    without(HALTED, edit, breaks="the end: succeeded")


def test_without_what_is_in_flight_a_run_is_completed_beside_a_call_that_nobody_knows_of() -> None:
    edit = core("run.gave_up or in_flight or", "run.gave_up or")
    without(HALTED, edit, breaks="the end: succeeded")


# Undoing ------------------------------------------------------------------------------------------------------


def test_without_in_flight_first_a_write_is_undone_beside_one_in_doubt() -> None:
    edits = [
        core(
            "IN_FLIGHT and not _undone_apart(run):",
            "IN_FLIGHT and not run.cancelled:",
        ),
        core("yield from (step for step in run.forward if step.state in IN_FLIGHT)", "yield from ()"),
    ]
    without(IN_ORDER, *edits, breaks="order")


def test_without_in_flight_first_a_call_in_doubt_is_sent_again() -> None:
    edit = core("    if step and step.state in IN_FLIGHT and not _undone_apart(run):", "    if False:")
    without(CHARGE, edit, breaks="never twice")


def test_without_the_order_the_first_write_is_undone_first() -> None:
    edit = core("for step in reversed(run.steps) if _left", "for step in run.steps if _left")
    without(IN_ORDER, edit, breaks="order")


def test_without_the_order_a_write_is_undone_while_a_later_undo_is_stuck() -> None:
    edit = core('if run.rollback == "ordered" or not isinstance', "if not isinstance")
    without(IN_ORDER, edit, breaks="order")


def test_without_the_one_undo_a_write_is_undone_twice() -> None:
    edit = core("and not step.closed(run.now) and not _has_undo(run, step)", "and not step.closed(run.now)")
    without(BEST_EFFORT, edit, breaks="never undone twice")


def test_without_a_proof_an_undo_that_changed_nothing_is_recorded() -> None:
    edit = outcomes("proven = not (step.undoes and step.lookup)", "proven = True")
    without(PROVEN_UNDO, edit, breaks="record = world")


def test_without_the_first_doubt_an_unproven_undo_hides_a_call_on_the_wire() -> None:
    edit = outcomes('{"doubt": step.doubt or "unproven"}', '{"doubt": "unproven"}')
    without(PROVEN_UNDO, edit, breaks="settled")


def test_without_a_new_doubt_an_unproven_undo_that_is_sent_again_counts_as_off_the_wire() -> None:
    edit = outcomes('"no_answer" if step.doubt == "unproven" else step.doubt', "step.doubt")
    without(PROVEN_UNDO, edit, breaks="settled")


def test_without_the_abandoned_undo_a_run_says_that_all_is_undone() -> None:
    edit = core(
        "    if any(_abandoned(run, step) for step in run.undos):\n"
        "        return Finish(RunState.ABANDONED)\n",
        "",
    )
    without(BEST_EFFORT, edit, breaks="the end: rolled_back")


def test_without_its_own_answer_an_abandoned_undo_ends_the_others() -> None:
    edit = core('if step.answer == "abandon" and run.rollback == "ordered":', 'if step.answer == "abandon":')
    without(BEST_EFFORT, edit, breaks="the end: abandoned")


def test_without_undoing_apart_a_doubt_holds_up_what_was_done_before_it() -> None:
    edit = core("and not _undone_apart(run):", "and True:")
    without(BEST_EFFORT, edit, breaks="best effort")


# Until when -----------------------------------------------------------------------------------------------------


def test_without_its_window_a_write_is_undone_too_late() -> None:
    edit = core("return step.to_undo and not step.closed(run.now) and not", "return step.to_undo and not")
    without(FOR_A_TIME, edit, breaks="until when")


def test_without_asking_until_when_a_write_is_undone_too_late() -> None:
    edit = core(
        'return LookUp(last.number) if last.window == "ask" else Undo(last.number)',
        "return Undo(last.number)",
    )
    without(UNTIL_COLLECTED, edit, breaks="until when")


def test_without_its_window_an_undo_is_tried_again_too_late() -> None:
    edit = core(
        "return Settle(undo.number, StepState.CANCELLED) if write.closed(run.now) else None", "return None"
    )
    without(FOR_A_TIME, edit, breaks="until when")


def test_without_asking_until_when_an_undo_is_tried_again_too_late() -> None:
    edit = core('    if write.window == "ask":\n        return LookUp(write.number)\n', "")
    without(UNTIL_COLLECTED, edit, breaks="until when")


def test_without_asking_until_when_a_question_says_what_is_not_so() -> None:
    edit = core(
        'return _ask_until_when(run) or Ask(step.number, "confirm")', 'return Ask(step.number, "confirm")'
    )
    without(THEN_CONFIRMED, edit, breaks="until when")


def test_without_its_window_an_undo_that_came_too_late_counts_as_abandoned() -> None:
    edit = core(
        "return undo.state is StepState.CANCELLED and not write.closed(run.now)",
        "return undo.state is StepState.CANCELLED",
    )
    without(FOR_A_TIME, edit, breaks="the end: abandoned by nobody")


# What counts as a write to undo (runs/view.py) ----------------------------------------------------------------


@pytest.fixture
def to_undo(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[StepView], bool]], None]:
    """Put another rule in the place of `StepView.to_undo`."""
    return lambda rule: monkeypatch.setattr(StepView, "to_undo", property(rule))


def test_without_the_undo_being_an_undo_it_is_undone_itself(to_undo: Callable[..., None]) -> None:
    _holds(CHARGE)
    to_undo(lambda step: step.state is StepState.PERFORMED and bool(step.undo) and not step.replayed)
    _breaks(CHARGE, REAL, "an undo is undone")


def test_without_the_mark_of_a_replay_what_another_run_did_is_undone(to_undo: Callable[..., None]) -> None:
    plan = Plan(steps("undo"), keys="action", faults=2)
    _holds(plan)
    to_undo(lambda step: step.state is StepState.PERFORMED and bool(step.undo) and step.undoes is None)
    _breaks(plan, REAL, "replayed")


def test_a_line_that_is_not_in_the_core_is_an_error() -> None:
    with pytest.raises(LookupError, match="0 times"):
        core_with([core("this line is not there", "")])


# A model --------------------------------------------------------------------------------------------------------


def test_without_stopping_first_the_model_is_called_again_after_a_failure() -> None:
    edit = core(
        "    if last and _stops(run, last):", "    if last and _stops(run, last) and not run.decides:"
    )
    without(DECIDED, edit, breaks="decide")


def test_without_its_limit_the_model_is_asked_for_ever() -> None:
    without(DECIDED, core("    if run.exhausted:", "    if False:"), breaks="decide")


def test_without_counting_a_model_that_fails_is_asked_for_ever() -> None:
    edit = core("    if step and step.calls >= step.budget:", "    if step and False:")
    without(DECIDED, edit, breaks="decide")


def test_without_waiting_for_the_last_call_the_model_decides_on_what_nobody_knows() -> None:
    edit = core("        return _in_flight(run, step)  # whatever", "        return Decide()  # whatever")
    without(DECIDED, edit, breaks="decide")
