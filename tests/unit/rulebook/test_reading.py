"""A rulebook that is wrong stops the registration with one line that says where, and what to do."""

from pathlib import Path

import pytest

from runs.agentfile import read
from runs.errors import ConfigurationError
from tests.unit.rulebook.books import spec_of


def refused(folder: Path, rules: str) -> str:
    """What is said of these rules, without the folder."""
    with pytest.raises(ConfigurationError) as error:
        spec_of(folder, rules)
    text = str(error.value)
    assert "\n" not in text
    return text.removeprefix(f"{folder}/")


@pytest.mark.parametrize(
    ("rules", "line", "said"),
    [
        ("a: {tools: charge, refuze: true}", 2, "rules.a.refuze: unknown key"),
        ("a: {tools: charge}", 2, "a rule is of one kind"),
        ("a: {tools: charge, refuse: true, ask: lead}", 2, "and not refuse and ask"),
        ("a: {tools: charge, refuse: false}", 2, "rules.a.refuse"),
        ("a: {tools: [], refuse: true}", 2, "rules.a.tools"),
        ("a: {tools: chrage, refuse: true}", 2, "there is no tool called chrage; there are: charge, find"),
        ("a:\n  tools: charge\n  ask: boss", 4, "rules.a.ask"),
        ("Bad-Name: {tools: charge, refuse: true}", 1, "Bad-Name: a rule's name is a-z"),
        ("confirm: {tools: charge, refuse: true}", 1, "this is a word of the check itself"),
        ("a: {tools: charge, refuse: true}\na: {tools: tag, refuse: true}", 3, "a is there twice"),
        ("a: {tools: charge, order: {after: read, after_one_of: tag}}", 2, "not both"),
        ("a: {tools: charge, order: {}}", 2, "an order rule needs `after`"),
        ("a: {tools: charge, order: {after: reed}}", 2, "there is no tool called reed"),
        ("a: {tools: charge, order: {after: read, same: amont}}", 2, "charge has no argument called amont"),
        ("a: {tools: charge, order: {after: read, same: amount}}", 2, "read has no argument called amount"),
        ("a: {tools: charge, order: {after: read, same: {order: result.order}}}", 2, "write `$args.<name>`"),
        ("a: {tools: charge, cap: {per: run}}", 2, "a cap needs `count`, or `sum`"),
        ("a: {tools: charge, cap: {count: 1, most: '5', per: run}}", 2, "a cap needs `count`, or `sum`"),
        ("a: {tools: charge, cap: {count: -1, per: run}}", 2, "rules.a.cap.count"),
        ("a: {tools: charge, cap: {count: yes, per: run}}", 2, "rules.a.cap.count"),
        ("a: {tools: charge, cap: {count: 1, per: month}}", 2, "rules.a.cap.per"),
        ("a: {tools: charge, cap: {count: 1, per: []}}", 2, "rules.a.cap.per"),
        (
            "a: {tools: charge, cap: {sum: amount, most: 500.00, per: run}}",
            2,
            'write it as text such as "500.00"',
        ),
        ("a: {tools: charge, cap: {sum: amount, most: NaN, per: run}}", 2, "an amount is exact"),
        ("a: {tools: charge, cap: {sum: amount, most: '1e3', per: run}}", 2, "an amount is exact"),
        (
            "a: {tools: charge, cap: {sum: amont, most: '5', per: run}}",
            2,
            "charge has no argument called amont",
        ),
        ("a: {tools: refund, cap: {sum: charge, most: '5', per: run}}", 2, "charge is not an amount"),
        (
            "a: {tools: charge, cap: {count: 1, per: run, zone: Europe/Lisbon}}",
            2,
            "a zone is for a cap per day",
        ),
        (
            "a: {tools: charge, cap: {count: 1, per: day, zone: Mars/Olympus}}",
            2,
            "there is no time zone called",
        ),
        (
            "a: {tools: charge, cap: {count: 1, per: day, zone: ../../etc/passwd}}",
            2,
            "there is no time zone called",
        ),
        ("a: {tools: charge, when: user == 'u', cap: {count: 1, per: run}}", 2, "may use args alone"),
        ("a: {tools: charge, only_in: [dispute, dispuet]}", 2, "there is no task called dispuet"),
        ("a: {tools: charge, hours: {from: '09:00', to: '09:00', zone: UTC}}", 2, "no time between them"),
        ("a: {tools: charge, hours: {from: 9, to: '17:00', zone: UTC}}", 2, 'such as "09:00"'),
        ("a: {tools: charge, hours: {from: '09:00', to: '25:00', zone: UTC}}", 2, 'such as "09:00"'),
        ("a: {tools: charge, hours: {from: '09:00', to: '17:00'}}", 2, "rules.a.hours.zone"),
        (
            "a: {tools: charge, hours: {days: [mo], from: '09:00', to: '17:00', zone: UTC}}",
            2,
            "rules.a.hours.days",
        ),
        ("a:\n  tools: charge\n  when: order >\n  refuse: true", 4, "rule a: when: "),
        (
            "a:\n  tools: charge\n  when: args.amount > '9'\n  refuse: true",
            4,
            "compare it as above(args.amount",
        ),
        ("- tools: charge", 1, "rules: Input should be a valid dictionary"),
        ("a: [", 2, "not valid YAML"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_with_its_place(
    tmp_path: Path, rules: str, line: int, said: str
) -> None:
    text = refused(tmp_path, rules)
    assert text.startswith(f"rules.yaml:{line}: "), text
    assert said in text, text


def test_a_rulebook_that_is_not_there_or_not_text_is_an_error(tmp_path: Path) -> None:
    spec_of(tmp_path, "a: {tools: charge, refuse: true}")
    agent = tmp_path / "agent.yaml"
    (tmp_path / "rules.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigurationError, match="not valid YAML"):
        read(agent)
    (tmp_path / "rules.yaml").unlink()
    with pytest.raises(ConfigurationError, match=r"rules\.yaml: cannot be read"):
        read(agent)


def test_a_file_of_comments_has_no_rules(tmp_path: Path) -> None:
    spec_of(tmp_path, "a: {tools: charge, refuse: true}")
    (tmp_path / "rules.yaml").write_text("# every write is confirmed by a person\n")
    assert read(tmp_path / "agent.yaml")[0].rulebook.rules == ()


def test_the_version_names_what_the_rules_say_and_not_how_they_are_written(tmp_path: Path) -> None:
    first = spec_of(tmp_path, "a: {tools: charge, ask: lead}").rule_version
    commented = spec_of(tmp_path, "# a comment\na: {tools: [charge], ask: lead}").rule_version
    other = spec_of(tmp_path, "a: {tools: charge, ask: operator}").rule_version
    renamed = spec_of(tmp_path, "b: {tools: charge, ask: lead}").rule_version
    assert first == commented
    assert len({first, other, renamed}) == 3


def test_times_of_the_day_may_be_written_without_quotes(tmp_path: Path) -> None:
    """YAML reads 10:30 as a number of minutes."""
    spec = spec_of(tmp_path, "a: {tools: charge, hours: {from: 9:05, to: 17:30, zone: UTC}}")
    hours = spec.rulebook.rules[0].says.hours
    assert hours and (hours.start, hours.end) == ("09:05", "17:30")
