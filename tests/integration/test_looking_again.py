"""An unknown outcome is looked up again, by itself and when somebody asks: what the lookup says settles it."""

import re
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from runs import agentfile, calls, services
from runs.access import Actor
from runs.demo import make_logins
from runs.engine import advance
from runs.errors import AlreadyAnswered, BadInput, DigestMismatch, Gone, NotAllowed
from runs.models import LedgerEntry, Run, Step
from runs.recovery import sweep
from runs.tools.lookups import Answer, look_up
from runs.trace import Trace
from tests.factories import (
    PERSON,
    answer,
    approve_all,
    expire,
    make_agent,
    question,
    reply,
    start,
    states,
    until,
)
from tests.world import WORLD

if TYPE_CHECKING:
    from pytest_django import Settings

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def doubt(agent: str) -> Run:
    """It took effect, no answer came back, and the lookup could not say."""
    WORLD.script = {"tag": ["times out after"], "find": ["cannot say"]}
    return approve_all(start(agent, "tag 1"))


@pytest.fixture
def missing(agent: str) -> Run:
    """It took no effect, no answer came back, and the lookup could not say."""
    WORLD.script = {"tag": ["times out before"], "find": ["cannot say"]}
    return approve_all(start(agent, "tag 1"))


def looked_up(run: Run) -> Run:
    """An operator has it looked up, and a worker does it."""
    services.look_up(PERSON, question(run).pk)
    advance(run.pk)
    run.refresh_from_db()
    return run


def settle(run: Run) -> None:
    """The call can no longer be on the wire."""
    run.steps.update(settles_at=run.created_at)


def keep_on_the_wire(run: Run) -> None:
    """The call can still arrive, for as long as the test takes."""
    run.steps.update(settles_at=timezone.now() + timedelta(hours=1))


def kinds(run: Run) -> list[str]:
    """The record of the step since it was asked about."""
    lines = [event.kind for event in run.events.filter(step__isnull=False)]
    return lines[lines.index("step.unknown") + 1 :]


def meanwhile(monkeypatch: pytest.MonkeyPatch, do: Any) -> None:
    """While the next lookup is under way, after the service has answered and before that is recorded, this happens."""

    def slow(*args: Any) -> Answer:
        said = look_up(*args)
        monkeypatch.undo()
        do()
        return said

    monkeypatch.setattr(calls, "look_up", slow)


# --- What it says settles the question ----------------------------------------------------------------
def test_a_call_that_a_lookup_finds_later_needs_no_answer_any_more(doubt: Run) -> None:
    asked = question(doubt)
    run = looked_up(doubt)
    assert (run.state, states(run), WORLD.calls) == ("succeeded", {"tag": "performed"}, ["tag"])
    assert reply(run) == "Done: tag. Settled by a lookup: tag."
    assert kinds(run) == ["question.look_up_requested", "step.looked_up", "step.performed"]
    [settled] = run.events.filter(kind="step.performed")
    assert (settled.before, settled.data) == ("unknown", {"settled_by": "lookup"})
    with pytest.raises(Gone, match=r"A lookup settled this question, \d\d:\d\d UTC: it happened\."):
        services.resolve(PERSON, asked.pk, "did_not_happen", asked.digest)
    with pytest.raises(Gone, match="it happened"):
        services.look_up(PERSON, asked.pk)
    lines = [str(line).partition("key")[0].strip() for line in Trace(run).lines()]
    assert "note      Ana Ferreira has tag looked up" in lines[3]
    assert "the lookup settled the question; no answer is needed" in "\n".join(lines)


def test_what_a_lookup_finds_is_undone_with_its_result(agent: str) -> None:
    WORLD.script = {"tag": ["times out after"], "find": ["cannot say"], "mail": ["raises"]}
    run = until(approve_all(looked_up(approve_all(start(agent, "tag 1, then mail 1")))), "rolled_back")
    assert WORLD.calls == ["tag", "mail", "untag"]
    assert reply(run).endswith("Undone, latest first: tag (by untag). Settled by a lookup: tag.")


def test_a_lookup_that_cannot_say_leaves_the_question_as_it_was(doubt: Run) -> None:
    before = question(doubt)
    WORLD.script = {"find": ["cannot say"]}
    run = looked_up(doubt)
    after = question(run)
    assert (run.state, after.digest, after.asked_at) == ("waiting", before.digest, before.asked_at)
    assert [event.data["said"] for event in run.events.filter(kind="step.looked_up")] == ["cannot_say"] * 2
    services.resolve(PERSON, before.pk, "happened", before.digest, {"result": {"tag": 1}})
    assert until(run, "succeeded").messages.get(role="agent").text == "Done: tag."


def test_a_lookup_that_raises_leaves_the_question_as_it_was_and_its_error_in_the_record(doubt: Run) -> None:
    before = question(doubt)
    WORLD.script = {"find": ["raises"]}
    run = looked_up(doubt)
    assert (run.state, question(run).digest) == ("waiting", before.digest)
    last = run.events.filter(kind="step.looked_up").last()
    assert last and last.data == {"said": "failed", "error": "ConnectionError: nobody there"}


def test_what_was_not_there_while_the_call_could_still_arrive_changes_the_question_and_is_looked_up_again(
    missing: Run,
) -> None:
    keep_on_the_wire(missing)
    before = question(missing)
    run = looked_up(missing)
    after = question(run)
    assert (run.state, after.said, run.due_at) == ("waiting", "not_yet", after.settles_at)
    with pytest.raises(DigestMismatch):
        services.resolve(PERSON, before.pk, "happened", before.digest)
    [changed] = run.events.filter(kind="question.changed")
    assert (changed.data["digest"], changed.data["said"]) == (after.digest, "not_yet")
    settle(run)
    Step.objects.update(due_at=timezone.now())
    run = until(run, "succeeded")
    assert (WORLD.calls, LedgerEntry.objects.get().calls) == (["tag", "tag"], 2)


def test_what_did_not_happen_is_sent_again_under_its_key_as_it_would_have_been_before_the_question(
    missing: Run,
) -> None:
    settle(missing)
    run = looked_up(missing)
    assert (run.state, WORLD.calls, LedgerEntry.objects.count()) == ("succeeded", ["tag", "tag"], 1)
    assert kinds(run) == [
        "question.look_up_requested",
        "step.looked_up",
        "question.changed",
        "step.sent",
        "step.performed",
    ]
    step = run.steps.get()
    with pytest.raises(Gone, match="A lookup settled this question, .*: it did not happen"):
        services.resolve(PERSON, step.pk, "send_again", step.digest)


def test_a_call_that_used_up_its_calls_waits_for_a_person_also_where_it_did_not_happen(agent: str) -> None:
    WORLD.script = {"tag": ["times out before"] * 3}
    run = until(approve_all(start(agent, "tag 1")), "waiting")
    step = question(run)
    assert (step.said, step.calls, run.due_at) == ("did_not_happen", 3, None)
    run = looked_up(run)
    assert (run.state, question(run).digest, WORLD.calls) == ("waiting", step.digest, ["tag"] * 3)
    assert not Run.objects.with_work().exists()
    assert reply(answer(run, "did_not_happen")) == (
        "This run stopped: tag did not take effect. Nothing had been done."
    )


def test_a_tool_that_changed_since_its_approval_is_not_sent_again(missing: Run) -> None:
    settle(missing)
    missing.steps.update(fingerprint="0" * 64)
    run = looked_up(missing)
    assert (run.state, WORLD.calls, question(run).said) == ("waiting", ["tag"], "did_not_happen")


def test_an_undo_that_did_not_happen_and_used_up_its_sends_is_a_stuck_undo(agent: str) -> None:
    WORLD.script = {
        "mail": ["raises"],
        "untag": ["times out before"] * 4,
        "find": ["cannot say"] * 4,
    }
    run = until(approve_all(start(agent, "tag 1, then mail 1")), "stuck")
    assert question(run).question == "Did untag take effect? The call was sent and no answer came back."
    settle(run)
    run = looked_up(run)
    assert (run.state, question(run).asks, states(run)["untag"]) == ("stuck", "undo", "undo_stuck")
    assert reply(answer(run, "retry")).endswith("Undone, latest first: tag (by untag).")


# --- By itself ----------------------------------------------------------------------------------------
def test_a_question_is_looked_up_by_itself(agent: str, settings: "Settings") -> None:
    settings.LOOK_AGAIN_SECONDS = 0.2
    WORLD.script = {"tag": ["times out after"], "find": ["cannot say"]}
    run = approve_all(start(agent, "tag 1"))
    assert (run.state, sweep()) == ("waiting", 0)
    until(run, "succeeded")
    assert WORLD.calls == ["tag"]
    assert "question.look_up_requested" not in kinds(run)


def test_the_sweep_wakes_a_worker_for_a_lookup_that_is_due(doubt: Run) -> None:
    assert sweep() == 0
    Run.objects.update(due_at=timezone.now())
    assert sweep() == 1


def test_the_pause_between_two_lookups_grows_up_to_an_hour_and_is_kept_in_the_row(doubt: Run) -> None:
    pauses = []
    for _ in range(9):
        WORLD.script = {"find": ["cannot say"]}
        before = timezone.now()
        Step.objects.update(due_at=before)
        advance(doubt.pk)
        doubt.refresh_from_db()
        assert doubt.due_at
        pauses.append(round((doubt.due_at - before).total_seconds() / 60))
    assert pauses == [2, 4, 8, 16, 32, 60, 60, 60, 60]


def test_an_answer_is_not_kept_waiting_by_the_next_lookup(doubt: Run) -> None:
    """Also where its nudge was lost: the next lookup is a minute ahead."""
    step = question(doubt)
    services.resolve(PERSON, step.pk, "happened", step.digest)
    assert sweep() == 1


def test_a_worker_that_dies_in_a_lookup_leaves_the_question_and_somebody_else_looks(
    doubt: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die() -> None:
        raise KeyboardInterrupt

    meanwhile(monkeypatch, die)
    with pytest.raises(KeyboardInterrupt):
        looked_up(doubt)
    doubt.refresh_from_db()
    assert (doubt.state, states(doubt), doubt.due_at) == ("running", {"tag": "unknown"}, None)
    assert question(doubt).look_asked_at
    expire(doubt)
    assert Run.objects.with_work().exists()
    advance(doubt.pk, "another worker")
    assert until(doubt, "succeeded").events.filter(kind="step.looked_up").count() == 2


# --- While it is looked up ----------------------------------------------------------------------------
def test_an_answer_that_came_while_it_was_looked_up_stands(
    missing: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lookup says that it did not happen, and the person knows better."""
    settle(missing)
    step = question(missing)
    meanwhile(monkeypatch, lambda: services.resolve(PERSON, step.pk, "happened", step.digest))
    run = looked_up(missing)
    assert (run.state, WORLD.calls, reply(run)) == ("succeeded", ["tag"], "Done: tag.")
    assert run.events.filter(kind="step.performed", actor="Ana Ferreira").exists()


@pytest.mark.parametrize("said", ["did_not_happen", "send_again"])
def test_what_a_lookup_found_comes_before_an_answer_that_nothing_was_done_on_yet(
    doubt: Run, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    settle(doubt)
    step = question(doubt)
    meanwhile(monkeypatch, lambda: services.resolve(PERSON, step.pk, said, step.digest))
    run = looked_up(doubt)
    assert (run.state, WORLD.calls) == ("succeeded", ["tag"])
    assert reply(run) == "Done: tag. Settled by a lookup: tag."
    [settled] = run.events.filter(kind="step.performed")
    assert settled.data["instead_of"] == said
    assert "not carried out" in "\n".join(line.text for line in Trace(run).lines())
    with pytest.raises(Gone, match="it happened"):
        services.resolve(PERSON, step.pk, said, step.digest)


def test_a_run_that_is_cancelled_while_it_is_looked_up_sends_nothing(
    missing: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle(missing)
    meanwhile(monkeypatch, lambda: services.cancel(PERSON, missing, "no longer wanted"))
    run = looked_up(missing)
    assert (run.state, states(run), WORLD.calls) == ("failed", {"tag": "not_performed"}, ["tag"])
    assert reply(run) == "This run stopped: cancelled by Ana Ferreira. Nothing had been done."


def test_a_cancelled_run_undoes_what_a_lookup_finds(doubt: Run) -> None:
    services.cancel(PERSON, doubt, "no longer wanted")
    advance(doubt.pk)
    assert (states(doubt), WORLD.calls) == ({"tag": "unknown"}, ["tag"])
    assert WORLD.script["find"] == []
    run = until(looked_up(doubt), "rolled_back")
    assert WORLD.calls == ["tag", "untag"]
    assert reply(run).startswith(
        "This run stopped: cancelled by Ana Ferreira. Undone, latest first: tag (by untag)."
    )


def test_two_who_ask_at_once_are_one_lookup(doubt: Run) -> None:
    WORLD.script = {"find": ["cannot say"]}
    step = question(doubt)
    for _ in range(2):
        services.look_up(PERSON, step.pk)
    advance(doubt.pk)
    advance(doubt.pk)
    assert doubt.events.filter(kind="question.look_up_requested").count() == 1
    assert len(WORLD.lookups) == 2  # the first was before the question


def test_who_asks_while_it_is_looked_up_by_itself_gets_a_lookup_of_their_own(
    doubt: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was on its way to the service before they asked does not count."""
    Step.objects.update(due_at=None)
    WORLD.script = {"find": ["cannot say"]}
    meanwhile(monkeypatch, lambda: services.look_up(PERSON, question(doubt).pk))
    advance(doubt.pk)
    assert until(doubt, "succeeded").events.filter(kind="step.looked_up").count() == 3


# --- What cannot be looked up -------------------------------------------------------------------------
def test_a_confirmation_and_a_call_without_a_lookup_are_refused(agent: str) -> None:
    run = start(agent, "charge 1 40.00")
    with pytest.raises(BadInput, match="Nothing can look this up"):
        services.look_up(PERSON, question(run).pk)
    WORLD.script = {"charge": ["times out after"]}
    run = answer(run, "approve")
    with pytest.raises(BadInput, match="find out where the call went, and answer"):
        services.look_up(PERSON, question(run).pk)
    assert not run.events.filter(kind="question.look_up_requested").exists()


def test_an_answered_question_is_not_looked_up(doubt: Run) -> None:
    step = question(doubt)
    services.resolve(PERSON, step.pk, "happened", step.digest)
    with pytest.raises(AlreadyAnswered, match="Answered by Ana Ferreira"):
        services.look_up(PERSON, step.pk)


def test_it_is_for_those_who_may_answer(doubt: Run) -> None:
    with pytest.raises(NotAllowed):
        services.look_up(Actor("Tom Baker", frozenset({"support"})), question(doubt).pk)


def test_a_wish_that_can_no_longer_be_served_is_dropped(doubt: Run, tmp_path: Path) -> None:
    """The agent file took the lookup away in between: nobody is woken for it again and again."""
    services.look_up(PERSON, question(doubt).pk)
    path = tmp_path / "tester.yaml"
    text = path.read_text().replace("- python: tests.world", "- python: tests.world\n- tag: {lookup: null}")
    make_agent(tmp_path)
    path.write_text(text)
    agentfile._known.pop("tester")
    agentfile.register(path)
    advance(doubt.pk)
    assert (question(doubt).look_asked_at, Run.objects.with_work().exists()) == (None, False)
    assert len(WORLD.lookups) == 1


# --- At the command line ------------------------------------------------------------------------------
def test_the_command_says_what_the_lookup_said_and_how_the_run_stands(
    doubt: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    make_logins()
    step = question(doubt)
    WORLD.script = {"find": ["cannot say"]}
    with pytest.raises(SystemExit) as waits:
        call_command("lookup", step.pk, login="olga")
    said = capsys.readouterr().out
    assert waits.value.code == 3
    assert re.match(r"tag looked up, \d\d:\d\d:\d\d UTC: it cannot say\n", said)
    assert f"  digest {step.digest}\n" in said

    call_command("lookup", step.pk, login="olga")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith(" UTC: found: it happened")
    assert re.fullmatch(r"tag 1: done \(operation [0-9a-f]{16}, 1 call\(s\)\)", lines[1])
    assert lines[2:] == ["Done: tag. Settled by a lookup: tag.", "Status: done"]

    with pytest.raises(SystemExit) as gone:
        call_command("lookup", step.pk, login="olga", json=True)
    assert (gone.value.code, capsys.readouterr().err.count("\n")) == (1, 1)


def test_the_command_is_for_operators(doubt: Run, capsys: pytest.CaptureFixture[str]) -> None:
    make_logins()
    with pytest.raises(SystemExit) as refused:
        call_command("lookup", question(doubt).pk, login="ana")
    assert refused.value.code == 1
    assert capsys.readouterr().err == "This question is for the role operator; ask somebody who has it.\n"
