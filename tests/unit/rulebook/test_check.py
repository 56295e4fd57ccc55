"""What each kind of rule says of a call, over a past that is given."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from runs.rulebook import Ruling
from runs.states import StepState
from tests.unit.rulebook.books import HERE, NOON, charge, ran, ruling, spec_of

S = StepState


def said(found: Ruling) -> tuple[str, str]:
    return found.verdict, found.rule


def test_without_a_rule_a_write_asks_and_a_read_does_not(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, "far: {tools: mail, refuse: true}")
    assert said(ruling(spec)) == ("ask", "confirm")
    assert said(ruling(spec, "read", order=1)) == ("allowed", "")
    assert said(ruling(spec, "pay", order=1)) == ("allowed", "")
    assert ruling(spec).version == spec.rule_version


# --- order --------------------------------------------------------------------------------------------
ORDER = "read_first: {tools: charge, order: {after: read, same: order}}"


def test_a_tool_runs_only_after_the_other_ran_with_the_same_argument(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, ORDER)
    assert said(ruling(spec)) == ("refused", "read_first")
    assert ruling(spec).cause == "it is allowed only after read ran in the conversation with the same order"
    assert said(ruling(spec, "charge", ran("read", order=1))) == ("ask", "confirm")
    assert said(ruling(spec, "charge", ran("read", order=2))) == ("refused", "read_first")
    elsewhere = (replace(HERE, thread="T-2"), ran("read", order=1))
    assert said(ruling(spec, "charge", elsewhere)) == ("refused", "read_first")
    in_another_run = (replace(HERE, run="R-0"), ran("read", order=1))
    assert said(ruling(spec, "charge", in_another_run)) == ("ask", "confirm")


@pytest.mark.parametrize("state", [S.SENT, S.UNKNOWN, S.FAILED, S.NOT_PERFORMED])
def test_what_is_in_flight_or_did_not_happen_has_not_run(tmp_path: Path, state: StepState) -> None:
    assert said(ruling(spec_of(tmp_path, ORDER), "charge", ran("read", state, order=1)))[0] == "refused"


def test_what_was_undone_did_run_unless_the_rule_says_net(tmp_path: Path) -> None:
    rule = "paid_first: {{tools: tag, order: {{after: charge, net: {}}}}}"
    undone = charge(state=S.UNDONE)
    assert said(ruling(spec_of(tmp_path, rule.format("false")), "tag", undone, order=1))[0] == "ask"
    assert said(ruling(spec_of(tmp_path, rule.format("true")), "tag", undone, order=1))[0] == "refused"


def test_after_names_all_of_them_and_after_one_of_any(tmp_path: Path) -> None:
    every = spec_of(tmp_path, "a: {tools: mail, order: {after: [read, charge]}}")
    assert said(ruling(every, "mail", ran("read"), order=1)) == ("refused", "a")
    assert said(ruling(every, "mail", ran("read"), charge(), order=1)) == ("ask", "confirm")
    one = spec_of(tmp_path, "a: {tools: mail, order: {after_one_of: [read, charge]}}")
    assert said(ruling(one, "mail", ran("read"), order=1)) == ("ask", "confirm")
    assert said(ruling(one, "mail", order=1)) == ("refused", "a")


def test_an_argument_may_have_to_be_what_an_earlier_call_returned(tmp_path: Path) -> None:
    rule = "a: {tools: refund, order: {after: charge, same: {charge: $result.charge, amount: $args.amount}}}"
    spec, before = spec_of(tmp_path, rule), replace(charge("40.0"), result={"charge": "ch_1"})
    assert said(ruling(spec, "refund", before, charge="ch_1", amount="40.00"))[0] == "ask"
    assert said(ruling(spec, "refund", before, charge="ch_2", amount="40.00"))[0] == "refused"
    assert said(ruling(spec, "refund", before, charge="ch_1", amount="41.00"))[0] == "refused"
    nothing = replace(before, result=None)
    assert said(ruling(spec, "refund", nothing, charge="ch_1", amount="40.00"))[0] == "refused"


# --- cap ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("state", [S.SENT, S.UNKNOWN, S.PERFORMED, S.UNDONE])
def test_what_took_effect_or_may_have_counts(tmp_path: Path, state: StepState) -> None:
    spec = spec_of(tmp_path, "two: {tools: charge, cap: {count: 2, per: run}}")
    assert said(ruling(spec, "charge", charge(state=state))) == ("ask", "confirm")
    found = ruling(spec, "charge", charge(state=state), charge(state=state))
    assert said(found) == ("refused", "two")
    assert found.cause == "at most 2 calls per run; before this call it was 2"


@pytest.mark.parametrize("state", [S.PROPOSED, S.FAILED, S.NOT_PERFORMED, S.DECLINED, S.CANCELLED])
def test_what_had_no_effect_does_not_count(tmp_path: Path, state: StepState) -> None:
    spec = spec_of(tmp_path, "one: {tools: charge, cap: {count: 1, per: run}}")
    assert said(ruling(spec, "charge", charge(state=state))) == ("ask", "confirm")


def test_a_charge_that_was_refunded_counts_unless_the_rule_says_net(tmp_path: Path) -> None:
    undone = charge("90.00", S.UNDONE)
    gross = spec_of(tmp_path, "a: {tools: charge, cap: {sum: amount, most: '100.00', per: run}}")
    assert said(ruling(gross, "charge", undone)) == ("refused", "a")
    net = spec_of(tmp_path, "a: {tools: charge, cap: {sum: amount, most: '100.00', per: run, net: true}}")
    assert said(ruling(net, "charge", undone)) == ("ask", "confirm")


@pytest.mark.parametrize(
    ("most", "before", "mine", "verdict"),
    [
        ("0.3", "0.1", "0.2", "ask"),  # as doubles they come to more
        ("9007199254740992", "9007199254740992", "1", "refused"),  # as doubles 2^53 + 1 is 2^53
        ("9007199254740993", "9007199254740992", "1", "ask"),
        ("100", "60.00", "40.00", "ask"),
        ("100", "60.00", "40.01", "refused"),
        ("100", "-500", "100.01", "refused"),  # what is below nothing makes no room
        ("100", "40", "-1", "ask"),
        ("100", "40", "1E+999999999", "refused"),
        ("100", "1E-999999999", "40", "refused"),  # cannot be added up exactly
    ],
)
def test_sums_are_exact(tmp_path: Path, most: str, before: str, mine: str, verdict: str) -> None:
    spec = spec_of(tmp_path, f"a: {{tools: charge, cap: {{sum: amount, most: '{most}', per: run}}}}")
    assert ruling(spec, "charge", charge(before), order=1, amount=mine).verdict == verdict


def test_a_past_call_without_the_amount_makes_the_sum_unknown(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, "a: {tools: charge, cap: {sum: amount, most: '100', per: run}}")
    assert ruling(spec, "charge", ran("charge", order=1)).cause == "a call without amount cannot be added up"


@pytest.mark.parametrize(
    ("per", "other", "counts"),
    [
        ("run", {"run": "R-0"}, False),
        ("thread", {"run": "R-0"}, True),
        ("thread", {"thread": "T-0"}, False),
        ("user", {"thread": "T-0"}, True),
        ("user", {"user": "u-2"}, False),
        ("ticket", {"user": "u-2"}, True),
        ("ticket", {"ticket": "K-2"}, False),
        ("day", {"user": "u-2"}, True),
        ("[user, ticket]", {"ticket": "K-2"}, False),
        ("[user, ticket]", {"thread": "T-0"}, True),
    ],
)
def test_a_cap_counts_within_its_scope(tmp_path: Path, per: str, other: dict[str, str], counts: bool) -> None:
    spec = spec_of(tmp_path, f"a: {{tools: charge, cap: {{count: 1, per: {per}}}}}")
    found = ruling(spec, "charge", (replace(HERE, **other), charge()))  # type: ignore[arg-type]
    assert found.verdict == ("refused" if counts else "ask")


def test_a_day_is_one_of_the_zone(tmp_path: Path) -> None:
    """23:30 UTC of the sixth is the seventh in Tokyo, and so is noon UTC of the seventh."""
    late = replace(charge(), sent_at=datetime(2026, 1, 6, 23, 30, tzinfo=UTC))
    rule = "a: {{tools: charge, cap: {{count: 1, per: day, zone: {}}}}}"
    assert ruling(spec_of(tmp_path, rule.format("Asia/Tokyo")), "charge", late).verdict == "refused"
    assert ruling(spec_of(tmp_path, rule.format("UTC")), "charge", late).verdict == "ask"


def test_the_day_on_which_the_clock_is_put_back_has_25_hours(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, "a: {tools: charge, cap: {count: 1, per: day, zone: Europe/Lisbon}}")
    cap = spec.rulebook.rules[0].says.cap
    assert cap is not None
    start, end = cap.day(datetime(2026, 10, 25, 12, tzinfo=UTC))
    assert end.astimezone(UTC) - start.astimezone(UTC) == timedelta(hours=25)


@pytest.mark.parametrize(
    ("zone", "sent", "now", "counts"),
    [
        ("UTC", "2026-01-07T00:00:00Z", "2026-01-07T23:59:59.999999Z", True),
        ("UTC", "2026-01-06T23:59:59.999999Z", "2026-01-07T00:00:00Z", False),
        ("UTC", "2026-01-07T23:59:59.999999Z", "2026-01-08T00:00:00Z", False),
        ("Asia/Kolkata", "2026-01-06T18:30:00Z", "2026-01-07T18:29:59Z", True),
        ("Asia/Kolkata", "2026-01-06T18:29:59Z", "2026-01-06T18:30:00Z", False),
        ("America/New_York", "2026-11-01T04:00:00Z", "2026-11-02T04:59:59Z", True),  # 25 hours
        ("America/New_York", "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z", False),
        (
            "Africa/Cairo",
            "2026-04-23T21:59:59Z",
            "2026-04-23T22:00:00Z",
            False,
        ),  # the day begins at one o'clock
        ("Africa/Cairo", "2026-04-23T22:00:00Z", "2026-04-24T20:59:59Z", True),
        ("Africa/Cairo", "2026-04-23T22:00:00Z", "2026-04-24T21:00:00Z", False),
    ],
)
def test_a_cap_begins_anew_when_the_day_of_its_zone_does(
    tmp_path: Path, zone: str, sent: str, now: str, counts: bool
) -> None:
    spec = spec_of(tmp_path, f"a: {{tools: charge, cap: {{count: 1, per: day, zone: {zone}}}}}")
    before = replace(charge(), sent_at=datetime.fromisoformat(sent))
    assert ruling(spec, "charge", before, now=datetime.fromisoformat(now)).verdict == (
        "refused" if counts else "ask"
    )


def test_a_cap_with_a_condition_counts_only_the_calls_that_it_speaks_of(tmp_path: Path) -> None:
    rule = "a: {tools: charge, when: \"above(args.amount, '100')\", cap: {count: 1, per: run}}"
    spec = spec_of(tmp_path, rule)
    assert ruling(spec, "charge", charge("40"), charge("50"), order=1, amount="200").verdict == "ask"
    assert ruling(spec, "charge", charge("400"), order=1, amount="50").verdict == "ask"
    assert ruling(spec, "charge", charge("400"), order=1, amount="200").verdict == "refused"


def test_a_cap_per_ticket_refuses_a_run_without_one(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, "a: {tools: charge, cap: {count: 9, per: ticket}}")
    assert ruling(spec, ticket="").cause == "the run has no ticket to count by"


def test_what_was_replayed_counts_for_nothing(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, "a: {tools: charge, cap: {count: 1, per: run}}")
    assert ruling(spec, "charge", replace(charge(), replayed=True)).verdict == "ask"


# --- refuse, ask, four eyes -----------------------------------------------------------------------------
def test_a_condition_decides_whether_a_rule_speaks(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, "a: {tools: charge, when: \"user == 'u-2'\", refuse: true, because: they left}")
    assert said(ruling(spec)) == ("ask", "confirm")
    found = ruling(spec, user="u-2")
    assert (said(found), found.cause) == (("refused", "a"), "they left")


def test_a_condition_that_fails_refuses_and_says_so(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, "a: {tools: charge, when: \"history[0].tool == 'read'\", ask: lead}")
    found = ruling(spec)
    assert said(found) == ("refused", "a")
    assert found.cause


def test_the_highest_role_that_is_asked_for_answers(tmp_path: Path) -> None:
    rules = """
        large: {tools: [charge, pay], when: "above(args.amount, '500')", ask: lead}
        huge: {tools: charge, when: "above(args.amount, '5000')", ask: operator}
    """
    spec = spec_of(tmp_path, rules)
    assert ruling(spec).approver == "support"
    large = ruling(spec, order=1, amount="500.01")
    assert (said(large), large.approver) == (("ask", "large"), "lead")
    huge = ruling(spec, order=1, amount="5000.01")
    assert (said(huge), huge.approver) == (("ask", "large, huge"), "admin")  # who is a lead and an operator
    itself_asks_nobody = ruling(spec, "pay", order=1, amount="600")
    assert (said(itself_asks_nobody), itself_asks_nobody.approver) == (("ask", "large"), "lead")


def test_four_eyes_names_those_who_asked(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, "a: {tools: [charge, read], four_eyes: true}")
    assert ruling(spec).not_by == ("Ana", "u-1")
    assert ruling(spec).approver == "support"
    assert said(ruling(spec, "read", order=1)) == ("ask", "a")


def test_a_refusal_is_stronger_than_a_question_wherever_it_stands(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, "a: {tools: charge, ask: lead}\nb: {tools: charge, refuse: true}")
    assert said(ruling(spec)) == ("refused", "b")


def test_the_rules_that_let_a_call_through_are_named(tmp_path: Path) -> None:
    rules = ORDER + "\na: {tools: charge, cap: {count: 2, per: run}}\nb: {tools: tag, refuse: true}"
    assert ruling(spec_of(tmp_path, rules), "charge", ran("read", order=1)).passed == ("read_first", "a")


# --- tasks and hours ------------------------------------------------------------------------------------
def test_only_in_its_tasks(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, "a: {tools: charge, only_in: [returns, dispute]}")
    assert ruling(spec).verdict == "ask"
    assert ruling(spec, task="").cause == "the task is none, and not returns or dispute"


@pytest.mark.parametrize(
    ("days", "start", "end", "zone", "now", "open_"),
    [
        ("[mon, tue, wed]", "09:00", "17:00", "UTC", "2026-01-07T09:00:00+00:00", True),
        ("[mon, tue, wed]", "09:00", "17:00", "UTC", "2026-01-07T17:00:00+00:00", False),
        ("[mon, tue, wed]", "09:00", "17:00", "UTC", "2026-01-08T12:00:00+00:00", False),
        ("wed", "09:00", "17:00", "Asia/Tokyo", "2026-01-06T23:59:00+00:00", False),  # 08:59 there
        ("wed", "09:00", "17:00", "Asia/Tokyo", "2026-01-07T00:00:00+00:00", True),
        ("wed", "00:00", "24:00", "UTC", "2026-01-07T23:59:59+00:00", True),
        ("wed", "22:00", "06:00", "UTC", "2026-01-07T23:00:00+00:00", True),
        ("wed", "22:00", "06:00", "UTC", "2026-01-08T05:59:00+00:00", True),  # the night of Wednesday
        ("wed", "22:00", "06:00", "UTC", "2026-01-07T05:59:00+00:00", False),  # that of Tuesday
        ("wed", "22:00", "06:00", "UTC", "2026-01-08T06:00:00+00:00", False),
        # Where the clock is put forward, nine o'clock comes an hour earlier
        ("[fri, mon]", "09:00", "17:00", "Europe/Lisbon", "2026-03-27T08:59:59+00:00", False),
        ("[fri, mon]", "09:00", "17:00", "Europe/Lisbon", "2026-03-30T08:00:00+00:00", True),
        ("[fri, mon]", "09:00", "17:00", "Europe/Lisbon", "2026-03-30T16:00:00+00:00", False),
        # in that night there is no half past one, and half past two is half an hour after one
        ("sun", "01:30", "02:30", "Europe/Lisbon", "2026-03-29T00:59:59+00:00", False),
        ("sun", "01:30", "02:30", "Europe/Lisbon", "2026-03-29T01:00:00+00:00", True),
        ("sun", "01:30", "02:30", "Europe/Lisbon", "2026-03-29T01:30:00+00:00", False),
        # and where it is put back, half past one comes twice: both are within
        ("sun", "01:00", "02:00", "America/New_York", "2026-11-01T05:30:00+00:00", True),
        ("sun", "01:00", "02:00", "America/New_York", "2026-11-01T06:30:00+00:00", True),
        ("sun", "01:00", "02:00", "America/New_York", "2026-11-01T07:00:00+00:00", False),
    ],
)
def test_only_in_its_hours(
    tmp_path: Path, days: str, start: str, end: str, zone: str, now: str, open_: bool
) -> None:
    hours = f"{{days: {days}, from: '{start}', to: '{end}', zone: {zone}}}"
    spec = spec_of(tmp_path, f"a: {{tools: charge, hours: {hours}}}")
    found = ruling(spec, now=datetime.fromisoformat(now))
    assert found.verdict == ("ask" if open_ else "refused"), found


# --- undos ----------------------------------------------------------------------------------------------
def test_a_rule_about_a_write_says_nothing_of_its_undo(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, "a: {tools: charge, refuse: true}")
    assert said(ruling(spec, "refund", undo=True, charge="ch_1", amount="40.00")) == ("allowed", "")


def test_a_rule_that_names_an_undo_speaks_of_it_unless_it_exempts_undos(tmp_path: Path) -> None:
    refund: dict[str, Any] = {"charge": "ch_1", "amount": "40.00"}
    spec = spec_of(tmp_path, "a: {tools: refund, refuse: true}")
    assert said(ruling(spec, "refund", undo=True, **refund)) == ("refused", "a")
    spec = spec_of(tmp_path, "a: {tools: refund, refuse: true, undos: false}")
    assert said(ruling(spec, "refund", undo=True, **refund)) == ("allowed", "")
    assert said(ruling(spec, "refund", **refund)) == ("refused", "a")


def test_nobody_is_asked_about_an_undo(tmp_path: Path) -> None:
    rules = "a: {tools: refund, ask: lead}\nb: {tools: refund, four_eyes: true}"
    found = ruling(spec_of(tmp_path, rules), "refund", undo=True, charge="ch_1", amount="40.00")
    assert said(found) == ("allowed", "")


def test_a_cap_counts_undos_too_where_it_names_them(tmp_path: Path) -> None:
    undo = replace(ran("refund", charge="ch_1", amount="40.00"), undo=True)
    rule = "a: {{tools: refund, cap: {{count: 1, per: run}}, undos: {}}}"
    refund: dict[str, Any] = {"charge": "ch_1", "amount": "40.00"}
    assert ruling(spec_of(tmp_path, rule.format("true")), "refund", undo, **refund).verdict == "refused"
    assert ruling(spec_of(tmp_path, rule.format("false")), "refund", undo, **refund).verdict == "ask"


def test_now_is_noon_on_a_wednesday() -> None:
    assert (NOON.weekday(), NOON.hour) == (2, 12)
