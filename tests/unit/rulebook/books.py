"""Rulebooks over the tools of tests.world, for the unit tests."""

import textwrap
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from runs.agentfile import AgentSpec, read
from runs.rulebook import Ruling
from runs.rulebook.check import check
from runs.rulebook.past import Call, GivenPast, Setting
from runs.states import StepState

AGENT = """
agents:
  tester: {tools: [read, charge, refund, tag, untag, mail, pay]}
tools:
  - python: tests.world
tasks: {dispute: {}, returns: {}}
rulebook: ./rules.yaml
"""


def spec_of(folder: Path, rules: str, agent: str = AGENT) -> AgentSpec:
    """The agent `tester` with these rules, one after the other in YAML. Raises ConfigurationError."""
    (folder / "rules.yaml").write_text("rules:\n" + textwrap.indent(textwrap.dedent(rules).strip("\n"), "  "))
    (folder / "agent.yaml").write_text(agent)
    return read(folder / "agent.yaml")[0]


NOON = datetime(2026, 1, 7, 12, tzinfo=UTC)  # a Wednesday
HERE = Setting(NOON, "u-1", "T-1", "tester", "R-1", task="dispute", ticket="K-1", started_by="Ana")


def ruling(
    spec: AgentSpec,
    tool: str = "charge",
    *before: Call | tuple[Setting, Call],
    undo: bool = False,
    **said: Any,
) -> Ruling:
    """What the check says of one call. Of `said`, fields of a setting say where it is; the rest are its arguments."""
    where = {name: said.pop(name) for name in list(said) if name in Setting.__dataclass_fields__}
    args = said or {"order": 1, "amount": "40.00"}
    setting = replace(HERE, **where)
    given = [item if isinstance(item, tuple) else (HERE, item) for item in before]
    return check(spec, Call(tool, spec.catalogue[tool].validate(args), undo=undo), GivenPast(setting, given))


def ran(tool: str, state: StepState = StepState.PERFORMED, **args: Any) -> Call:
    """A call that was made at noon."""
    return Call(tool, args or {"order": 1}, state, sent_at=NOON)


def charge(amount: str = "40.00", state: StepState = StepState.PERFORMED) -> Call:
    """A charge that was made at noon."""
    return ran("charge", state, order=1, amount=amount)
