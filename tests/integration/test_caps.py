"""Caps hold whatever happens: two runs at once, a process that dies in the middle, an outcome that nobody knows."""

import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import pytest
from django.db import connection
from pydantic import AfterValidator

from runs import agentfile, calls, rows, services
from runs.engine import advance
from runs.models import Run, Step
from runs.tools import Call, tool
from tests.factories import (
    AGENT,
    answer,
    approve_all,
    make_agent,
    reply,
    start,
    states,
    then_die,
    until,
)
from tests.world import WORLD

pytestmark = pytest.mark.django_db(transaction=True)

meeting: dict[
    int, threading.Barrier
] = {}  # by thread: where it waits for the others before its rules are asked


def _meet(order: int) -> int:
    """The arguments of a call are checked right before its rules are."""
    barrier = meeting.pop(threading.get_ident(), None)
    if barrier:
        barrier.wait(timeout=20)
    return order


@tool(writes=True, confirm=False, retry_safe=True)
def grab(call: Call, order: Annotated[int, AfterValidator(_meet)]) -> object:
    """A write that nobody confirms."""
    return WORLD.act(call)


def at_once(runs: list[Run]) -> list[str]:
    """Carry these runs out in threads of their own, which meet at the check; their states."""
    barrier = threading.Barrier(len(runs))
    threads = [threading.Thread(target=_carry, args=[run.pk, barrier]) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(Run.objects.get(pk=run.pk).state for run in runs)


def _carry(run: int, barrier: threading.Barrier) -> None:
    meeting[threading.get_ident()] = barrier
    try:
        advance(run)
    finally:
        connection.close()


def proposed(agent: str, user: str, ticket: str = "") -> Run:
    thread = services.start_thread(AGENT, agent, user)
    steps = [services.Proposal("grab", {"order": 1})]
    return services.start(AGENT, thread, services.RunRequest(steps=steps, ticket=ticket))


@pytest.mark.parametrize("per", ["user", "ticket", "day", "[user, day]"])
def test_of_six_runs_at_once_as_many_pass_as_the_cap_allows(tmp_path: Path, per: str) -> None:
    agent = make_agent(
        tmp_path, "grabber", ["grab"], __name__, rules=f"two: {{tools: grab, cap: {{count: 2, per: {per}}}}}"
    )
    found = at_once([proposed(agent, "u-1", "T-1") for _ in range(6)])
    assert found == ["failed"] * 4 + ["succeeded"] * 2
    assert WORLD.calls == ["grab", "grab"]


def test_two_caps_in_another_order_do_not_block_each_other(tmp_path: Path) -> None:
    rules = """
        by_day: {tools: grab, cap: {count: 3, per: day}}
        by_user: {tools: grab, cap: {count: 3, per: user}}
    """
    agent = make_agent(tmp_path, "grabber", ["grab"], __name__, rules=rules)
    turned = (
        "by_user: {tools: grab, cap: {count: 3, per: user}}\nby_day: {tools: grab, cap: {count: 3, per: day}}"
    )
    other = make_agent(tmp_path, "turned", ["grab"], __name__, rules=turned)
    found = at_once([proposed(agent if index % 2 else other, "u-1") for index in range(6)])
    assert found == ["succeeded"] * 6  # each agent's caps count its own calls


def test_a_call_that_is_in_flight_when_its_process_dies_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = make_agent(
        tmp_path, rules="spend: {tools: charge, cap: {sum: amount, most: '100.00', per: user}}"
    )
    first = start(agent, "charge 1 60.00")
    with monkeypatch.context() as patch:
        patch.setattr(calls, "dispatch", then_die)
        with pytest.raises(KeyboardInterrupt):
            answer(first, "approve")
    assert first.steps.get().state == "sent"
    second = start(agent, "charge 2 40.01")
    assert reply(second) == "This run stopped: charge was refused (spend). Nothing had been done."
    assert (
        second.steps.get().error == "amount comes to at most 100.00 per user; before this call it was 60.00"
    )
    assert start(agent, "charge 2 40.00").state == "waiting"
    until(first, "waiting")  # taken over: nobody knows whether it took effect
    assert first.steps.get().state == "unknown"
    assert start(agent, "charge 2 40.01").state == "failed"


def test_once_it_is_known_that_it_did_not_happen_it_does_not_count(tmp_path: Path) -> None:
    agent = make_agent(
        tmp_path, rules="spend: {tools: charge, cap: {sum: amount, most: '100.00', per: user}}"
    )
    WORLD.script = {"charge": ["times out before"]}
    first = answer(start(agent, "charge 1 60.00"), "approve")
    assert start(agent, "charge 2 60.00").state == "failed"
    until(first, "waiting")
    first.steps.update(settles_at=first.created_at)  # it can no longer be on the wire
    answer(first, "did_not_happen")
    assert start(agent, "charge 2 60.00").state == "waiting"


def test_a_refund_makes_no_room_unless_the_cap_is_net(tmp_path: Path) -> None:
    for net, state in (("false", "failed"), ("true", "waiting")):
        name = f"net-{net}"
        cap = f"{{sum: amount, most: '100.00', per: user, net: {net}}}"
        agent = make_agent(tmp_path, name, rules=f"spend: {{tools: charge, cap: {cap}}}")
        WORLD.script = {"mail": ["raises"]}
        assert approve_all(start(agent, "charge 1 60.00, then mail 1")).state == "rolled_back"
        assert start(agent, "charge 2 60.00").state == state


def test_what_was_sent_on_the_day_before_in_the_zone_of_the_cap_is_not_counted(tmp_path: Path) -> None:
    rule = "one: {tools: pay, cap: {count: 1, per: [user, day], zone: Asia/Tokyo}}"
    agent = make_agent(tmp_path, rules=rule)
    first = start(agent, "pay 1").steps.get()
    assert first.sent_at is not None
    [cap] = [rule.cap for rule in agentfile.agent(agent).rulebook.rules]
    midnight, _ = cap.day(first.sent_at)
    for sent_at, state in ((midnight, "failed"), (midnight - timedelta(microseconds=1), "succeeded")):
        Step.objects.filter(pk=first.pk).update(sent_at=sent_at)
        assert start(agent, "pay 2").state == state


def test_a_cap_is_counted_again_between_approval_and_sending(tmp_path: Path) -> None:
    agent = make_agent(
        tmp_path, rules="spend: {tools: charge, cap: {sum: amount, most: '100.00', per: user}}"
    )
    first, second = start(agent, "charge 1 60.00"), start(agent, "charge 2 60.00")
    assert {first.state, second.state} == {"waiting"}
    assert answer(first, "approve").state == "succeeded"
    second = answer(second, "approve")
    assert reply(second) == "This run stopped: charge was refused (spend). Nothing had been done."
    assert WORLD.calls == ["charge"]


def test_within_a_run_what_is_not_written_yet_is_counted(tmp_path: Path) -> None:
    agent = make_agent(tmp_path, rules="two: {tools: [pay, charge], cap: {count: 2, per: [user, run]}}")
    run = start(agent, "pay 1, then pay 2, then pay 3")
    assert states(run)["pay"] == "refused"
    assert WORLD.calls == ["pay", "pay", "refund", "refund"]


def test_a_failed_call_gives_its_place_back_in_the_same_commit(tmp_path: Path) -> None:
    agent = make_agent(tmp_path, runs="keep", rules="one: {tools: [pay, mail], cap: {count: 1, per: user}}")
    thread = services.start_thread(AGENT, agent, "u-1")
    run = services.start(
        AGENT, thread, services.RunRequest(opened=True, steps=[services.Proposal("pay", {"order": 1})])
    )
    WORLD.script = {"pay": ["unavailable", "works"]}
    run = until(run, "open")
    assert (WORLD.calls, run.steps.get().state) == (["pay", "pay"], "performed")


def test_a_replayed_action_is_no_call_and_no_cap_speaks_of_it(tmp_path: Path) -> None:
    agent = make_agent(tmp_path, keys="action", rules="one: {tools: charge, cap: {count: 1, per: ticket}}")
    approve_all(start(agent, "charge 1 40.00", ticket="T-1"))
    same = start(agent, "charge 1 40.00", user="u-2", ticket="T-1")
    assert (same.state, same.steps.get().replayed) == ("succeeded", True)
    other = start(agent, "charge 1 41.00", user="u-2", ticket="T-1")
    assert reply(other) == "This run stopped: charge was refused (one). Nothing had been done."


def test_another_agents_calls_are_not_counted(tmp_path: Path) -> None:
    rules = "one: {tools: pay, cap: {count: 1, per: day}}"
    assert start(make_agent(tmp_path, rules=rules), "pay 1").state == "succeeded"
    assert start(make_agent(tmp_path, "other", rules=rules), "pay 1").state == "succeeded"
    assert start(make_agent(tmp_path, rules=rules), "pay 1").state == "failed"


def test_a_cap_with_a_condition_reads_the_arguments_of_what_it_counts(tmp_path: Path) -> None:
    rule = "large: {tools: charge, when: \"above(args.amount, '100')\", cap: {count: 1, per: user}}"
    agent = make_agent(tmp_path, rules=rule)
    for turn in ("charge 1 100.00", "charge 2 100.01"):
        assert approve_all(start(agent, turn)).state == "succeeded"
    assert start(agent, "charge 3 9000.00").state == "failed"
    assert start(agent, "charge 4 99.99").state == "waiting"


# --- What the check costs ---------------------------------------------------------------------------------
@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], int]:
    """How many statements it takes to carry a turn out."""
    seen: list[str] = []
    one = rows.one

    def noting(sql: str, values: Any) -> Any:
        seen.append(sql)
        return one(sql, values)

    monkeypatch.setattr(rows, "one", noting)

    def of_django(execute: Any, sql: str, *rest: Any) -> Any:
        seen.append(sql)
        return execute(sql, *rest)

    def count(agent: str, turn: str) -> int:
        thread = services.start_thread(AGENT, agent, "u-9")
        run = services.start(AGENT, thread, services.RunRequest(text=turn))
        seen.clear()
        with connection.execute_wrapper(of_django):
            advance(run.pk)
        assert Step.objects.filter(run=run, state="performed").count() == turn.count("pay")
        return len(seen)

    return count


def test_the_check_asks_the_database_only_what_its_rules_need(
    tmp_path: Path, statements: Callable[[str, str], int]
) -> None:
    turn, per_run = "pay 1, then pay 2, then pay 3", "{count: 9, per: run}"
    plain = statements(make_agent(tmp_path, "plain"), turn)
    rules = {
        "others": ("a: {tools: mail, refuse: true}", 0),
        "by_run": (
            f"a: {{tools: pay, cap: {per_run}}}\nb: {{tools: pay, when: args.order > 9, ask: lead}}",
            0,
        ),
        "order": (
            "a: {tools: pay, order: {after_one_of: [pay, read]}, when: args.order > 1}",
            1,
        ),  # once a claim
        "cap": ("a: {tools: pay, cap: {count: 9, per: user}}", 3 * 2),  # a lock and a count for each call
        "caps": (
            "a: {tools: pay, cap: {count: 9, per: user}}\nb: {tools: pay, cap: {count: 9, per: day}}",
            3 * 2,
        ),
    }
    for name, (text, more) in rules.items():
        assert statements(make_agent(tmp_path, name, rules=text), turn) - plain == more, name
