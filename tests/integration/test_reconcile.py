"""A run whose worker died is first seen by its agent's `reconcile` function: what it may say, and what follows."""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from runs import agentfile, calls, draining, services
from runs.engine import advance
from runs.late import record_late
from runs.models import Run, Step
from runs.tools.dispatch import Outcome, Verdict
from runs.tools.reconciling import FoundRun, Reconciliation
from runs.tools.registry import Call
from runs.trace import Trace
from tests.factories import (
    AGENT,
    PERSON,
    answer,
    approve_all,
    die,
    expire,
    make_agent,
    question,
    reply,
    start,
    states,
    then_die,
    until,
)
from tests.integration.pages import html, signed_in, words
from tests.reconciling import ANSWERS, SEEN, raises
from tests.world import WORLD

pytestmark = pytest.mark.django_db(transaction=True)
CONTINUE, COMPLETED = Reconciliation("continue"), Reconciliation("completed", result={"charge": "ch_9"})
CONFLICT = Reconciliation("conflict", detail="The order is closed.")


@pytest.fixture(autouse=True)
def _nothing_said() -> Iterator[None]:
    SEEN.clear()
    ANSWERS.clear()
    yield
    assert not connection.in_atomic_block


@pytest.fixture
def seen(tmp_path: Path) -> str:
    """An agent with a reconcile function."""
    return make_agent(tmp_path, reconcile="tests.reconciling.reconcile")


def says(*answers: Any) -> None:
    """What the function will answer."""
    ANSWERS.extend(answers)


def outcomes(run: Run) -> list[str]:
    """What the record has of its answers."""
    return [event.data["outcome"] for event in run.events.filter(kind="run.reconciled")]


# --- What it sees -------------------------------------------------------------------------------------


def test_it_sees_the_facts_of_the_run_once_and_outside_any_transaction(
    seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    within = []

    def looks(found: FoundRun) -> Reconciliation:
        within.append(connection.in_atomic_block)
        return CONTINUE

    says(looks)
    run = start(seen, "read 7, then charge 1 40.00, then mail 1", ticket="T-1", subject="SU-1")
    until(die(monkeypatch, run), "waiting")
    [found] = SEEN
    assert within == [False]
    assert json.loads(json.dumps(asdict(found)))["ticket"] == "T-1"
    assert (found.run, found.agent, found.subject, found.cancelled) == (run.name, "tester", "SU-1", False)
    assert [(step.tool, step.state) for step in found.steps] == [
        ("read", "performed"),
        ("charge", "sent"),
        ("mail", "proposed"),
    ]
    assert found.steps[0].result == {"order": 7} and not found.steps[0].writes
    assert found.interrupted and found.interrupted.args == {"order": 1, "amount": "40.00"}
    assert found.interrupted.key in WORLD.effects and found.interrupted.doubt == "interrupted"
    assert found.cause == "killed"


def test_a_run_that_did_not_die_is_not_shown_to_it(seen: str) -> None:
    says(CONFLICT)
    assert approve_all(start(seen, "tag 1, then mail 1")).state == "succeeded"
    assert SEEN == []


def test_a_run_that_died_while_it_was_being_undone_has_been_decided_on(
    seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    says(CONFLICT)
    run = start(seen, "charge 1 40.00, then mail 1")
    answer(run, "approve")
    with monkeypatch.context() as patch:
        patch.setattr(calls, "dispatch", then_die)
        with pytest.raises(KeyboardInterrupt):
            answer(run, "cancel_all")
    expire(run)
    assert until(run, "rolled_back") and SEEN == []


# --- continue -----------------------------------------------------------------------------------------


def test_continue_repeats_no_call_in_doubt_and_assumes_nothing_of_it(
    seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    says(CONTINUE)
    run = until(die(monkeypatch, start(seen, "charge 1 40.00, then mail 1")), "waiting")
    assert question(run).question == "Did charge take effect? It was being sent when the run stopped."
    assert WORLD.calls == ["charge"]
    assert approve_all(answer(run, "happened")).state == "succeeded"
    assert (WORLD.calls, outcomes(run)) == (["charge", "mail"], ["continue"])


def test_after_continue_the_task_says_whether_the_run_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    says(CONTINUE)
    tasks = {"dispute": {"recovery": "compensate"}}
    agent = make_agent(tmp_path, reconcile="tests.reconciling.reconcile", tasks=tasks)
    run = until(die(monkeypatch, start(agent, "tag 1, then mail 1", task="dispute")), "handed_over")
    assert (WORLD.calls, run.handover_reason) == (["tag", "untag"], "run_died_mid_sequence")


# --- completed ----------------------------------------------------------------------------------------


def test_completed_takes_the_call_as_performed_and_the_run_as_finished(
    seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    says(COMPLETED)
    run = until(die(monkeypatch, start(seen, "charge 1 40.00, then mail 1")), "succeeded")
    assert states(run) == {"charge": "performed", "mail": "cancelled"}
    step = run.steps.get(tool="charge")
    assert step.entry and (step.entry.state, step.entry.result) == ("performed", {"charge": "ch_9"})
    assert reply(run) == "Done: charge. Not sent: mail."
    assert (WORLD.calls, run.handover_at) == (["charge"], None)


def test_what_was_completed_can_be_undone_by_the_result_that_was_given(
    seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    says(COMPLETED)
    run = until(die(monkeypatch, start(seen, "charge 1 40.00")), "succeeded")
    services.undo(PERSON, run)
    until(run, "rolled_back")
    assert run.steps.get(tool="refund").args == {"charge": "ch_9", "amount": "40.00"}


def test_a_cancel_wins_over_completed_and_what_was_done_is_undone(
    seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cancelled_meanwhile(found: FoundRun) -> Reconciliation:
        services.cancel(PERSON, Run.objects.get())
        return COMPLETED

    says(cancelled_meanwhile)
    run = until(die(monkeypatch, start(seen, "charge 1 40.00, then mail 1")), "rolled_back")
    assert (WORLD.calls, outcomes(run)) == (["charge", "refund"], ["completed"])
    assert "reconcile completed" in [f"{line.kind} {line.text}" for line in Trace(run).lines()]


def test_completed_is_said_of_a_read_too(seen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    says(Reconciliation("completed", result={"order": 1}))
    run = _dies_in_a_read(seen, "read 1, then tag 1", monkeypatch)
    assert states(until(run, "succeeded")) == {"read": "performed", "tag": "cancelled"}
    assert WORLD.calls == ["read"]


# --- waiting ------------------------------------------------------------------------------------------


def test_waiting_asks_a_person_what_became_of_the_call_and_shows_why(
    seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    says(Reconciliation("waiting", detail="Two charges of 40.00 are on the account."))
    run = until(die(monkeypatch, start(seen, "tag 1, then mail 1")), "waiting")
    step = question(run)
    assert (step.asks, step.state, step.approver) == ("outcome", "unknown", "operator")
    assert step.question == "Did tag take effect? It was being sent when the run stopped."
    assert step.warnings == ["Two charges of 40.00 are on the account."]
    assert WORLD.lookups == []  # the function has looked; a person decides
    assert approve_all(answer(run, "happened")).state == "succeeded"
    assert WORLD.calls == ["tag", "mail"]


@pytest.mark.parametrize(("found", "state"), [(True, "succeeded"), (False, "waiting")])
def test_a_lookup_that_a_person_asks_for_settles_that_it_happened_and_has_nothing_sent_again(
    seen: str, monkeypatch: pytest.MonkeyPatch, found: bool, state: str
) -> None:
    says(Reconciliation("waiting", detail="Two charges of 40.00 are on the account."))
    run = until(die(monkeypatch, start(seen, "tag 1")), "waiting")
    if not found:
        WORLD.effects.clear()  # it was taken back meanwhile, by somebody else
        run.steps.update(settles_at=run.created_at)
    services.look_up(PERSON, question(run).pk)
    advance(run.pk)
    run.refresh_from_db()
    assert (run.state, WORLD.calls, len(WORLD.lookups)) == (state, ["tag"], 1)


def test_the_page_of_the_question_shows_why_and_calls_nothing_irreversible(
    seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    says(Reconciliation("waiting", detail="Two charges of 40.00 are on the account."))
    run = until(die(monkeypatch, start(seen, "tag 1, then mail 1")), "waiting")
    olga = signed_in("olga", "Olga Petrova", "operator")
    page = olga.get(f"/questions/{question(run).pk}/")
    assert "Two charges of 40.00 are on the account." in words(page)
    assert "irreversible-banner" not in html(page)
    assert "Its agent’s reconcile function: waiting" in words(olga.get(f"/runs/{run.pk}/"))


def test_each_waiting_is_bound_to_a_digest_of_its_own(seen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    says(Reconciliation("waiting"))
    run = start(seen, "tag 1")
    confirmed = question(run).digest
    run = until(die(monkeypatch, run), "waiting")
    first = question(run).digest
    run.steps.update(settles_at=run.created_at)  # the call can no longer be on the wire
    with monkeypatch.context() as patch:
        patch.setattr(calls, "dispatch", then_die)
        with pytest.raises(KeyboardInterrupt):
            answer(run, "send_again")
    expire(run)
    second = question(until(run, "waiting")).digest
    assert len({confirmed, first, second}) == 3 and len(SEEN) == 2


def test_waiting_for_a_read_asks_whether_it_may_run_again(seen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    says(Reconciliation("waiting"))
    run = until(_dies_in_a_read(seen, "read 1, then pay 1", monkeypatch), "waiting")
    assert (question(run).asks, question(run).tool) == ("confirm", "read")
    assert (
        signed_in("ana", "Ana Ferreira", "support").get(f"/questions/{question(run).pk}/").status_code == 200
    )
    assert answer(run, "approve").state == "succeeded"
    assert WORLD.calls == ["read", "read", "pay"]


def test_waiting_for_a_read_asks_whom_its_rules_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    says(Reconciliation("waiting", detail="Look at the ticket first."))
    rules = "careful: {tools: read, ask: lead}"
    agent = make_agent(tmp_path, reconcile="tests.reconciling.reconcile", rules=rules)
    run = start(agent, "read 1")
    die(monkeypatch, run)
    run = until(run, "waiting")
    assert (question(run).asks, question(run).approver, question(run).asked) == ("confirm", "lead", 2)
    assert until(answer(run, "approve"), "succeeded").steps.get().asked == 2


def test_waiting_with_nothing_to_wait_for_is_a_conflict(seen: str) -> None:
    says(Reconciliation("waiting"))
    run = start(seen, "tag 1, then mail 1")
    answer(run, "approve")
    run = until(_dies_between_two_calls(run), "failed")
    assert (run.handover_reason, run.stop and run.stop["kind"]) == ("reconcile_conflict",) * 2
    assert reply(run) == (
        "This run stopped: what is outside contradicts the record (reconcile waits for a person, and no call was "
        "interrupted). Left as they are: tag."
    )
    assert WORLD.calls == ["tag"]


@pytest.mark.parametrize("gone", ["tool", "argument"])
def test_waiting_for_a_call_that_cannot_be_made_any_more_is_a_conflict(
    seen: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gone: str
) -> None:
    says(Reconciliation("waiting"))
    run = die(monkeypatch, start(seen, "charge 1 40.00, then mail 1"))
    if gone == "tool":
        make_agent(tmp_path, tools=["mail"], reconcile="tests.reconciling.reconcile")
    else:
        run.steps.filter(tool="charge").update(args={"amount": "40.00"})
    run = until(run, "waiting")
    assert run.handover_reason == "reconcile_conflict"
    assert question(run).asks == "outcome"  # whatever is said, the call in doubt is asked about
    run = answer(run, "happened")
    assert (run.state, states(run)) == ("failed", {"charge": "performed", "mail": "cancelled"})
    assert WORLD.calls == ["charge"]


# --- conflict, and what is no answer ------------------------------------------------------------------


def test_a_conflict_undoes_nothing_and_hands_the_run_to_a_person(
    seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    says(CONFLICT)
    run = start(seen, "charge 1 40.00, then tag 1, then mail 1")
    answer(run, "approve")
    run = until(die(monkeypatch, run), "failed")
    assert states(run) == {
        "charge": "performed",
        "tag": "performed",
        "mail": "cancelled",
    }  # tag was looked up
    assert (WORLD.calls, run.handover_reason) == (["charge", "tag"], "reconcile_conflict")
    assert reply(run) == (
        "This run stopped: what is outside contradicts the record (The order is closed). "
        "Left as they are: charge, tag."
    )


def test_after_a_conflict_a_call_in_doubt_is_still_asked_about(
    seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    says(CONFLICT)
    run = until(die(monkeypatch, start(seen, "charge 1 40.00, then mail 1")), "waiting")
    assert (run.handover_reason, question(run).asks) == ("reconcile_conflict", "outcome")
    run = answer(run, "happened", result={"charge": "ch_1"})
    assert (run.state, states(run)) == ("failed", {"charge": "performed", "mail": "cancelled"})
    assert WORLD.calls == ["charge"]


def test_after_a_conflict_an_operator_may_undo_what_was_done(
    seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    says(CONFLICT)
    run = until(die(monkeypatch, start(seen, "tag 1, then mail 1")), "failed")
    services.undo(PERSON, run)
    assert until(run, "rolled_back") and WORLD.calls == ["tag", "untag"]


NO_ANSWERS: dict[str, Any] = {
    "nothing": None,
    "a word": "continue",
    "another outcome": Reconciliation("retry"),
    "a result that is not JSON": Reconciliation("completed", result=object()),
    "a result that no reader agrees on": Reconciliation("completed", result={"amount": float("nan")}),
    "a detail that is no text": Reconciliation("conflict", detail=3),  # type: ignore[arg-type]
    "an error": raises(RuntimeError("the journal is away")),
}


@pytest.mark.parametrize("what", NO_ANSWERS)
def test_what_is_no_answer_ends_the_run_as_an_internal_error(
    seen: str, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    says(NO_ANSWERS[what])
    run = start(seen, "tag 1, then tag 2, then mail 1")
    answer(run, "approve")
    run = until(die(monkeypatch, run), "failed")
    assert (run.handover_reason, WORLD.calls) == ("internal_error", ["tag", "tag"])
    assert [step.state for step in run.steps.order_by("number")] == ["performed", "performed", "cancelled"]
    assert run.stop and "reconcile" in run.stop["detail"]


def test_what_an_error_says_is_in_the_record_and_not_in_the_reply(
    seen: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    says(raises(RuntimeError("card 4111 of Mr. Jones")))
    run = until(die(monkeypatch, start(seen, "tag 1, then mail 1")), "failed")
    assert reply(run) == (
        "This run stopped: an internal error (reconcile failed with RuntimeError). Left as they are: tag."
    )
    assert "Mr. Jones" in run.events.get(kind="run.reconciled").data["detail"]
    assert "RuntimeError" in caplog.text and "Mr. Jones" not in caplog.text


def test_a_call_that_is_proposed_while_a_conflict_is_settled_is_never_sent(
    seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    says(CONFLICT)
    run = until(die(monkeypatch, start(seen, "charge 1 40.00", opened=True)), "waiting")
    services.propose(AGENT, run, services.Proposal("mail", {"order": 1}))
    run = answer(run, "happened")
    assert (run.state, states(run)) == ("failed", {"charge": "performed", "mail": "cancelled"})


def test_what_the_function_does_to_its_copy_changes_nothing(
    seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def scribbles(found: FoundRun) -> Reconciliation:
        for step in found.steps:
            step.args.clear()
            if step.result:
                step.result["charge"] = "another"
        return CONTINUE

    says(scribbles)
    run = start(seen, "charge 1 40.00, then tag 1")
    answer(run, "approve")
    run = until(die(monkeypatch, run), "succeeded")
    services.undo(PERSON, run)
    until(run, "rolled_back")
    assert run.steps.get(tool="refund").args == {"charge": "ch_1", "amount": "40.00"}


# --- Crashes and interleavings ------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["while it runs", "just after it ran"])
def test_a_crash_has_it_asked_again_and_its_answer_recorded_once(
    seen: str, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    says(raises(KeyboardInterrupt()) if when == "while it runs" else COMPLETED, COMPLETED)
    run = die(monkeypatch, start(seen, "charge 1 40.00, then mail 1"))
    with monkeypatch.context() as patch:
        if when == "just after it ran":
            patch.setattr("runs.takeover.consult", lambda function, found: [function(found), _die()])
        with pytest.raises(KeyboardInterrupt):
            advance(run.pk)
    expire(run)
    run = until(run, "succeeded")
    assert (len(SEEN), outcomes(run), WORLD.calls) == (2, ["completed"], ["charge"])


def test_a_worker_that_stops_at_the_take_over_leaves_the_question_to_the_next(
    seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    says(COMPLETED)
    run = die(monkeypatch, start(seen, "charge 1 40.00, then mail 1"))
    with monkeypatch.context() as patch:
        patch.setattr(draining, "asked", lambda: True)
        advance(run.pk)
        assert SEEN == []
    assert until(run, "succeeded") and len(SEEN) == 1


def test_an_answer_about_rows_that_changed_meanwhile_is_asked_for_again(
    seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The frozen worker comes back, and writes down what its call did, while the function looks."""
    run = die(monkeypatch, start(seen, "charge 1 40.00, then mail 1"))

    def comes_back(found: FoundRun) -> Reconciliation:
        _writes_down_late(run, Outcome(Verdict.PERFORMED, {"charge": "ch_1"}))
        return Reconciliation("completed", result={"charge": "a guess"})

    says(comes_back, CONTINUE)
    approve_all(until(run, "waiting"))
    assert [found.interrupted is None for found in SEEN] == [False, True]
    entry = run.steps.get(tool="charge").entry
    assert entry and entry.result == {"charge": "ch_1"}
    assert (outcomes(run), WORLD.calls) == (["continue"], ["charge", "mail"])


def test_a_worker_that_lost_the_run_while_it_asked_changes_nothing(
    seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = die(monkeypatch, start(seen, "charge 1 40.00, then mail 1"))

    def loses_it(found: FoundRun) -> Reconciliation:
        Run.objects.filter(pk=run.pk).update(lease_owner="other", lease_epoch=99)
        return COMPLETED

    says(loses_it, CONTINUE)
    assert not advance(run.pk)
    expire(run)
    run = until(run, "waiting")
    assert (outcomes(run), question(run).asks) == (["continue"], "outcome")


def test_a_run_deployed_without_the_function_goes_on_without_it(
    seen: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    says(raises(KeyboardInterrupt()))
    run = die(monkeypatch, start(seen, "tag 1, then mail 1"))
    with pytest.raises(KeyboardInterrupt):
        advance(run.pk)
    expire(run)
    make_agent(tmp_path)
    assert approve_all(until(run, "waiting")).state == "succeeded"
    assert (len(SEEN), Run.objects.get().died) == (1, "")


def _dies_in_a_read(agent: str, turn: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    with monkeypatch.context() as patch:
        patch.setattr(calls, "dispatch", then_die)
        with pytest.raises(KeyboardInterrupt):
            start(agent, turn)
    return expire(Run.objects.get())


def _dies_between_two_calls(run: Run) -> Run:
    """As a worker leaves it that dies right after an outcome was committed, and nothing was to be sent."""
    Run.objects.filter(pk=run.pk).update(
        state="running", lease_owner="host:1:dead", lease_expires_at=run.created_at
    )
    Step.objects.filter(run=run, state="needs_approval").update(state="proposed", asks="")
    return run


def _writes_down_late(run: Run, outcome: Outcome) -> None:
    attempt = run.steps.get(tool="charge").attempts.get()
    step, tool = attempt.step, agentfile.agent(run.thread.agent).catalogue["charge"]
    record_late(
        calls.Sending(step.number, attempt, tool, step.args, Call(attempt.entry_id, "charge"), outcome)
    )


def _die() -> Callable[[], None]:
    raise KeyboardInterrupt
