"""`stalwart rules`: in words, and tables of examples."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.management import call_command

from runs import agentfile
from runs.errors import ConfigurationError
from runs.rulebook.findings import findings
from runs.rulebook.trials import try_out
from tests.factories import make_agent

EXAMPLES = django_settings.BASE_DIR / "examples"
RULES = """
    large: {tools: charge, when: "above(args.amount, '500')", ask: lead, because: it is much}
    once: {tools: charge, cap: {count: 1, per: user}}
    never: {tools: mail, when: "false", refuse: true}
"""


def table(folder: Path, examples: str, agent: str = "tester") -> Path:
    path = folder / "examples.yaml"
    path.write_text(f"agent: {agent}\nexamples:\n{examples}")
    return path


@pytest.fixture
def agent(tmp_path: Path) -> str:
    return make_agent(tmp_path, rules=RULES)


def test_an_example_that_differs_says_how(tmp_path: Path, agent: str) -> None:
    path = table(
        tmp_path,
        '  - {call: charge, args: {order: 1, amount: "500"}, expect: ask}\n'
        '  - {name: much, call: charge, args: {order: 1, amount: "501"}, expect: {ruling: allowed, role: support}}\n'
        "  - call: charge\n"
        "    args: {order: 1}\n"
        "    before: [{call: charge, args: {order: 2}, thread: other, run: other, state: sent}]\n"
        "    expect: {ruling: ask, rule: large}\n",
    )
    plain, much, again = try_out(path)
    assert (plain.name, plain.line, plain.wrong) == ("charge is ask", 3, "")
    assert (much.name, much.line) == ("much", 4)
    assert much.wrong == "ruling is ask and not allowed, role is lead and not support"
    cause = "(at most 1 call per user; before this call it was 1)"
    assert again.wrong == f"ruling is refused and not ask {cause}, rule is once and not large {cause}"


@pytest.mark.parametrize(
    ("examples", "said"),
    [
        ("  - {call: charge, expekt: ask}", "examples.yaml:3: examples.0.expekt: unknown key"),
        ("  - {call: charge, expect: perhaps}", "examples.yaml:3: examples.0.expect.ruling"),
        ("  - {call: chrage, expect: ask}", "examples.yaml:3: example 1: there is no tool called chrage"),
        ("  - {call: charge, args: {order: x}, expect: ask}", "examples.yaml:3: example 1: charge: order"),
        (
            "  - {call: charge, args: {order: 1, amount: 40.00}, expect: ask}",
            'example 1: charge: amount: Value error, money is exact: send it as a string such as "40.00"',
        ),
        (
            "  - {call: charge, args: {order: 1}, at: 2026-01-07, expect: ask}",
            "examples.yaml:3: examples.0.at",
        ),
        ("  []", "examples.yaml:2: examples"),
    ],
)
def test_a_table_that_is_wrong_is_one_error(tmp_path: Path, agent: str, examples: str, said: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        try_out(table(tmp_path, examples))
    assert said in str(error.value)


def test_an_agent_that_is_not_there_is_an_error_of_the_table(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"examples\.yaml:1: There is no agent called 'nobody'"):
        try_out(table(tmp_path, "  - {call: charge, expect: ask}", agent="nobody"))


def test_the_command_shows_the_rules_and_the_odd_ones(agent: str, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("rules", "show", agent)
    first, *lines = capsys.readouterr().out.splitlines()
    assert first.startswith("tester: 3 rule(s), version ")
    assert lines == [
        "  large: charge: a person with the role lead is asked, when above(args.amount, '500').",
        "    because it is much",
        "  once: charge: at most 1 call per user.",
        "  never: mail: refused, when false.",
        "  ! never never fires: its condition is never true",
    ]
    call_command("rules", "show", agent, "--json")
    [shown] = json.loads(capsys.readouterr().out)
    assert [rule["name"] for rule in shown["rules"]] == ["large", "once", "never"]
    assert (shown["version"], shown["findings"][0]["kind"]) == (
        agentfile.agent(agent).rule_version,
        "never_fires",
    )


def test_the_command_ends_with_1_where_an_example_differs(
    tmp_path: Path, agent: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = table(tmp_path, "  - {call: charge, args: {order: 1}, expect: allowed}")
    with pytest.raises(SystemExit) as stopped:
        call_command("rules", "test", str(path))
    assert stopped.value.code == 1
    assert capsys.readouterr().out.splitlines() == [
        f"{path}:3: charge is allowed: ruling is ask and not allowed",
        "0 of 1 example(s) as expected",
    ]
    with pytest.raises(SystemExit):
        call_command("rules", "test", str(path), "--json")
    [trial] = json.loads(capsys.readouterr().out)
    assert (trial["as_expected"], trial["verdict"], trial["approver"]) == (False, "ask", "support")
    with pytest.raises(SystemExit):
        call_command("rules", "test", str(tmp_path / "none.yaml"))
    assert capsys.readouterr().err.strip().endswith("none.yaml: cannot be read (No such file or directory).")


@pytest.mark.parametrize("name", ["desk", "returns", "resolver"])
def test_the_examples_of_the_example_agents_are_as_expected(name: str, settings: Any) -> None:
    settings.AGENT_FILES = [EXAMPLES / f"{name}/agent.yaml"]
    assert [trial.wrong for trial in try_out(EXAMPLES / f"{name}/rules.test.yaml") if trial.wrong] == []


@pytest.mark.parametrize(
    "name", ["desk/agent", "desk/till", "returns/agent", "returns/atomic", "resolver/agent"]
)
def test_nothing_is_odd_about_the_rules_of_the_example_agents(name: str) -> None:
    for spec in agentfile.read(EXAMPLES / f"{name}.yaml"):
        assert spec.rulebook.rules
        assert findings(spec) == ()
