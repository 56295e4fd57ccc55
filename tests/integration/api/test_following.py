"""Reading: the long poll, the lists, the record, the catalogue."""

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from runs.api import polling
from runs.engine import advance
from tests.integration.api.caller import CHARGE, LOOK, Caller
from tests.integration.api.conftest import carry_out, row_of

pytestmark = pytest.mark.django_db
Parked = Callable[..., dict[str, Any]]


def a_run(bot: Caller, *steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A run that no worker has seen yet."""
    body = {"agent": "desk", "user": "u-17", "steps": list(steps or [CHARGE]), **more}
    return dict(bot.post("/runs", body).body)


# --- The long poll ------------------------------------------------------------------------------------
def in_background(work: Callable[[], Any], seconds: float) -> threading.Thread:
    """Do it a moment later, in a thread with a connection of its own."""

    def later() -> None:
        time.sleep(seconds)
        work()
        connection.close()

    thread = threading.Thread(target=later)
    thread.start()
    return thread


@pytest.mark.django_db(transaction=True)
def test_it_waits_until_the_run_waits_for_somebody(bot: Caller) -> None:
    run = a_run(bot)
    worker = in_background(lambda: advance(row_of(run).pk), 0.4)
    began = time.monotonic()
    seen = bot.get(f"/runs/{run['id']}", wait=20).body
    worker.join()
    assert (seen["state"], seen["waiting"][0]["tool"]) == ("waiting", "charge_card")
    assert 0.3 < time.monotonic() - began < 5


@pytest.mark.django_db(transaction=True)
def test_it_waits_until_the_version_is_above(bot: Caller, ana: Caller) -> None:
    run = carry_out(bot, a_run(bot))
    answer = in_background(lambda: ana.answer(run["waiting"][0], "skip"), 0.3)
    seen = bot.get(f"/runs/{run['id']}", wait=20, after=run["version"]).body
    answer.join()
    assert seen["version"] > run["version"]
    assert seen["waiting"] == []


@pytest.mark.django_db(transaction=True)
def test_an_answer_that_no_worker_has_taken_up_is_the_machines_turn(bot: Caller, ana: Caller) -> None:
    run = carry_out(bot, a_run(bot))
    ana.answer(run["waiting"][0], "skip")
    worker = in_background(lambda: advance(row_of(run).pk), 0.3)
    seen = bot.get(f"/runs/{run['id']}", wait=20).body
    worker.join()
    assert (seen["state"], seen["reply"]) == ("succeeded", "Nothing had been done. Skipped: charge_card.")


def test_what_has_changed_already_is_answered_at_once(parked: Parked, bot: Caller) -> None:
    run = parked(CHARGE)
    began = time.monotonic()
    assert bot.get(f"/runs/{run['id']}", wait=20).body == run
    assert bot.get(f"/runs/{run['id']}", wait=20, after=run["version"] - 1).body == run
    assert time.monotonic() - began < 2


def test_it_ends_when_the_time_is_over(bot: Caller) -> None:
    run = a_run(bot)
    began = time.monotonic()
    assert bot.get(f"/runs/{run['id']}", wait=0.3).body == run
    assert 0.3 <= time.monotonic() - began < 2


def test_a_longer_wait_is_cut(bot: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "LONGEST_WAIT", 0.2)
    run = a_run(bot)
    began = time.monotonic()
    assert bot.get(f"/runs/{run['id']}", wait=3600).status == 200
    assert time.monotonic() - began < 2


@pytest.mark.django_db(transaction=True)
def test_nothing_of_the_database_is_held_between_two_looks(
    bot: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = a_run(bot)
    held: list[object] = []
    sleep = time.sleep

    def look(seconds: float) -> None:
        held.append(connection.connection)
        sleep(seconds)

    monkeypatch.setattr(time, "sleep", look)
    bot.get(f"/runs/{run['id']}", wait=0.3)
    assert len(held) >= 2
    assert set(held) == {None}


def test_only_so_many_wait_at_a_time(bot: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    run = a_run(bot)
    full = threading.BoundedSemaphore(1)
    full.acquire()
    monkeypatch.setattr(polling, "_places", full)
    began = time.monotonic()
    assert bot.get(f"/runs/{run['id']}", wait=20).body == run
    assert time.monotonic() - began < 2


# --- Open runs ----------------------------------------------------------------------------------------
def test_an_open_run_takes_steps_until_it_is_closed(bot: Caller, world: str) -> None:
    run = carry_out(bot, a_run(bot, LOOK, open=True))
    assert (run["state"], run["open"]) == ("open", True)
    assert bot.get(f"/runs/{run['id']}", wait=20).body == run  # it waits for its agent
    assert bot.post(f"/runs/{run['id']}/steps", LOOK).status == 202
    run = carry_out(bot, run)
    assert [step["state"] for step in run["steps"]] == ["performed", "performed"]
    closed = bot.post(f"/runs/{run['id']}/close")
    assert (closed.status, closed.body["open"]) == (202, False)
    assert bot.post(f"/runs/{run['id']}/steps", LOOK).problem == (409, "run-closed")
    ended = carry_out(bot, run)
    assert (ended["state"], ended["open"]) == ("succeeded", False)
    assert ended["reply"].startswith("Done: ")


def test_a_run_may_be_named_by_its_number(bot: Caller) -> None:
    run = a_run(bot)
    number = run["id"].removeprefix("R-")
    assert bot.get(f"/runs/{number}").body == bot.get(f"/runs/R-{number}").body == run


def test_what_was_sent_is_shown_with_its_key(parked: Parked, bot: Caller, ana: Caller, world: str) -> None:
    run = parked(CHARGE)
    assert (run["steps"][0]["key"], run["steps"][0]["calls"]) == (None, 0)
    ana.answer(run["waiting"][0])
    step = carry_out(bot, run)["steps"][0]
    assert (len(step["key"]), step["calls"], step["state"]) == (64, 1, "performed")
    assert step["result"]["charge"]


# --- Lists --------------------------------------------------------------------------------------------
def test_runs_are_listed_newest_first_page_by_page(bot: Caller) -> None:
    made = [a_run(bot, ticket=f"T-{number}")["id"] for number in range(5)]
    seen, cursor = [], None
    while True:
        page = bot.get("/runs", limit=2, **({"cursor": cursor} if cursor else {})).body
        seen += [run["id"] for run in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert seen == made[::-1]


def test_runs_are_filtered(parked: Parked, bot: Caller) -> None:
    waiting, ready = parked(CHARGE, ticket="T-1"), a_run(bot, ticket="T-2")

    def found(**query: Any) -> list[str]:
        return [run["id"] for run in bot.get("/runs", **query).body["items"]]

    assert found(state="waiting") == [waiting["id"]]
    assert found(ticket="T-2") == found(thread=ready["thread"]) == [ready["id"]]
    assert found(state="waiting", ticket="T-2") == []
    summary = bot.get("/runs", ticket="T-1").body["items"][0]
    assert summary == {name: value for name, value in waiting.items() if name != "steps"}


def test_questions_are_listed(parked: Parked, bot: Caller, ana: Caller) -> None:
    runs = [parked(CHARGE, user=f"u-{number}") for number in range(3)]
    page = ana.get("/questions", limit=2).body
    assert [item["run"] for item in page["items"]] == [run["id"] for run in runs[:2]]
    rest = ana.get("/questions", cursor=page["next"]).body
    assert ([item["run"] for item in rest["items"]], rest["next"]) == ([runs[2]["id"]], None)
    assert ana.get("/questions", kind="outcome").body["items"] == []
    assert len(bot.get("/questions", kind="confirm").body["items"]) == 3


def test_lists_cost_the_same_however_long(parked: Parked, bot: Caller) -> None:
    def queries(path: str) -> int:
        with CaptureQueriesContext(connection) as captured:
            bot.get(path)
        return len(captured)

    parked(CHARGE)
    bot.get("/runs")  # the use of the token is noted
    before = [queries(path) for path in ("/runs", "/questions")]
    assert before == [4, 3]
    for _ in range(4):
        parked(CHARGE, LOOK, LOOK)
    assert [queries(path) for path in ("/runs", "/questions")] == before


def test_the_record_of_a_run(parked: Parked, bot: Caller) -> None:
    run = parked(CHARGE)
    page = bot.get(f"/runs/{run['id']}/events", limit=1).body
    rest = bot.get(f"/runs/{run['id']}/events", cursor=page["next"]).body
    events = page["items"] + rest["items"]
    assert events[0]["kind"] == "run.started"
    assert events[0]["actor"] == "desk bot"
    asked = next(event for event in events if event["after"] == "needs_approval")
    assert (asked["step"], asked["data"]["digest"]) == (1, run["waiting"][0]["digest"])


# --- The catalogue ------------------------------------------------------------------------------------
def test_the_tools_say_what_they_take_and_what_undoes_them(bot: Caller) -> None:
    tools = {tool["name"]: tool for tool in bot.get("/tools").body["items"]}
    charge = tools["charge_card"]
    assert (charge["writes"], charge["irreversible"], charge["retry_safe"]) == (True, False, False)
    assert charge["undo"] == {"tool": "refund_card", "args": {}}
    assert charge["arguments"]["required"] == ["order", "amount"]
    assert charge["arguments"]["additionalProperties"] is False
    assert charge["agents"] == ["desk"]
    assert tools["update_crm"]["undo"]["args"]["status"] == "$result.previous"
    assert tools["send_receipt"]["irreversible"]
    assert not tools["get_order"]["writes"]


def test_the_agents_say_what_a_turn_can_ask_for(bot: Caller, other_bot: Caller) -> None:
    desk = next(item for item in bot.get("/agents").body["items"] if item["name"] == "desk")
    assert (desk["name"], desk["runs"], desk["on_unread"]) == ("desk", "atomic", "refuse")
    assert "charge_card" in desk["tools"]
    assert any(phrase.startswith("charge order") for phrase in desk["says"])
    assert [item["name"] for item in other_bot.get("/agents").body["items"]] == ["returns"]
    assert "charge_card" not in [item["name"] for item in other_bot.get("/tools").body["items"]]
