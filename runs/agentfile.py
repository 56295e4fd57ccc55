"""`agent.yaml`: read, checked, and kept as the agents that this process knows.

Every error names the file and the line. An unknown key is an error.
"""

import dataclasses
import importlib
import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, cast

from django.conf import settings
from pydantic import Field

from runs.digest import sha256
from runs.errors import BadInput, ConfigurationError, NotFound, StalwartError
from runs.model_requests import is_installed, is_name
from runs.rulebook import Rulebook
from runs.rulebook.load import load
from runs.selector import Phrase, PhraseError, Selector, shipped
from runs.tools import windows
from runs.tools.reconciling import Reconcile
from runs.tools.registry import ATTRIBUTE, Tool, build, parse_says, parse_undo
from runs.yamlfile import Strict, YamlFile

NEVER = "never"
EXPIRES = rf"^({NEVER}|{windows.DURATION.pattern})$"


class TaskSection(Strict):
    """How a task type recovers, within which time, and when its questions escalate."""

    recovery: Literal["resume", "resume_until_act", "compensate"] = "resume"
    deadline: str | None = Field(default=None, pattern=rf"^{windows.DURATION.pattern}$")
    expires: str | None = Field(default=None, pattern=EXPIRES)

    @property
    def within(self) -> timedelta | None:
        """The deadline, from the start of the run."""
        return windows.duration(self.deadline) if self.deadline else None


class AgentSection(Strict):
    """One agent: the tools it may call, how its turns are read, and who sees a run that died.

    `reconcile` names a function by its dotted path, such as shop.recovery.reconcile (docs/recovery.md). `currency`
    is the money that a turn may name ($40, 40 dollars), and `on_unread` says what is done with a turn that was not
    read (docs/selector.md). `model` is who is asked then, and `instructions` is what it is told first. `text_of_others`
    says whether a write with words out of a text that others wrote is asked about also where no model of ours decided
    it (docs/models.md).
    """

    model: str | None = Field(default=None, max_length=200)
    instructions: str = ""
    tools: list[str] = Field(min_length=1)
    reconcile: str | None = None
    languages: list[str] = Field(default=["en"], min_length=1)
    currency: str | None = None
    on_unread: Literal["refuse", "ask_model", "ask_person"] = "refuse"
    text_of_others: Literal["mark", "ask"] = "mark"


class AgentFile(Strict):
    """The whole file."""

    agents: dict[str, AgentSection] = Field(min_length=1)
    tools: list[dict[str, Any]] = Field(min_length=1)
    rulebook: str | None = None
    runs: Literal["atomic", "keep"] = "atomic"
    rollback: Literal["ordered", "best_effort"] = "ordered"
    keys: Literal["step", "action"] = "step"
    confirm: Literal["step", "plan"] = "step"
    subject: str = ""  # the argument that says what a run is about, such as the order
    expires: str | None = Field(default=None, pattern=EXPIRES)  # then a question escalates: 30m, or never
    tasks: dict[str, TaskSection] = Field(default_factory=dict)


@dataclass(frozen=True)
class AgentSpec:
    """One agent, as the engine uses it. `catalogue` holds every tool of the file, `tools` what it may call."""

    name: str
    path: Path
    file: AgentFile
    catalogue: Mapping[str, Tool]
    tools: Mapping[str, Tool] = field(default_factory=dict)
    reconcile: Reconcile | None = None  # sees a run whose worker died, before anything else is decided
    rulebook: Rulebook = field(default_factory=Rulebook)

    @cached_property
    def selector(self) -> Selector:
        """Reads a turn into this agent's calls."""
        section = self.file.agents[self.name]
        return Selector(self.phrases, section.languages, section.currency)

    @property
    def phrases(self) -> list[Phrase]:
        """How a turn asks for its tools, in its languages."""
        return [
            Phrase(tool.name, says, language)
            for tool in self.tools.values()
            for language in self.file.agents[self.name].languages
            for says in tool.says.get(language, ())
        ]

    @property
    def on_unread(self) -> str:
        """What is done with a turn that was not read: refuse, ask_model or ask_person."""
        return self.file.agents[self.name].on_unread

    @property
    def asks_about_text_of_others(self) -> bool:
        """Whether a person sees such words before they go out, whoever decided the call. A program has no section."""
        section = self.file.agents.get(self.name)
        return section is not None and section.text_of_others == "ask"

    def valid(self, name: str, args: Any) -> dict[str, Any]:
        """The arguments of a call of this agent, as its tool keeps them. Raises BadInput."""
        tool = self.tools.get(name)
        if tool is None:
            has = ", ".join(sorted(self.tools))
            raise BadInput(f"{self.name} has no tool called {name!r}; it has: {has}.", field="/tool")
        return tool.validate(args)

    def subject_of(self, calls: Iterable[tuple[str, Mapping[str, Any]]]) -> str:
        """What a run of these calls (tool, arguments) is about: the first that shows the argument named in the file."""
        name = self.file.subject
        shown = (args for tool, args in calls if name not in self.tools[tool].redact)
        return next((str(args[name]) for args in shown if name and args.get(name)), "")[:100]

    def answered_within(self, task: str) -> timedelta | None:
        """After how long a question of this task type escalates; None for never.

        As its task says, or else its file, or else STALWART_QUESTION_SECONDS.
        """
        section = self.file.tasks.get(task)
        said = (section and section.expires) or self.file.expires
        if said == NEVER:
            return None
        return windows.duration(said) if said else timedelta(seconds=settings.QUESTION_SECONDS)

    @cached_property
    def rule_version(self) -> str:
        """12 hex digits that name the policy under which a call is checked."""
        tools = sorted([tool.name, tool.fingerprint] for tool in self.tools.values())
        policy = self.file.model_dump(mode="json")
        return sha256({"policy": policy, "tools": tools, "rules": self.rulebook.digest})[:12]


NO_FILE = AgentFile.model_construct(agents={}, tools=[])
PROGRAMS = "saga"  # as whom programs that are no agents run (runs/programs.py); nobody else starts its runs
_known: dict[str, AgentSpec] = {}
_admitted: dict[str, AgentSpec] = {}
_configured: list[Path] = []


def agent(name: str) -> AgentSpec:
    """The agent of this name. One that has no file needs none read. Raises NotFound, ConfigurationError."""
    found = _admitted.get(name) or agents().get(name)
    if found is None:
        raise NotFound(
            f"There is no agent called {name!r}; there are: {', '.join(sorted(agents())) or 'none'}."
        )
    return found


def spec_of(name: str) -> AgentSpec:
    """The agent of this name; where it is gone or does not load, one without tools, so that its runs can be read."""
    try:
        return agent(name)
    except StalwartError:
        return AgentSpec(name, Path(), NO_FILE, {})


def agents() -> Mapping[str, AgentSpec]:
    """Every agent this process knows: those of the configured files, and those registered by a program."""
    for path in settings.AGENT_FILES:
        if path not in _configured:
            register(path)
            _configured.append(path)
    return _known


def admit(spec: AgentSpec) -> None:
    """Have the engine know an agent that has no file. It is not among `agents()`."""
    _admitted[spec.name] = spec


def register(path: Path | str) -> list[AgentSpec]:
    """Read a file and make its agents known. Raises ConfigurationError."""
    specs = read(Path(path))
    for spec in specs:
        if spec.name in _admitted:
            raise ConfigurationError(f"{spec.path}: {spec.name} is not a name for an agent; rename it.")
        other = _known.get(spec.name)
        if other and other.path != spec.path:
            raise ConfigurationError(
                f"{spec.path}: agent {spec.name} is also in {other.path}; rename one of them."
            )
        _known[spec.name] = spec
    return specs


def read(path: Path) -> list[AgentSpec]:
    """The agents of one file. Raises ConfigurationError with the file and the line."""
    document = YamlFile(path)
    file = document.parse(AgentFile)
    catalogue = _catalogue(document, file)
    rulebook = _rulebook(document, file, catalogue)
    return [_spec(document, file, catalogue, rulebook, name) for name in file.agents]


def _rulebook(document: YamlFile, file: AgentFile, catalogue: Mapping[str, Tool]) -> Rulebook:
    if file.rulebook is None:
        return Rulebook()
    return load(document.path.parent / file.rulebook, catalogue, file.tasks)


def _spec(
    document: YamlFile, file: AgentFile, catalogue: Mapping[str, Tool], rulebook: Rulebook, name: str
) -> AgentSpec:
    section = file.agents[name]
    for index, tool in enumerate(section.tools):
        if tool not in catalogue:
            loc = ("agents", name, "tools", index)
            raise document.error(
                loc, f"agent {name}: there is no tool called {tool}; is its module under tools:?"
            )
    _refuse_what_is_not_there(document, name, section)
    tools = {tool: catalogue[tool] for tool in section.tools}
    reconcile = _reconcile(document, name, section.reconcile)
    spec = AgentSpec(name, document.path.resolve(), file, catalogue, tools, reconcile, rulebook)
    try:
        _ = spec.selector
    except PhraseError as error:
        raise document.error(("agents", name), f"agent {name}: {error}") from None
    except ConfigurationError as error:
        raise document.error(("agents", name, "currency"), f"agent {name}: {error}") from None
    for index, language in enumerate(section.languages):
        if spec.phrases and not any(phrase.language == language for phrase in spec.phrases):
            loc = ("agents", name, "languages", index)
            raise document.error(
                loc, f"agent {name}: none of its tools says how it is asked for in {language!r}"
            )
    return spec


def _reconcile(document: YamlFile, name: str, path: str | None) -> Reconcile | None:
    """The function behind a dotted path: it takes one argument, and is not a coroutine."""
    if path is None:
        return None
    loc = ("agents", name, "reconcile")
    module, _, attribute = path.rpartition(".")
    if not module:
        raise document.error(loc, f"reconcile: {path} is no dotted path, such as shop.recovery.reconcile")
    function = getattr(_import(document, loc, module), attribute, None)
    if not callable(function) or inspect.iscoroutinefunction(function):
        raise document.error(loc, f"reconcile: {path} is no function (or an async one)")
    try:
        inspect.signature(function).bind(None)
    except (TypeError, ValueError):
        raise document.error(loc, f"reconcile: {path} must take one argument, the run") from None
    return cast(Reconcile, function)


def _refuse_what_is_not_there(document: YamlFile, name: str, section: AgentSection) -> None:
    """A language, or somebody to ask, that has not shipped."""
    for index, language in enumerate(section.languages):
        loc = ("agents", name, "languages", index)
        if language not in shipped():
            known = ", ".join(shipped())
            raise document.error(
                loc, f"agent {name}: the language {language!r} has not shipped; these have: {known}"
            )
        if language in section.languages[:index]:
            raise document.error(loc, f"agent {name}: the language {language!r} is there twice")
    if section.on_unread == "ask_model" and (missing := _missing_of_model(section.model)):
        raise document.error(
            ("agents", name, "on_unread"), f"agent {name}: on_unread: ask_model needs {missing}"
        )


def _missing_of_model(model: str | None) -> str:
    """What is missing here for a model to be asked. Its provider and its key are looked at when a turn comes."""
    if not (model and is_name(model)):
        return "a model, such as model: anthropic:claude-sonnet-5-5"
    if not is_installed():
        return "the extra `models`, which is not installed; install stalwart[models], or write refuse"
    return ""


def _catalogue(document: YamlFile, file: AgentFile) -> dict[str, Tool]:
    catalogue: dict[str, Tool] = {}
    for index, item in enumerate(file.tools):
        loc = ("tools", index)
        if len(item) != 1:
            raise document.error(loc, "an item of tools: is `python: <module>` or `<tool>: {<attribute>: …}`")
        [(name, value)] = item.items()
        try:
            if name == "python":
                catalogue |= {tool.name: tool for tool in _tools_of(_import(document, loc, value))}
            else:
                catalogue[name] = _override(document, loc, catalogue, name, value)
        except ConfigurationError as error:
            raise document.error(loc, str(error)) from None
    for tool in catalogue.values():
        if tool.lookup and tool.lookup not in catalogue:
            raise document.error(
                ("tools",), f"tool {tool.name}: there is no lookup tool called {tool.lookup}"
            )
        _check_window(document, catalogue, tool)
    return catalogue


def _check_window(document: YamlFile, catalogue: Mapping[str, Tool], tool: Tool) -> None:
    said = tool.reversible_until
    if said and not windows.is_well_formed(said):
        raise document.error(
            ("tools",),
            f"tool {tool.name}: reversible_until is a length of time such as 48h, a field such as $result.until, "
            "or the name of a tool that says until when",
        )
    if windows.asks_tool(said) and said not in catalogue:
        raise document.error(
            ("tools",), f"tool {tool.name}: there is no tool called {said} to say until when"
        )


def _import(document: YamlFile, loc: tuple[Any, ...], name: Any) -> ModuleType:
    try:
        return importlib.import_module(str(name))
    except ImportError as error:
        raise document.error(loc, f"the module {name} cannot be imported ({error})") from None
    except Exception as error:
        said = f"the module {name} fails when it is imported ({type(error).__name__}: {error})"
        raise document.error(loc, said) from error


def _tools_of(module: ModuleType) -> Iterator[Tool]:
    for value in vars(module).values():
        found = getattr(value, ATTRIBUTE, None)
        if isinstance(found, Tool):
            yield found


def _override(
    document: YamlFile, loc: tuple[Any, ...], catalogue: Mapping[str, Tool], name: str, value: Any
) -> Tool:
    if name not in catalogue:
        raise document.error(loc, f"there is no tool called {name} above this line")
    if not isinstance(value, dict):
        raise document.error(loc, f"{name}: attributes are needed, such as {{undo: refund_card}}")
    allowed = {item.name for item in dataclasses.fields(Tool)} - {
        "name",
        "function",
        "arguments",
        "wants_call",
    }
    unknown = sorted(set(value) - allowed)
    if unknown:
        raise document.error((*loc, name, unknown[0]), f"{name}: unknown key {unknown[0]}")
    changes = dict(value)
    if "undo" in changes:
        changes["undo"] = parse_undo(name, changes["undo"])
    if "says" in changes:
        changes["says"] = parse_says(name, changes["says"])
    return build(catalogue[name], changes)
