"""Rules carried out by the engine: what is refused, what the record says, and what becomes of undos."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from runs import services
from runs.engine import advance
from runs.models import Run, Thread
from runs.trace import Trace
from tests.factories import AGENT, answer, approve_all, make_agent, question, reply, start, states, until
from tests.world import WORLD

pytestmark = pytest.mark.django_db(transaction=True)
READ_FIRST = "read_first: {tools: [charge, pay], order: {after: read, same: order}}"


def again(run: Run, turn: str) -> Run:
    """The next turn of a run's conversation."""
    thread = Thread.objects.get(pk=run.thread_id)
    following = services.start(AGENT, thread, services.RunRequest(text=turn))
    advance(following.pk)
    following.refresh_from_db()
    return following


def test_a_refused_call_is_not_sent_and_the_reply_names_the_rule(tmp_path: Path) -> None:
    run = start(make_agent(tmp_path, rules=READ_FIRST), "charge 1 40.00")
    assert reply(run) == "This run stopped: charge was refused (read_first). Nothing had been done."
    assert (run.state, WORLD.calls) == ("failed", [])
    step = run.steps.get()
    assert step.error == "it is allowed only after read ran in the conversation with the same order"
    [line] = [event.data for event in run.events.all() if event.kind == "step.refused"]
    assert (line["rule"], line["cause"]) == ("read_first", step.error)
    assert len(line["rules"]) == 12
    assert any(f"charge refused (read_first): {step.error}" in line.text for line in Trace(run).lines())


def test_what_ran_earlier_in_the_run_is_seen_before_it_is_written(tmp_path: Path) -> None:
    """The outcome of the read and the intent of the write are one commit."""
    run = start(make_agent(tmp_path, rules=READ_FIRST), "read 1, then pay 1, then read 2, then pay 3")
    assert (
        reply(run) == "This run stopped: pay was refused (read_first). Undone, latest first: pay (by refund)."
    )
    assert WORLD.calls == ["read", "pay", "read", "refund"]


def test_an_earlier_run_of_the_conversation_counts_and_another_conversation_does_not(tmp_path: Path) -> None:
    agent = make_agent(tmp_path, rules=READ_FIRST)
    run = start(agent, "read 1")
    assert again(run, "pay 1").state == "succeeded"
    assert start(agent, "pay 1", user="u-2").state == "failed"


def test_an_order_rule_sees_what_the_rewind_took_from_the_models_memory(tmp_path: Path) -> None:
    """S0: the record is never rewound, so a rule still sees that a charge ran and was refunded."""
    rules = "paid_first: {tools: tag, order: {after: pay}}\npaid_now: {tools: mail, order: {after: pay, net: true}}"
    agent = make_agent(tmp_path, rules=rules)
    WORLD.script = {"charge": ["raises"]}
    run = answer(start(agent, "pay 1, then charge 1 40.00"), "approve")
    assert (run.state, run.rewound_at is not None) == ("rolled_back", True)
    assert again(run, "mail 1").state == "failed"
    assert again(run, "tag 1").state == "waiting"


def test_the_record_says_under_which_rules_a_call_was_allowed_before_it_is_sent(tmp_path: Path) -> None:
    run = start(make_agent(tmp_path, rules=READ_FIRST), "read 1, then pay 1")
    said = run.steps.get(tool="pay").events.get(kind="step.sent").data
    assert (said["passed"], len(said["rules"])) == (["read_first"], 12)


def test_a_condition_that_fails_at_run_time_refuses_the_call_and_says_why(tmp_path: Path) -> None:
    rule = "first: {tools: pay, when: \"history[0].tool != 'read'\", refuse: true}"
    agent = make_agent(tmp_path, rules=rule)
    run = start(agent, "pay 1")
    assert reply(run) == "This run stopped: pay was refused (first). Nothing had been done."
    assert run.steps.get().error
    assert again(start(agent, "read 1", user="u-2"), "pay 1").state == "succeeded"


def test_history_holds_what_was_called_and_not_the_call_itself(tmp_path: Path) -> None:
    condition = "history.exists(h, h.tool == 'pay' && h.args.order == args.order)"
    rule = f'once: {{tools: pay, when: "{condition}", refuse: true}}'
    run = start(make_agent(tmp_path, rules=rule), "pay 1, then pay 2")
    assert run.state == "succeeded"
    assert again(run, "pay 3").state == "succeeded"
    assert again(run, "pay 2").state == "failed"


def test_an_open_run_learns_of_the_refusal_and_may_propose_something_else(tmp_path: Path) -> None:
    thread = services.start_thread(AGENT, make_agent(tmp_path, rules=READ_FIRST), "u-1")
    run = services.start(AGENT, thread, services.RunRequest(opened=True))
    for tool in ("pay", "read", "pay"):
        services.propose(AGENT, run, services.Proposal(tool, {"order": 1}))
        advance(run.pk)
    run.refresh_from_db()
    assert (run.state, WORLD.calls) == ("open", ["read", "pay"])


def test_a_rule_speaks_of_the_task_and_the_hour(tmp_path: Path) -> None:
    tasks: dict[str, Any] = {"dispute": {}, "returns": {}}
    agent = make_agent(tmp_path, rules="disputes: {tools: pay, only_in: dispute}", tasks=tasks)
    assert start(agent, "pay 1", task="dispute").state == "succeeded"
    assert start(agent, "pay 1", user="u-2", task="returns").state == "failed"
    now = datetime.now(UTC)
    every_day = "days: [mon, tue, wed, thu, fri, sat, sun], zone: UTC"
    hours = f"hours: {{{{tools: pay, hours: {{{{{every_day}, from: '{{:%H:%M}}', to: '{{:%H:%M}}'}}}}}}}}"
    closed = hours.format(now + timedelta(hours=2), now + timedelta(hours=3))
    assert start(make_agent(tmp_path, rules=closed), "pay 1", user="u-3").state == "failed"
    open_now = hours.format(now - timedelta(hours=1), now + timedelta(hours=1))
    assert start(make_agent(tmp_path, rules=open_now), "pay 1", user="u-4").state == "succeeded"


# --- undos ----------------------------------------------------------------------------------------------
def failing(agent: str) -> Run:
    """A charge that must be undone."""
    WORLD.script = {"mail": ["raises"]}
    return approve_all(start(agent, "charge 1 40.00, then mail 1"))


def test_a_rule_that_forbids_a_write_does_not_forbid_its_undo(tmp_path: Path) -> None:
    rule = "no_more: {tools: charge, cap: {count: 1, per: run}}"
    run = failing(make_agent(tmp_path, rules=rule))
    assert (run.state, WORLD.calls) == ("rolled_back", ["charge", "mail", "refund"])


def test_an_undo_that_a_rule_refuses_is_stuck_at_once_and_goes_on_once_the_rules_allow_it(
    tmp_path: Path,
) -> None:
    run = failing(make_agent(tmp_path, rules="no_refunds: {tools: refund, refuse: true, because: audit}"))
    asked = question(run)
    assert run.state == "stuck"
    assert asked.question == "Undoing charge failed after 0 tries (no_refunds). 1 step(s) still need undoing."
    [line] = [event.data for event in asked.events.all() if event.kind == "step.undo_stuck"]
    assert (line["rule"], line["cause"]) == ("no_refunds", "audit")
    run = answer(run, "retry")
    assert (run.state, WORLD.calls) == ("stuck", ["charge", "mail"])
    make_agent(tmp_path, rules="no_refunds: {tools: refund, refuse: true, undos: false}")
    run = answer(run, "retry")
    assert (run.state, WORLD.calls[-1]) == ("rolled_back", "refund")


def test_a_refusal_after_a_write_undoes_it(tmp_path: Path) -> None:
    run = start(make_agent(tmp_path, rules="none: {tools: mail, refuse: true}"), "pay 1, then mail 1")
    assert states(run) == {"pay": "undone", "mail": "refused", "refund": "performed"}
    assert reply(run) == "This run stopped: mail was refused (none). Undone, latest first: pay (by refund)."


def test_an_undo_that_is_tried_again_keeps_to_a_cap_that_counts_it(tmp_path: Path) -> None:
    """What is sent again is not counted beside itself."""
    agent = make_agent(tmp_path, rules="once: {tools: refund, cap: {count: 1, per: user}}")
    WORLD.script = {"mail": ["raises"], "refund": ["unavailable", "times out after"]}
    run = approve_all(start(agent, "charge 1 40.00, then mail 1"))
    assert until(run, "rolled_back", "stuck").state == "rolled_back"
