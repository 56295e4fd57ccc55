"""What an agent's file says of its tools, in words for a page: plain data, and nothing in it queries the database."""

import inspect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from runs.agentfile import AgentSpec
from runs.rulebook.words import RuleInWords, in_words
from runs.tools.lints import MENDS, Finding, undo_in
from runs.tools.registry import Tool
from runs.tools.unbound import binds

# (has a lookup, is retry-safe) -> what becomes of a call whose outcome is not known
IN_DOUBT = {
    (True, True): "looked up, then sent again",
    (True, False): "looked up",
    (False, True): "sent again, same key",
    (False, False): "a person is asked",
}


@dataclass(frozen=True)
class WriteRow:
    """One write, as it is written down before launch. `can_undo` is yes, no, unsaid, or broken: it can never be used.

    `undo` is the tool that is named, `bound` where each of its arguments comes from, `undoes` what this one undoes.
    """

    name: str
    about: str
    undo: str
    bound: tuple[tuple[str, str], ...]
    can_undo: str
    reversible: str
    in_doubt: str
    lookup: str
    approvers: tuple[tuple[str, str], ...]
    undoes: tuple[str, ...]
    findings: int


@dataclass(frozen=True)
class FoundLine:
    """Where a lint was found: its tool, what is said of it where that differs, and its route."""

    tool: str
    message: str
    route: tuple[str, ...]


@dataclass(frozen=True)
class FoundGroup:
    """One lint, and all that it says about an agent. `message` is '' where each line has its own."""

    lint: str
    message: str
    mend: str
    lines: tuple[FoundLine, ...]

    @property
    def is_flat(self) -> bool:
        """Only the tools differ."""
        return bool(self.message) and not any(line.route for line in self.lines)


@dataclass(frozen=True)
class ReadRow:
    """A tool that changes nothing."""

    name: str
    about: str


@dataclass(frozen=True)
class Catalogue:
    """What a page shows of one agent: its tools, what is said of them, its rules and its policy."""

    name: str
    writes: tuple[WriteRow, ...]
    reads: tuple[ReadRow, ...]
    found: tuple[FoundGroup, ...]
    total: int
    rules: tuple[RuleInWords, ...]
    policy: tuple[tuple[str, str], ...]


def catalogue(spec: AgentSpec, findings: Sequence[Finding], search: str = "") -> Catalogue:
    """All of it, or the tools that have these words in their names, their texts, their undos or their findings."""
    said = {name: [found for found in findings if found.tool == name] for name in spec.catalogue}
    shown = [tool for tool in spec.tools.values() if _matches(tool, said[tool.name], search)]
    names = {tool.name for tool in shown}
    here = [found for found in findings if not search or found.tool in names]
    return Catalogue(
        name=spec.name,
        writes=tuple(_write(tool, spec, len(said[tool.name])) for tool in shown if tool.writes),
        reads=tuple(ReadRow(tool.name, about(tool)) for tool in shown if not tool.writes),
        found=tuple(_groups(here)),
        total=len(here),
        rules=tuple(rule for rule in in_words(spec.rulebook) if not search or names & set(rule.tools)),
        policy=_policy(spec),
    )


def about(tool: Tool) -> str:
    """The first line of what its author wrote of it, or its sentence."""
    return (inspect.getdoc(tool.function) or tool.sentence).partition("\n")[0]


def _matches(tool: Tool, findings: Iterable[Finding], search: str) -> bool:
    texts = [tool.name, about(tool), tool.sentence, tool.undo.tool if tool.undo else ""]
    texts += [part for found in findings for part in (found.lint, found.message)]
    words = search.casefold().split()
    return all(any(word in text.casefold() for text in texts) for word in words)


def _write(tool: Tool, spec: AgentSpec, findings: int) -> WriteRow:
    by = undo_in(spec.catalogue, tool)
    can_undo, reversible = _reversible(tool, spec)
    return WriteRow(
        name=tool.name,
        about=about(tool),
        undo=tool.undo.tool if tool.undo else "",
        bound=tuple(_sources(tool, by)) if by else (),
        can_undo=can_undo,
        reversible=reversible,
        in_doubt=IN_DOUBT[tool.lookup is not None, tool.retry_safe],
        lookup=tool.lookup or "",
        approvers=tuple(_approvers(tool, spec)),
        undoes=tuple(
            other.name for other in spec.tools.values() if other.undo and other.undo.tool == tool.name
        ),
        findings=findings,
    )


def _reversible(tool: Tool, spec: AgentSpec) -> tuple[str, str]:
    by = undo_in(spec.catalogue, tool)
    if tool.irreversible:
        return "no", "no"
    if tool.undo is None:
        return "unsaid", "nobody has said"
    if by is None:
        return "broken", "no: there is no such tool"
    if by.name not in spec.tools:
        return "broken", f"no: not a tool of {spec.name}"
    if not binds(tool, by):
        return "broken", "no: cannot be bound"
    return "yes", f"until {tool.reversible_until}" if tool.reversible_until else "yes"


def _sources(tool: Tool, by: Tool) -> Iterable[tuple[str, str]]:
    """Where each argument of an undo comes from."""
    named = tool.undo.args if tool.undo else {}
    for name in by.arguments.model_fields:
        equal = f"$args.{name}" if name in tool.arguments.model_fields else f"$result.{name}"
        yield name, str(named.get(name, equal))


def _approvers(tool: Tool, spec: AgentSpec) -> Iterable[tuple[str, str]]:
    """Who confirms a call: the tool's own role, and whom its rules ask, with the rule."""
    if tool.confirm:
        yield tool.approver, ""
    for rule in spec.rulebook.of(tool.name):
        if rule.asks:
            yield rule.says.ask or "a second person", rule.name


def _groups(findings: Iterable[Finding]) -> Iterable[FoundGroup]:
    """By lint, in the order of docs/lints.md."""
    places = {lint: place for place, lint in enumerate(MENDS)}
    for lint, group in groupby(
        sorted(findings, key=lambda found: places[found.lint]), lambda found: found.lint
    ):
        members = list(group)
        same = members[0].message if len({found.message for found in members}) == 1 else ""
        lines = tuple(FoundLine(f.tool, "" if same else f.message, f.route) for f in members)
        yield FoundGroup(lint, same, MENDS[lint], lines)


POLICY = {
    "runs": (
        "When a run fails",
        {
            "atomic": "its writes are undone, the last one first",
            "keep": "its writes stay, and a person takes over",
        },
    ),
    "rollback": (
        "When an undo fails",
        {"ordered": "the rollback stops, and a person is asked", "best_effort": "the others go on"},
    ),
    "keys": (
        "A change is named by",
        {"step": "its place in the conversation", "action": "its ticket, tool and arguments"},
    ),
    "confirm": ("Writes are asked about", {"step": "one by one", "plan": "all of a proposal at once"}),
}
RECOVERY = {
    "resume": "after a crash it goes on",
    "resume_until_act": "after a crash it goes on while nothing is written; else it is {}",
    "compensate": "after a crash it is {}",
}


def _policy(spec: AgentSpec) -> tuple[tuple[str, str], ...]:
    keep = spec.file.runs == "keep"
    facts = [
        (label, words[getattr(spec.file, name)])
        for name, (label, words) in POLICY.items()
        if not (keep and name == "rollback")
    ]
    section = spec.file.agents[spec.name]
    if section.languages != ["en"]:
        facts.append(("Turns are read in", ", ".join(section.languages)))
    if spec.asks_about_text_of_others:
        facts.append(("A write with words that others wrote", "is asked about, whoever decided it"))
    if section.reconcile:
        facts.append(("A run whose worker died", f"is first seen by {section.reconcile}"))
    for name, task in spec.file.tasks.items():
        words = RECOVERY[task.recovery].format("handed over" if keep else "undone and handed over")
        late = f"; {task.deadline} after its start it never goes on by itself" if task.deadline else ""
        facts.append((f"Task {name}", words + late))
    return tuple(facts)
