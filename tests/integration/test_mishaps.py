"""A run that cannot be carried on: held up for longer each time, and in the end a person takes it over."""

import logging
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import OperationalError, connection
from django.db.models import F
from django.db.models.functions import Now

from approvals.handover_words import word
from approvals.handovers import read
from runs import agentfile, calls, engine, mishaps, services, tasks
from runs.api import showing
from runs.api.showing import whole_run
from runs.engine import advance
from runs.errors import Gone, HeldUp, RunClosed
from runs.handover import ticket
from runs.models import Run, Step
from runs.next_action import next_action
from runs.recovery import sweep
from tests.factories import (
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
from tests.integration.pages import send, signed_in, words
from tests.world import WORLD

pytestmark = pytest.mark.django_db(transaction=True)
SECRET = "4111 1111 1111 1111"


def fails(*args: Any) -> Any:
    """In place of a part of the engine: a bug, with a customer's words in its message."""
    raise KeyError(SECRET)


def held_up(run: Run) -> Run:
    """A worker tries the run, and it is held up."""
    before = Run.objects.get(pk=run.pk)
    tasks.advance_run(run.pk)
    run.refresh_from_db()
    assert run.trouble and run.due_at and run.failures >= before.failures
    return run


def try_on(run: Run, tries: int = mishaps.TRIES) -> Run:
    """So many workers try it, each when it is due."""
    for _ in range(tries):
        Run.objects.filter(pk=run.pk).update(due_at=None)
        tasks.advance_run(run.pk)
    run.refresh_from_db()
    return run


def pauses(run: Run, tries: int) -> list[float]:
    """How long the run is left alone after each try, in units of the first pause."""
    found = []
    for _ in range(tries):
        tasks.advance_run(run.pk)
        [wait] = Run.objects.filter(pk=run.pk).values_list(F("due_at") - Now(), flat=True)
        found.append(round(wait / timedelta(seconds=100)))
    return found


# --- An agent, a tool or a file that is gone ----------------------------------------------------------


def test_a_run_whose_agent_is_gone_waits_longer_each_time_and_goes_on_when_it_is_back(
    agent: str, tmp_path: Path, settings: Any
) -> None:
    run = start(agent, "tag 1, then pay 1")
    services.resolve(PERSON, question(run).pk, "approve", question(run).digest)
    gone = agentfile._known.pop(agent)
    settings.RETRY_SECONDS = 100
    assert pauses(run, 3) == [1, 2, 3]  # 100 s, 200 s, then five minutes at the most
    run = held_up(run)
    assert run.state == "waiting" and "There is no agent called 'tester'" in run.trouble
    assert sweep() == 0  # not due: nobody is woken
    agentfile._known[agent] = gone
    assert advance(run.pk)
    run.refresh_from_db()
    assert (run.state, run.trouble, run.failures) == ("succeeded", "", 0)
    assert WORLD.calls == ["tag", "pay"]
    assert run.events.filter(kind="run.held_up").count() == 1


def test_time_ends_no_run_whose_agent_stays_away(agent: str) -> None:
    run = start(agent, "tag 1, then tag 2")
    answer(run, "approve")
    services.resolve(PERSON, question(run).pk, "approve", question(run).digest)
    gone = agentfile._known.pop(agent)
    run = try_on(run, 3 * mishaps.TRIES)
    assert (run.state, run.handover_reason) == ("waiting", "")
    agentfile._known[agent] = gone
    assert advance(run.pk) and Run.objects.get().state == "succeeded"


def test_an_operator_ends_a_run_whose_agent_stays_away_by_cancelling_it(agent: str) -> None:
    run = start(agent, "tag 1, then mail 1")
    answer(run, "approve")
    gone = agentfile._known.pop(agent)
    services.cancel(PERSON, run)
    assert try_on(run, mishaps.TRIES - 1).state == "waiting"
    run = try_on(run, 1)
    assert (run.state, run.handover_reason) == ("failed", "agent_gone")
    assert states(run) == {"tag": "performed", "mail": "cancelled"}
    assert reply(run) == "This run stopped: its agent is not known any more. Left as they are: tag."
    assert "no worker knows its agent: the agent tester cannot be had here" in word(read(run.pk)).reason
    assert ticket(run)["completed"][0]["tool"] == "tag"
    agentfile._known[agent] = gone
    services.undo(PERSON, run)
    assert until(run, "rolled_back") and WORLD.calls == ["tag", "untag"]


def test_an_agent_file_that_does_not_load_holds_up_and_names_the_line(
    agent: str, tmp_path: Path, settings: Any
) -> None:
    run = start(agent, "tag 1")
    services.resolve(PERSON, question(run).pk, "approve", question(run).digest)
    broken = tmp_path / "broken.yaml"
    broken.write_text("agents:\n  desk: {tools: [x]}\ntools: [{python: shop.gone}]\n")
    settings.AGENT_FILES = [broken]
    assert f"{broken}:3: the module shop.gone cannot be imported" in held_up(run).trouble


def test_a_dead_run_whose_agent_is_gone_is_not_taken_for_one_that_kills_its_workers(
    agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = die(monkeypatch, start(agent, "charge 1 40.00"))
    gone = agentfile._known.pop(agent)
    run = try_on(run, 3 * mishaps.TRIES)
    assert (run.state, run.handover_reason) == ("running", "")
    agentfile._known[agent] = gone
    run = until(run, "waiting")
    assert question(run).question == "Did charge take effect? It was being sent when the run stopped."
    assert WORLD.calls == ["charge"]


def test_a_tool_that_is_gone_is_refused_where_it_was_never_sent(agent: str, tmp_path: Path) -> None:
    run = start(agent, "tag 1, then mail 1")
    answer(run, "approve")
    make_agent(tmp_path, tools=["tag", "untag"])
    run = answer(run, "approve")
    assert run.steps.get(tool="mail").error_class == "tool_not_of_agent"
    assert (run.state, WORLD.calls) == ("rolled_back", ["tag", "untag"])


def test_a_tool_that_is_gone_at_the_take_over_is_asked_about_and_not_sent_again(
    agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = die(monkeypatch, start(agent, "pay 1, then tag 1"))
    known = agentfile.agent(agent)
    for name in ("tag", "pay"):
        monkeypatch.delitem(known.catalogue, name)
        monkeypatch.delitem(known.tools, name)
    run = until(run, "waiting")
    assert (question(run).asks, question(run).tool) == ("outcome", "tag")
    assert WORLD.calls == ["pay", "tag"]


# --- A bug in a commit --------------------------------------------------------------------------------


def test_a_bug_holds_up_one_run_for_longer_each_time_while_others_go_on(
    agent: str, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    run = start(agent, "tag 1", user="u-1")
    services.resolve(PERSON, question(run).pk, "approve", question(run).digest)
    monkeypatch.setattr(engine, "next_action", _for(run, fails, next_action))
    settings.RETRY_SECONDS = 100
    assert pauses(run, 3) == [1, 2, 3]
    settings.RETRY_SECONDS = 0.02
    assert approve_all(start(agent, "mail 1", user="u-2")).state == "succeeded"
    assert WORLD.calls == ["mail"]


def test_a_bug_is_logged_once_with_its_place_and_without_what_it_says(
    agent: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    run = start(agent, "tag 1")
    monkeypatch.setattr(engine, "check_step", fails)
    services.resolve(PERSON, question(run).pk, "approve", question(run).digest)
    with caplog.at_level(logging.ERROR):
        run = try_on(run, 4)
    [line] = [entry for entry in caplog.records if run.name in entry.getMessage()]
    assert "KeyError in engine.py" in line.getMessage() and "in _record" in line.getMessage()
    assert SECRET not in caplog.text
    told = [run.trouble, *(str(event.data) for event in run.events.all())]
    assert not any(SECRET in text for text in told)
    assert run.events.filter(kind="run.held_up").count() == 1


def test_a_bug_that_stays_ends_the_run_with_a_ticket_and_undoes_nothing(
    agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start(agent, "tag 1, then mail 1, then mail 2")
    answer(run, "approve")
    with monkeypatch.context() as patch:
        patch.setattr(engine, "next_action", fails)
        services.resolve(PERSON, question(run).pk, "approve", question(run).digest)
        assert try_on(run, mishaps.TRIES - 1).state == "waiting"
        run = try_on(run, 1)
    assert (run.state, run.handover_reason, run.lease_owner) == ("failed", "internal_error", "")
    assert [step.state for step in run.steps.order_by("number")] == ["performed", "cancelled", "cancelled"]
    assert reply(run).startswith("This run stopped: an internal error (KeyError in ")
    assert reply(run).endswith("Left as they are: tag.")
    assert not advance(run.pk) and sweep() == 0 and WORLD.calls == ["tag"]


def test_what_a_call_did_is_kept_where_the_commit_after_it_failed(
    agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start(agent, "charge 1 40.00, then mail 1")
    with monkeypatch.context() as patch:
        patch.setattr(calls.Sending, "record", fails)
        with pytest.raises(HeldUp):
            answer(run, "approve")
    run = approve_all(until(run, "waiting"))
    assert (run.state, WORLD.calls) == ("succeeded", ["charge", "mail"])
    assert not run.events.filter(kind="step.unknown").exists()


def test_a_run_that_ends_in_the_middle_of_a_call_leaves_a_question_that_can_be_answered(
    agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = die(monkeypatch, start(agent, "charge 1 40.00, then mail 1"))
    with monkeypatch.context() as patch:
        patch.setattr(engine, "next_action", fails)
        run = try_on(run)
    assert (run.state, states(run)) == ("failed", {"charge": "unknown", "mail": "cancelled"})
    assert reply(run).endswith("Not known: charge.")
    [unknown] = ticket(run)["unknown"]
    assert unknown["asked"] == "Did charge take effect? It was being sent when the run stopped."
    Step.objects.update(settles_at=None)
    with pytest.raises(RunClosed, match="nothing is sent again"):
        answer(run, "send_again")
    run = answer(run, "happened", result={"charge": "ch_1"})
    assert (run.state, states(run)["charge"], WORLD.calls) == ("failed", "performed", ["charge"])
    services.undo(PERSON, run)
    assert until(run, "rolled_back") and WORLD.calls == ["charge", "refund"]


def test_a_read_that_was_under_way_when_the_run_was_ended_is_not_asked_about(
    agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(calls, "dispatch", then_die)
        with pytest.raises(KeyboardInterrupt):
            start(agent, "read 1, then tag 1")
        patch.setattr(engine, "next_action", fails)
        run = try_on(expire(Run.objects.get()))
    assert (run.state, states(run)) == ("failed", {"read": "cancelled", "tag": "cancelled"})
    assert reply(run).endswith("Nothing had been done.")


def test_the_question_about_a_call_that_was_never_sent_is_withdrawn(
    agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start(agent, "tag 1")
    asked = question(run)
    monkeypatch.setattr(engine, "next_action", fails)
    run = try_on(run)
    assert (run.state, states(run)) == ("failed", {"tag": "cancelled"})
    with pytest.raises(Gone):
        services.resolve(PERSON, asked.pk, "approve", asked.digest)


def test_an_undo_that_a_bug_keeps_from_beginning_is_given_up_with_a_ticket(
    agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = answer(start(agent, "tag 1"), "approve")
    services.undo(PERSON, run)
    with monkeypatch.context() as patch:
        patch.setattr(engine, "next_action", fails)
        run = try_on(run)
    assert (run.state, run.handover_reason, run.undo_requested_at) == ("succeeded", "internal_error", None)
    assert sweep() == 0
    services.undo(PERSON, run)  # the bug is mended
    assert until(run, "rolled_back") and WORLD.calls == ["tag", "untag"]


@pytest.mark.parametrize("where", ["a rollback", "a rollback that is stuck"])
def test_a_rollback_that_a_bug_stops_is_left_to_a_person_and_can_be_taken_up_again(
    agent: str, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    if where == "a rollback that is stuck":
        WORLD.script["refund"] = ["refuses"] * 4
    else:
        monkeypatch.setattr(engine, "add_undo", fails)
    run = answer(start(agent, "charge 1 40.00, then mail 1"), "approve")
    stuck = where == "a rollback that is stuck"
    services.resolve(PERSON, question(run).pk, "cancel_all", question(run).digest)
    if stuck:
        run = until(run, "stuck")
        monkeypatch.setattr(engine, "settle", fails)
        services.resolve(PERSON, question(run).pk, "retry", question(run).digest)
    run = try_on(run)
    assert (run.state, run.handover_reason) == ("failed", "internal_error")
    monkeypatch.undo()
    services.undo(PERSON, run)
    run = until(run, "rolled_back")
    assert WORLD.landed == ["charge", "refund"]


def test_a_deadlock_is_no_outage_and_the_run_is_tried_again(
    agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deadlock(*args: Any) -> Any:
        raise OperationalError("deadlock detected")

    run = start(agent, "tag 1")
    with monkeypatch.context() as patch:
        patch.setattr(calls.Sending, "record", deadlock)
        with pytest.raises(HeldUp):
            answer(run, "approve")
    assert until(run, "succeeded") and WORLD.calls == ["tag"]


# --- A process that dies of the run -------------------------------------------------------------------


def test_a_run_that_kills_whoever_loads_it_is_counted_before_it_is_taken(
    agent: str, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.RENUDGE_SECONDS = 0
    run = start(agent, "tag 1, then mail 1")
    answer(run, "approve")
    services.resolve(PERSON, question(run).pk, "approve", question(run).digest)
    with monkeypatch.context() as patch:
        patch.setattr(engine, "load_steps", then_die_of)
        deaths = _die_until_it_ends(run)
    run.refresh_from_db()
    assert (run.state, run.handover_reason) == ("failed", "internal_error")
    assert deaths == mishaps.NUDGES - 1 + mishaps.TRIES
    assert "died, 8 times in a row" in reply(run) and WORLD.calls == ["tag"]


def test_a_run_that_kills_whoever_takes_it_over_is_counted(
    agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call in doubt is looked up, and the lookup is what kills."""
    run = die(monkeypatch, start(agent, "tag 1, then mail 1"))
    with monkeypatch.context() as patch:
        patch.setattr(calls, "look_up", then_die_of)
        for _ in range(mishaps.TRIES):
            with pytest.raises(KeyboardInterrupt):
                advance(run.pk)
            Run.objects.filter(pk=expire(run).pk).update(due_at=None)
        assert not advance(run.pk)
    run.refresh_from_db()
    assert (run.state, run.handover_reason, states(run)) == (
        "failed",
        "internal_error",
        {"tag": "unknown", "mail": "cancelled"},
    )
    assert WORLD.calls == ["tag"]


def test_of_two_workers_who_take_a_dead_run_at_once_one_counts(
    agent: str, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.RETRY_SECONDS = 100
    run = die(monkeypatch, start(agent, "tag 1"))
    assert [mishaps.count(run.pk), mishaps.count(run.pk)] == [True, False]
    run.refresh_from_db()
    assert run.failures == 1 and run.due_at


def test_a_run_that_killed_its_worker_is_left_alone_for_longer_each_time_unless_somebody_resumes_it(
    agent: str, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.RETRY_SECONDS = 100
    run = die(monkeypatch, start(agent, "tag 1"))
    with monkeypatch.context() as patch:
        patch.setattr(calls, "look_up", then_die_of)
        with pytest.raises(KeyboardInterrupt):
            advance(run.pk)
    expire(run)
    assert not advance(run.pk) and WORLD.lookups == []
    services.resume(PERSON, run)
    assert until(run, "succeeded") and WORLD.calls == ["tag"]


def test_deaths_with_something_done_between_them_are_not_counted_together(
    agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start(agent, ", then ".join(f"pay {number}" for number in range(1, 3)))
    assert run.state == "succeeded"
    run = die(monkeypatch, start(agent, "tag 1, then mail 1", user="u-2"))
    run = until(run, "waiting")
    assert (run.failures, run.nudges, run.due_at) == (0, 0, None)


def test_a_run_that_waited_long_for_a_worker_is_not_taken_for_a_killer(agent: str, settings: Any) -> None:
    settings.RENUDGE_SECONDS = 0
    run = start(agent, "tag 1, then mail 1")
    services.resolve(PERSON, question(run).pk, "approve", question(run).digest)
    for _ in range(20):
        assert sweep() == 1
    assert advance(run.pk)
    run.refresh_from_db()
    assert (run.state, run.failures, run.nudges) == ("waiting", 0, 0)


# --- A row that does not decode -----------------------------------------------------------------------


def test_a_row_that_does_not_decode_ends_the_run_and_is_not_rewritten(
    agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start(agent, "tag 1, then charge 1 40.00, then mail 1")
    answer(run, "approve")
    run = die(monkeypatch, run)
    before = _damage(run, "charge", "args", '["1", "40.00"]')
    tasks.advance_run(run.pk)
    run.refresh_from_db()
    assert (run.state, run.handover_reason) == ("failed", "internal_error")
    assert states(run) == {"tag": "performed", "charge": "sent", "mail": "cancelled"}
    assert _row(run, "charge") == before
    assert "the arguments of step 2 do not decode" in reply(run)
    assert reply(run).endswith("Left as they are: tag. Not known: charge.")
    assert WORLD.calls == ["tag", "charge"]


@pytest.mark.parametrize("column", ["answer_data", "covers", "warnings"])
def test_an_answer_that_does_not_decode_is_not_acted_on(agent: str, column: str) -> None:
    run = start(agent, "tag 1, then mail 1")
    services.resolve(PERSON, question(run).pk, "approve", question(run).digest)
    before = _damage(run, "tag", column, '"yes"')
    tasks.advance_run(run.pk)
    run.refresh_from_db()
    assert (run.state, run.handover_reason, WORLD.calls) == ("failed", "internal_error", [])
    assert _row(run, "tag") == before


def test_the_pages_show_a_row_that_does_not_decode_as_it_is(
    agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = die(monkeypatch, start(agent, "tag 1, then mail 1"))
    _damage(run, "tag", "args", '["one"]')
    tasks.advance_run(run.pk)
    ana = signed_in("ana", "Ana Ferreira", "support", "operator")
    page = words(ana.get(f"/runs/{run.pk}/"))
    assert "an internal error (the arguments of step 1 do not decode)" in page
    assert 'does not decode [ "one" ]' in page and "Not known" in page
    handover = words(ana.get(f"/handovers/{run.pk}/"))
    assert "an internal error: the arguments of step 1 do not decode" in handover
    assert ana.get("/handovers/").status_code == 200 and ana.get("/").status_code == 200


# --- What people see of it ----------------------------------------------------------------------------


def test_a_run_that_is_held_up_says_so_wherever_runs_are_shown(
    agent: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = start(agent, "tag 1")
    services.resolve(PERSON, question(run).pk, "approve", question(run).digest)
    agentfile._known.pop(agent)
    held_up(run)
    assert (showing.summary(whole_run(run.pk)).held_up or "").startswith(
        "the agent tester cannot be had here"
    )
    call_command("runs")
    assert "held up: the agent tester cannot be had here" in capsys.readouterr().out
    call_command("trace", run.name)
    assert "held up: the agent tester cannot be had here" in capsys.readouterr().out
    ana = signed_in("ana", "Ana Ferreira", "support", "operator")
    page = words(ana.get(f"/runs/{run.pk}/"))
    assert "Held up: the agent tester cannot be had here" in page
    assert "Held up, and tried again by itself" in page
    assert "held up" in words(ana.get("/runs/"))


def test_a_command_that_follows_a_run_says_why_it_does_not_go_on(
    agent: str, capsys: pytest.CaptureFixture[str]
) -> None:
    signed_in("olga", "Olga Petrova", "operator")
    run = start(agent, "tag 1")
    services.resolve(PERSON, question(run).pk, "approve", question(run).digest)
    agentfile._known.pop(agent)
    with pytest.raises(SystemExit) as ended:
        call_command("resume", run.name, login="olga")
    said = capsys.readouterr().err.strip()
    assert ended.value.code == 1 and f"{run.name} is held up, and is tried again by itself" in said


def test_the_page_of_a_question_that_outlives_its_run_does_not_offer_to_send_again(
    agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = die(monkeypatch, start(agent, "charge 1 40.00"))
    with monkeypatch.context() as patch:
        patch.setattr(engine, "next_action", fails)
        run = try_on(run)
    step = run.steps.get()
    olga = signed_in("olga", "Olga Petrova", "operator")
    page = words(olga.get(f"/questions/{step.pk}/"))
    assert "It happened" in page and "Send it again" not in page
    send(olga, step, "happened", reason="It is on the account.", result_fields={"result.charge": "ch_1"})
    advance(run.pk)
    assert run.steps.get().state == "performed"


def _for(run: Run, instead: Callable[..., Any], otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """`instead` for this run alone; the core does not see whose run it is, but its first step has a number."""
    number = run.steps.get().number
    tool = run.steps.get().tool

    def either(view: Any) -> Any:
        first = view.steps[0]
        return instead() if (first.number, first.tool) == (number, tool) else otherwise(view)

    return either


def then_die_of(*args: Any) -> Any:
    """Whatever this is in place of kills its process."""
    raise KeyboardInterrupt


def _die_until_it_ends(run: Run) -> int:
    """The sweep nudges, a worker takes the run, and dies: how often."""
    for deaths in range(100):
        Run.objects.filter(pk=run.pk, due_at__isnull=False).update(due_at=Now())
        assert sweep() == 1
        try:
            advance(run.pk)
        except KeyboardInterrupt:
            connection.close()
        else:
            return deaths
    raise AssertionError("it goes on for ever")


def _damage(run: Run, tool: str, column: str, value: str) -> tuple[Any, ...]:
    """Write something else than an object into a column of this step, and give the row as it is then."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE runs_step SET {column} = %s::jsonb WHERE run_id = %s AND tool = %s",
            [value, run.pk, tool],
        )
    return _row(run, tool)


def _row(run: Run, tool: str) -> tuple[Any, ...]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT s::text FROM runs_step s WHERE run_id = %s AND tool = %s", [run.pk, tool])
        return tuple(cursor.fetchone())
