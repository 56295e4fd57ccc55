"""`stalwart rules test FILE`: a table of calls, and what the rules must say of each.

    agent: desk
    examples:
      - name: a large charge goes to a lead
        call: charge_card
        args: {order: 4411, amount: "600.00"}
        before:
          - {call: get_order, args: {order: 4411}}
        expect: {ruling: ask, rule: large_charges, role: lead}

The check is the one that the engine runs, over a past that the file gives in full. No clock is read: an example is
at noon of a Wednesday (UTC), in conversation and run `this` of user `u-1`, unless it says otherwise.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BeforeValidator, Field

from runs.agentfile import AgentSpec, agent
from runs.errors import BadInput, NotFound
from runs.roles import Role
from runs.rulebook.check import check
from runs.rulebook.past import Call, GivenPast, Setting
from runs.rulebook.ruling import Ruling
from runs.states import StepState
from runs.yamlfile import Strict, YamlFile

NOON = datetime(2026, 1, 7, 12, tzinfo=UTC)  # a Wednesday: the time of an example that names none


class Where(Strict):
    """In which run and conversation. An earlier call is in those of its example, unless it says otherwise."""

    user: str | None = None
    thread: str | None = None
    run: str | None = None
    task: str | None = None
    ticket: str | None = None
    subject: str | None = None
    started_by: str | None = None
    at: AwareDatetime | None = None


class Earlier(Where):
    """A call that was made before."""

    call: str
    args: dict[str, Any] = Field(default_factory=dict)
    state: Literal["performed", "undone", "sent", "unknown", "failed", "not_performed"] = "performed"
    result: Any = None
    undo: bool = False


class Expected(Strict):
    """The ruling; the rule, the role and those who may not answer are compared where they are given."""

    ruling: Literal["allowed", "ask", "refused"]
    rule: str | None = None
    role: Role | None = None
    not_by: tuple[str, ...] | None = None


def _short(value: object) -> object:
    return {"ruling": value} if isinstance(value, str) else value


class Example(Where):
    """One call, what was before it, and the ruling that is expected: `expect: refused`, or with more said."""

    name: str = ""
    call: str
    args: dict[str, Any] = Field(default_factory=dict)
    undo: bool = False
    before: tuple[Earlier, ...] = ()
    expect: Annotated[Expected, BeforeValidator(_short)]


class Table(Strict):
    """The whole file."""

    agent: str
    examples: tuple[Example, ...] = Field(min_length=1)


@dataclass(frozen=True)
class Trial:
    """What came of one example: `wrong` says how the ruling differs, and is '' where it does not."""

    name: str
    line: int
    ruling: Ruling
    wrong: str


def try_out(path: Path) -> list[Trial]:
    """Try every example of a file. Raises ConfigurationError for a file that is wrong."""
    document = YamlFile(path)
    table = document.parse(Table)
    try:
        spec = agent(table.agent)
    except NotFound as error:
        raise document.error(("agent",), str(error)) from None
    return [_tried(document, spec, index, example) for index, example in enumerate(table.examples)]


def _tried(document: YamlFile, spec: AgentSpec, index: int, example: Example) -> Trial:
    loc = ("examples", index)
    try:
        call = _call(spec, example)
        setting = _setting(spec, example)
        given = [_earlier(spec, setting, earlier) for earlier in example.before]
    except BadInput as error:
        raise document.error(loc, f"example {index + 1}: {error}") from None
    ruling = check(spec, call, GivenPast(setting, given))
    name = example.name or f"{example.call} is {example.expect.ruling}"
    return Trial(name, document.line(loc), ruling, ", ".join(_differs(example.expect, ruling)))


def _setting(spec: AgentSpec, example: Example) -> Setting:
    return _at(Setting(NOON, "u-1", "this", spec.name, "this"), example)


def _at(usual: Setting, where: Where) -> Setting:
    names = ("user", "thread", "run", "task", "ticket", "subject", "started_by")
    said = {name: value for name in names if (value := getattr(where, name)) is not None}
    return replace(usual, **said, now=where.at or usual.now)


def _earlier(spec: AgentSpec, setting: Setting, earlier: Earlier) -> tuple[Setting, Call]:
    where, call = _at(setting, earlier), _call(spec, earlier)
    state = StepState(earlier.state)
    return where, replace(call, state=state, result=earlier.result, sent_at=where.now, run=where.run)


def _call(spec: AgentSpec, said: Example | Earlier) -> Call:
    tool = spec.catalogue.get(said.call)
    if tool is None:
        raise BadInput(f"there is no tool called {said.call}; there are: {', '.join(sorted(spec.catalogue))}")
    return Call(said.call, tool.validate(said.args), undo=said.undo)


def _differs(expected: Expected, ruling: Ruling) -> Iterator[str]:
    pairs = (
        ("ruling", expected.ruling, ruling.verdict),
        ("rule", expected.rule, ruling.rule),
        ("role", expected.role, ruling.approver),
        ("not_by", expected.not_by, ruling.not_by),
    )
    for what, wanted, found in pairs:
        if wanted is not None and wanted != found:
            yield f"{what} is {found or 'none'} and not {wanted}" + (
                f" ({ruling.cause})" if ruling.cause else ""
            )
