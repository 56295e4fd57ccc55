"""A plan that is tried says what its run then does: the check, the questions, and what a failure leaves."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import call_command

from approvals.questions import read, word
from runs.agentfile import agent as agent_of
from runs.agentfile import register
from runs.errors import BadInput
from runs.models import Event, Run, Step, Thread
from runs.plan import MOST_CALLS, PlannedCall, plan
from runs.services import Proposal, RunRequest
from tests.factories import PERSON, answer, approve_all, make_agent, question, start
from tests.world import WORLD

pytestmark = pytest.mark.django_db(transaction=True)


def tried(name: str, turn: str, thread: Thread | None = None, **request: Any) -> tuple[PlannedCall, ...]:
    """A turn, tried in a conversation that is not stored, or in this one."""
    there = thread or Thread(agent=name, user="u-1")
    return plan(agent_of(name), there, RunRequest(text=turn, **request))


def with_rules(folder: Path, rules: dict[str, Any], **policy: Any) -> str:
    """An agent with a rulebook."""
    return make_agent(folder, rules=yaml.safe_dump(rules), **policy)


def words(calls: tuple[PlannedCall, ...]) -> list[str]:
    return [call.words for call in calls]


def test_a_run_leaves_what_its_plan_said_that_it_would(agent: str) -> None:
    turn = "read 1, then charge 1 40.00, then mail 1, then tag 1"
    [*_, tag] = tried(agent, turn)
    assert tag.left.words == (
        "If this step fails: “Charge 40.00 to order 1” is undone by refund, and “mail(order 1)” stays done."
    )
    WORLD.script = {"tag": ["raises"]}
    run = approve_all(start(agent, turn))
    undone, stays = ([write.number for write in part] for part in (tag.left.undone, tag.left.stays))
    assert [step.number for step in run.steps.filter(state="undone")] == undone
    assert [step.number for step in run.steps.filter(state="performed", tool="mail")] == stays


def test_a_question_says_of_its_run_what_the_plan_said_of_it(agent: str) -> None:
    turn = "charge 1 40.00, then mail 1, then tag 1"
    calls = tried(agent, turn)
    run = start(agent, turn)
    for call in calls:
        step = question(run)
        shown = word(read(step.pk), PERSON)
        assert shown.left[0].words == call.left.words
        assert (shown.warnings, step.approver) == (call.warnings, call.ruling.approver)
        run = answer(run, "approve")


def test_nothing_of_a_plan_is_kept(agent: str) -> None:
    tried(agent, "charge 1 40.00, then mail 1")
    assert not (
        Thread.objects.exists() or Run.objects.exists() or Step.objects.exists() or Event.objects.exists()
    )
    assert WORLD.calls == []


def test_reads_and_writes_that_ask_nobody_say_so(agent: str) -> None:
    assert words(tried(agent, "read 1, then pay 1")) == ["reads only, nobody is asked", "nobody is asked"]


def test_a_call_that_a_rule_refuses_says_why_and_counts_as_not_done(tmp_path: Path) -> None:
    name = with_rules(tmp_path, {"mail_last": {"tools": "mail", "order": {"after": "charge"}}})
    mail, charge, again = tried(name, "mail 1, then charge 1 40.00, then mail 1")
    assert mail.words == (
        "refused by mail_last: it is allowed only after charge ran in the conversation; the run stops here"
    )
    assert charge.left.words == "If this step fails: nothing is left, as nothing was changed."
    assert again.words == "support is asked"


def test_what_the_conversation_did_before_counts(tmp_path: Path) -> None:
    name = with_rules(tmp_path, {"mail_last": {"tools": "mail", "order": {"after": "charge"}}})
    run = approve_all(start(name, "charge 1 40.00"))
    [mail] = tried(name, "mail 1", run.thread)
    assert (mail.number, mail.words) == (2, "support is asked")


def test_a_cap_counts_the_calls_of_the_plan_and_what_ran_before(tmp_path: Path) -> None:
    cap = {"tools": "pay", "cap": {"sum": "amount", "most": "2.00", "per": "user"}}
    name = with_rules(tmp_path, {"small": cap})
    start(name, "pay 1")
    assert [call.ruling.verdict for call in tried(name, "pay 1, then pay 2")] == ["allowed", "refused"]
    other = Thread(agent=name, user="u-2")
    assert [call.ruling.verdict for call in tried(name, "pay 1, then pay 2", other)] == ["allowed", "allowed"]


def test_a_rule_that_asks_somebody_else_is_named(tmp_path: Path) -> None:
    rules = {
        "large": {"tools": "charge", "when": "above(args.amount, '500.00')", "ask": "lead"},
        "two": {"tools": "mail", "four_eyes": True},
    }
    assert words(tried(with_rules(tmp_path, rules), "charge 1 600.00, then mail 1")) == [
        "lead is asked (by the rule large)",
        "support is asked, but not u-1 (by the rule two)",
    ]


def test_one_question_for_a_whole_plan_is_said_once(tmp_path: Path) -> None:
    rules = {"large": {"tools": "charge", "when": "above(args.amount, '500.00')", "ask": "lead"}}
    name, turn = (
        with_rules(tmp_path, rules, confirm="plan"),
        "charge 1 40.00, then charge 1 600.00, then tag 1",
    )
    calls = tried(name, turn)
    assert words(calls) == [
        "support is asked",
        "lead is asked (by the rule large)",
        "support is asked, together with step 1",
    ]
    assert question(start(name, turn)).covers == [call.number for call in calls if call.asked_with == 1]


def test_where_runs_are_kept_a_person_takes_over(tmp_path: Path) -> None:
    name = make_agent(tmp_path, "keeper", runs="keep")
    first, second = tried(name, "charge 1 40.00, then tag 1")
    assert first.left.words == "If this step fails: nothing is left, as nothing was changed."
    assert second.left.words == (
        "If this step fails: nothing is undone by itself, and the run is handed over to a person, and "
        "“Charge 40.00 to order 1” stays done."
    )


def test_what_its_ticket_has_done_already_is_not_sent_again(tmp_path: Path) -> None:
    name = make_agent(tmp_path, keys="action")
    approve_all(start(name, "charge 1 40.00", ticket="T-1"))
    [charge] = tried(name, "charge 1 40.00", ticket="T-1")
    assert charge.words == "done already for this ticket: it is not sent again"
    assert tried(name, "charge 1 40.00", ticket="T-2")[0].words == "support is asked"


def test_an_undo_that_could_not_be_bound_is_none(tmp_path: Path) -> None:
    odd = {"odd": {"undo": {"refund": {"charge": "$args.order"}}}}  # a number, where a text is needed
    path = tmp_path / "odd.yaml"
    document = {"agents": {"odd": {"tools": ["odd", "refund"]}}, "tools": [{"python": "tests.world"}, odd]}
    path.write_text(yaml.safe_dump(document))
    register(path)
    first, second = tried("odd", "odd 1, then odd 2")
    assert first.undo and first.undo.why_not == "it could not be undone: refund: charge <- $args.order"
    assert (
        second.left.words
        == "If this step fails: nothing is undone, and “odd(order 1, amount 1.00)” stays done."
    )


def test_two_calls_that_are_the_same_are_told_apart(agent: str) -> None:
    _, second = tried(agent, "charge 1 40.00, then charge 1 40.00")
    assert second.left.words == "If this step fails: “Charge 40.00 to order 1” is undone by refund."


def test_a_plan_has_as_many_calls_as_a_person_can_read(agent: str) -> None:
    steps = [Proposal("read", {"order": 1})] * MOST_CALLS
    assert len(plan(agent_of(agent), Thread(agent=agent), RunRequest(steps=steps))) == MOST_CALLS
    with pytest.raises(BadInput, match="at most 100"):
        plan(agent_of(agent), Thread(agent=agent), RunRequest(steps=[*steps, steps[0]]))


# --- At the terminal ----------------------------------------------------------------------------------
def command(*arguments: str) -> str:
    said = StringIO()
    call_command("plan", *arguments, stdout=said)
    return said.getvalue()


def test_the_command_says_the_same(agent: str) -> None:
    assert command("--agent", agent, "charge 1 40.00, then mail 1").splitlines() == [
        "1. Charge 40.00 to order 1",
        "   support is asked",
        "   undone by refund(charge from its result, amount 40.00)",
        "   If this step fails: nothing is left, as nothing was changed.",
        "2. mail(order 1)",
        "   support is asked",
        "   Nothing can undo this step once it runs.",
        "   Nothing undoes this step, and the steps after it cannot undo it.",
        "   If this step fails: “Charge 40.00 to order 1” is undone by refund.",
        "2 call(s) tried; nothing was stored and nothing was sent.",
    ]


def test_the_command_takes_a_file_of_steps(agent: str, tmp_path: Path) -> None:
    file = tmp_path / "steps.yaml"
    file.write_text('- {tool: charge, args: {order: 1, amount: "40.00"}}\n- tool: mail\n  args: {order: 1}\n')
    said = json.loads(command("--agent", agent, "--steps", str(file), "--json"))
    assert [step["tool"] for step in said["steps"]] == ["charge", "mail"]


@pytest.mark.parametrize(
    ("arguments", "content", "code", "says"),
    [
        ((), "", 2, "Give a turn, or --steps FILE."),
        (("--steps", "{file}", "read 1"), "[]", 2, "Give a turn, or --steps FILE."),
        (("sing",), "", 1, 'I did not read: "sing"'),
        (("--steps", "{file}"), "- {tool: charge, argz: {}}", 1, "steps.yaml:1: 0.argz: unknown key"),
        (("--steps", "{file}"), "- {tool: charge, args: {order: 1, amount: 40.5}}", 1, "money is exact"),
        (("--steps", "{file}"), "[]", 1, "needs a turn or at least one step"),
        (("--steps", "no/such/file"), "", 1, "cannot be read"),
    ],
)
def test_the_command_says_in_one_line_what_is_wrong(
    agent: str, tmp_path: Path, arguments: tuple[str, ...], content: str, code: int, says: str
) -> None:
    file, said = tmp_path / "steps.yaml", StringIO()
    file.write_text(content)
    with pytest.raises(SystemExit, match=str(code)):
        call_command("plan", "--agent", agent, *(part.format(file=file) for part in arguments), stderr=said)
    assert says in said.getvalue()
    assert said.getvalue().count("\n") == 1
