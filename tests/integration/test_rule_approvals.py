"""Who must say yes, and whether a yes that was given under older rules still holds."""

from dataclasses import replace
from pathlib import Path

import pytest

from approvals.needs_you import Filters
from runs import agentfile, parking, services
from runs.access import Actor, may_answer
from runs.engine import advance
from runs.errors import AlreadyAnswered, NotAllowed
from runs.models import Run
from runs.services import RunRequest
from tests.factories import PERSON, answer, make_agent, question, reply, start, until
from tests.integration.pages import html, send, signed_in, words
from tests.world import WORLD

pytestmark = pytest.mark.django_db(transaction=True)
LARGE = "large: {tools: [charge, pay], when: \"above(args.amount, '500.00')\", ask: lead}"
FOUR_EYES = "two_people: {tools: charge, four_eyes: true}"
TOM = Actor("Tom Baker", frozenset({"support"}), login="tom")
LEA = Actor("Lea Novak", frozenset({"support", "lead"}), login="lea")


def approved(run: Run, by: Actor = PERSON) -> None:
    """A person approves; no worker has seen it yet."""
    step = question(run)
    services.resolve(by, step.pk, "approve", step.digest)


def carried_on(run: Run) -> Run:
    advance(run.pk)
    run.refresh_from_db()
    return run


# --- ask ------------------------------------------------------------------------------------------------
def test_a_large_amount_goes_to_a_lead_and_a_small_one_does_not(tmp_path: Path) -> None:
    agent = make_agent(tmp_path, rules=LARGE)
    small, large = start(agent, "charge 1 500.00"), start(agent, "charge 1 500.01", user="u-2")
    assert (question(small).approver, question(large).approver) == ("support", "lead")
    with pytest.raises(NotAllowed, match="for the role lead"):
        approved(large, TOM)
    approved(large, LEA)
    assert carried_on(large).state == "succeeded"
    [asked] = [event.data for event in large.events.all() if event.kind == "step.needs_approval"]
    assert (asked["rule"], asked["approver"]) == ("large", "lead")


def test_a_write_that_asks_nobody_asks_where_a_rule_wants_it(tmp_path: Path) -> None:
    agent = make_agent(tmp_path, rules="all: {tools: [pay, read], ask: lead}")
    run = start(agent, "read 1, then pay 1")
    assert question(run).tool == "read"
    run = answer(run, "approve")
    assert (question(run).tool, question(run).approver) == ("pay", "lead")
    assert answer(run, "approve").state == "succeeded"


def test_who_may_answer_is_part_of_what_is_approved(tmp_path: Path) -> None:
    digests = set()
    for rules in ("a: {tools: mail, refuse: true}", "a: {tools: charge, ask: lead}", FOUR_EYES):
        run = start(make_agent(tmp_path, rules=rules), "charge 1 40.00")
        step = question(run)
        step.run_id = 1  # the same call of the same run, but for who may answer
        fields = {
            name: getattr(step, name)
            for name in ("asks", "asked", "approver", "not_by", "warnings", "fingerprint")
        }
        assert parking.digest(question(run), fields, (), agentfile.agent("tester")) == question(run).digest
        digests.add(parking.digest(step, fields, (), agentfile.agent("tester")))
    assert len(digests) == 3


# --- four eyes ------------------------------------------------------------------------------------------
def test_whoever_asked_for_it_may_not_approve_it(tmp_path: Path) -> None:
    agent = make_agent(tmp_path, rules=FOUR_EYES)
    thread = services.start_thread(TOM, agent, "lea")
    run = services.start(TOM, thread, RunRequest(text="charge 1 40.00"))
    step = question(carried_on(run))
    assert step.not_by == ["Tom Baker", "lea"]
    for asker in (TOM, LEA, replace(TOM, name="TOM BAKER"), replace(TOM, login="Lea")):
        assert not may_answer(asker, step)
        with pytest.raises(NotAllowed, match="a second pair of eyes"):
            approved(run, asker)
    approved(run, PERSON)
    assert carried_on(run).state == "succeeded"


def test_the_page_says_why_it_is_not_theirs_and_their_list_leaves_it_out(tmp_path: Path) -> None:
    agent = make_agent(tmp_path, rules=FOUR_EYES)
    tom, ana = signed_in("tom", "Tom Baker", "support"), signed_in("ana", "Ana Ferreira", "support")
    thread = services.start_thread(TOM, agent, "u-17")
    run = carried_on(services.start(TOM, thread, RunRequest(text="charge 1 40.00")))
    address = f"/questions/{question(run).pk}/"
    shown = tom.get(address)
    assert "a second pair of eyes" in words(shown)
    assert 'value="approve"' not in html(shown)
    assert "second pair of eyes" not in words(ana.get(address))
    assert list(Filters().rows(TOM)) == []
    assert list(Filters(who="all").rows(TOM)) == list(Filters().rows(PERSON)) == [question(run)]
    assert send(ana, question(run), "approve").status_code == 302


# --- The rules change between asking and sending ----------------------------------------------------------
@pytest.mark.parametrize(
    ("before", "after", "becomes"),
    [
        ("", LARGE, "asked again"),  # a higher role is asked for now
        (LARGE, "", "sent"),  # a lower one
        (LARGE, LARGE + "\nmore: {tools: charge, ask: support}", "sent"),
        (LARGE, "large: {tools: charge, ask: operator}", "asked again"),
        ("", FOUR_EYES, "asked again"),
        (FOUR_EYES, "", "sent"),
        (FOUR_EYES, "other_name: {tools: [charge, mail], four_eyes: true}", "sent"),
        ("", "none: {tools: charge, refuse: true}", "refused"),
        (LARGE, "one: {tools: charge, cap: {count: 0, per: run}}", "refused"),
        ("", "broken: {tools: charge, when: args.order / 0 == 1, ask: lead}", "refused"),
        ("", "other: {tools: mail, refuse: true}", "sent"),
    ],
)
def test_an_approval_given_under_older_rules_is_checked_again(
    tmp_path: Path, before: str, after: str, becomes: str
) -> None:
    nothing = "other_tool: {tools: tag, refuse: true}"
    run = start(make_agent(tmp_path, rules=before or nothing), "charge 1 900.00")
    first = question(run)
    approved(run)
    make_agent(tmp_path, rules=after or nothing)
    run = carried_on(run)
    step = run.steps.get()
    found = {"succeeded": "sent", "waiting": "asked again", "failed": "refused"}[run.state]
    assert (found, WORLD.calls) == (becomes, ["charge"] if becomes == "sent" else [])
    if becomes == "asked again":
        assert (step.asked, step.answer, step.digest == first.digest) == (2, "", False)
        with pytest.raises(AlreadyAnswered):
            services.resolve(PERSON, step.pk, "approve", first.digest)
        assert answer(run, "approve").state == "succeeded"
    if becomes == "refused":
        assert reply(run).startswith("This run stopped: charge was refused (")


@pytest.mark.parametrize(
    ("after", "line", "rule"),
    [
        ("open: {tools: charge, refuse: true}", "step.refused", "open"),
        ("first: {tools: charge, order: {after: read}}", "step.refused", "first"),
        ("cap: {tools: charge, cap: {sum: amount, most: '899.99', per: user}}", "step.refused", "cap"),
        ("cap: {tools: charge, cap: {sum: amount, most: '900.00', per: user}}", "step.sent", "approved"),
        ("office: {tools: charge, only_in: dispute}", "step.refused", "office"),
        ("more: {tools: charge, ask: operator}", "step.needs_approval", "more"),
    ],
)
def test_the_record_says_that_the_rules_of_now_were_asked_and_not_those_it_was_approved_under(
    tmp_path: Path, after: str, line: str, rule: str
) -> None:
    tasks: dict[str, object] = {"dispute": {}}
    agent = make_agent(tmp_path, rules=LARGE, tasks=tasks)
    older = agentfile.agent(agent).rule_version
    run = start(agent, "charge 1 900.00")
    approved(run)
    make_agent(tmp_path, rules=after, tasks=tasks)
    newer = agentfile.agent(agent).rule_version
    step = carried_on(run).steps.get()
    asked, *_, found = step.events.filter(kind__in=("step.needs_approval", line)).order_by("pk")
    assert newer != older
    assert (asked.data["rules"], asked.data["rule"]) == (older, "large")
    assert (found.kind, found.data["rules"], found.data["rule"]) == (line, newer, rule)


def test_what_was_allowed_by_itself_is_asked_about_once_the_rules_want_it(tmp_path: Path) -> None:
    """A call that is sent again was checked under other rules the first time."""
    WORLD.script = {"pay": ["unavailable"]}
    agent = make_agent(tmp_path)
    run = start(agent, "pay 1")
    assert (run.state, run.steps.get().state) == ("ready", "approved")
    make_agent(tmp_path, rules="now: {tools: pay, ask: lead}")
    run = until(run, "waiting", "succeeded")
    assert (question(run).asks, question(run).approver, WORLD.calls) == ("confirm", "lead", ["pay"])


def test_sending_again_what_nobody_knows_of_is_checked_too(tmp_path: Path) -> None:
    WORLD.script = {"charge": ["times out before"]}
    agent = make_agent(tmp_path)
    run = answer(start(agent, "charge 1 40.00"), "approve")
    step = question(run)
    type(step).objects.filter(pk=step.pk).update(settles_at=None)
    make_agent(tmp_path, rules="none: {tools: charge, refuse: true}")
    run = answer(run, "send_again")
    again = question(run)
    assert (run.state, again.asks, again.asked, WORLD.calls) == ("waiting", "outcome", 3, ["charge"])
    [line] = [event.data for event in again.events.all() if event.data.get("rule") == "none"]
    assert line["kind"] == "outcome"


def test_what_a_lead_approved_may_be_sent_again_by_whoever_settles_its_outcome(tmp_path: Path) -> None:
    """The question of its outcome is for an operator; it does not take the place of the approval."""
    WORLD.script = {"charge": ["times out before"]}
    rules = LARGE + "\n" + FOUR_EYES
    run = answer(start(make_agent(tmp_path, rules=rules), "charge 1 900.00"), "approve")
    step = question(run)
    assert (step.asks, step.approver, step.not_by) == ("outcome", "operator", [])
    type(step).objects.filter(pk=step.pk).update(settles_at=None)
    assert answer(run, "send_again").state == "succeeded"
    assert WORLD.calls == ["charge", "charge"]


# --- One answer for a whole plan ----------------------------------------------------------------------------
def test_one_answer_covers_only_what_the_same_people_are_asked(tmp_path: Path) -> None:
    agent = make_agent(tmp_path, confirm="plan", rules=LARGE)
    run = start(agent, "charge 1 40.00, then charge 2 900.00, then tag 1, then pay 1")
    assert (question(run).covers, question(run).approver) == ([3], "support")
    run = answer(run, "approve")
    assert (question(run).number, question(run).approver, question(run).covers) == (2, "lead", [])
    assert answer(run, "approve").state == "succeeded"


def test_what_a_plans_answer_covers_is_bound_to_its_role_as_well(tmp_path: Path) -> None:
    agent = make_agent(tmp_path, confirm="plan")
    run = start(agent, "charge 1 40.00, then charge 2 900.00")
    approved(run)
    make_agent(tmp_path, confirm="plan", rules=LARGE)
    run = carried_on(run)
    assert (question(run).number, question(run).approver, WORLD.calls) == (2, "lead", ["charge"])
