"""The rules in words, and what is odd about them."""

from pathlib import Path

import pytest

from runs.rulebook.findings import findings, runnable
from runs.rulebook.words import in_words
from tests.unit.rulebook.books import spec_of


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ("{tools: charge, refuse: true, undos: false}", "charge: refused. Undos are exempt."),
        ("{tools: [charge, tag], ask: lead}", "charge and tag: a person with the role lead is asked."),
        ("{tools: charge, four_eyes: true}", "charge: somebody other than who asked for it is asked."),
        (
            "{tools: charge, when: \"user == 'u'\", only_in: [dispute, returns]}",
            "charge: only in the tasks dispute and returns, when user == 'u'.",
        ),
        (
            "{tools: charge, order: {after: [read, tag], same: order, net: true}}",
            "charge: only after read and tag ran in the conversation with the same order and was not undone.",
        ),
        (
            "{tools: refund, order: {after_one_of: [charge, pay], same: {charge: $result.charge}}}",
            "refund: only after charge or pay ran in the conversation with the same charge (its result.charge).",
        ),
        ("{tools: pay, cap: {count: 1, per: run}}", "pay: at most 1 call per run."),
        (
            "{tools: pay, cap: {sum: amount, most: '500.00', per: [user, day], net: true}}",
            "pay: amount comes to at most 500.00 per user and day (UTC), not counting what was undone.",
        ),
        (
            "{tools: pay, hours: {from: '09:00', to: '17:00', zone: Europe/Lisbon}}",
            "pay: only Mon-Fri 09:00-17:00 (Europe/Lisbon).",
        ),
        (
            "{tools: pay, hours: {days: [sun, sat], from: '22:00', to: '06:00', zone: UTC}}",
            "pay: only Sat and Sun 22:00-06:00 (UTC).",
        ),
        (
            "{tools: pay, hours: {days: [mon, tue, wed, thu, fri, sat, sun], from: '09:00', to: '24:00', zone: UTC}}",
            "pay: only every day 09:00-24:00 (UTC).",
        ),
    ],
)
def test_each_kind_of_rule_in_a_sentence(tmp_path: Path, rule: str, sentence: str) -> None:
    [found] = in_words(spec_of(tmp_path, f"a: {rule}").rulebook)
    assert found.sentence == sentence
    assert (found.name, found.line) == ("a", 2)


@pytest.mark.parametrize(
    ("rules", "found"),
    [
        ("a: {tools: charge, ask: lead}", []),
        ("a: {tools: odd, refuse: true}", [("a", "never_fires", "tester does not have odd")]),
        (
            "a: {tools: [odd, tag], refuse: true, undos: false}",
            [
                ("a", "changes_nothing", "tester does not have odd"),
                ("a", "forbids_all", "tag can never be called, but for undos"),
            ],
        ),
        (
            "a: {tools: charge, when: args.order == 1 && false, refuse: true}",
            [("a", "never_fires", "its condition is never true")],
        ),
        (
            "a: {tools: charge, when: 1 < 2, refuse: true}",
            [("a", "forbids_all", "charge can never be called")],
        ),
        (
            "a: {tools: charge, cap: {count: 0, per: day}}",
            [("a", "forbids_all", "charge can never be called")],
        ),
        (
            "a: {tools: charge, order: {after: odd}}",
            [("a", "forbids_all", "charge can never be called: odd never runs before it")],
        ),
        ("a: {tools: charge, order: {after_one_of: [odd, read]}}", []),
        (
            "a: {tools: charge, order: {after: charge}}",
            [("a", "forbids_all", "charge can never be called: charge never runs before it")],
        ),
        ("a: {tools: charge, when: args.order > 1, order: {after: charge}}", []),
        (
            "a: {tools: charge, order: {after: tag}}\nb: {tools: tag, order: {after: charge}}",
            [
                ("a", "forbids_all", "charge can never be called: tag never runs before it"),
                ("b", "forbids_all", "tag can never be called: charge never runs before it"),
            ],
        ),
        (
            "a: {tools: charge, order: {after: tag}}\nb: {tools: tag, refuse: true}",
            [
                ("a", "forbids_all", "charge can never be called: tag never runs before it"),
                ("b", "forbids_all", "tag can never be called"),
            ],
        ),
        ("a: {tools: charge, order: {after: tag}}\nb: {tools: tag, order: {after: read}}", []),
        (
            "a: {tools: [charge, pay], ask: support}",
            [("a", "changes_nothing", "charge asks the role support anyway")],
        ),
    ],
)
def test_what_is_odd_is_said(tmp_path: Path, rules: str, found: list[tuple[str, str, str]]) -> None:
    said = findings(spec_of(tmp_path, rules))
    assert [(one.rule, one.kind, one.message) for one in said] == found


def test_the_tools_that_can_run_at_some_time(tmp_path: Path) -> None:
    rules = "a: {tools: mail, order: {after: [charge, tag]}}\nb: {tools: tag, order: {after: untag}}"
    assert runnable(spec_of(tmp_path, rules)) == {"read", "charge", "refund", "tag", "untag", "mail", "pay"}
    closed = rules + "\nc: {tools: untag, refuse: true}"
    assert runnable(spec_of(tmp_path, closed)) == {"read", "charge", "refund", "pay"}
