"""`@tool`: a Python function, and what the engine must know of it before it sends anything.

The decorator leaves the function as it is and hangs a `Tool` on it; an agent file collects the tools of
its modules into a catalogue (runs/agentfile.py).
"""

import asyncio
import dataclasses
import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints, overload

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, WithJsonSchema, create_model

from runs.digest import canonical, jsonable, sha256
from runs.errors import BadInput, ConfigurationError, InDoubt
from runs.selector import shipped

F = TypeVar("F", bound=Callable[..., Any])
Says = str | Sequence[str] | Mapping[str, str | Sequence[str]]
MONEY = {"type": "string", "pattern": r"^-?\d+(\.\d+)?$", "examples": ["40.00"]}
ATTRIBUTE = "__stalwart_tool__"


@dataclass
class Call:
    """One sending of one change, as the tool sees it.

    `key` goes to the service as its idempotency key. `left` says that the request that carries the key may
    have left this process; the HTTP helper sets it, and a tool that sends by other means sets it itself.
    `timeout` is in seconds. `attempt` counts from 1.
    """

    key: str
    tool: str
    run: str = ""
    step: int = 0
    attempt: int = 1
    timeout: float = 10.0
    retry_safe: bool = False
    fault: str = ""
    left: bool = False


@dataclass(frozen=True)
class Undo:
    """The tool that undoes a write. `args` maps its arguments to `$args.x`, `$result.y` or a literal;
    an argument that is not named binds the equal name of the result, then of the arguments."""

    tool: str
    args: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Tool:
    """What the engine knows of a tool. Durations are in seconds; None means the setting's default.

    `says` is how a turn asks for it, by language: {"en": ("charge order {order:d} {amount:F}",)}. In words, as
    templates over the arguments and the result: `sentence` is the confirmation's title, `summary` what was done,
    `detail` what was not, `if_not_done` the next person's hint (of an undo: when to do it), `tells_customer` what the
    customer knows by it, `untold` what they then do not know.
    `reversible_until` says until when its undo is possible (runs/tools/windows.py), and `redact` names the arguments
    and the fields of the result whose values are not shown (runs/redaction.py).
    """

    name: str
    function: Callable[..., Any]
    arguments: type[BaseModel]
    wants_call: bool = False
    writes: bool = False
    undo: Undo | None = None
    irreversible: bool = False
    retry_safe: bool = False
    lookup: str | None = None
    settle_after: float | None = None
    key_retention: float | None = None
    confirm: bool = True
    approver: str = "support"
    tells_customer: str = ""
    says: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sentence: str = ""
    summary: str = ""
    if_not_done: str = ""
    detail: str = ""
    untold: str = ""
    reversible_until: str = ""
    timeout: float | None = None
    redact: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> str:
        """64 hex digits over the schema and the attributes: what an approval of this tool was given for."""
        return self._fingerprint

    @property
    def description(self) -> str:
        """What it does: its function's docstring."""
        return (self.function.__doc__ or "").strip()

    def __post_init__(self) -> None:
        attributes = {
            item.name: getattr(self, item.name)
            for item in dataclasses.fields(self)
            if item.name not in {"function", "arguments", "undo"}
        }
        undo = {"tool": self.undo.tool, "args": dict(self.undo.args)} if self.undo else None
        schema = self.arguments.model_json_schema()
        object.__setattr__(self, "_fingerprint", sha256({"schema": schema, "undo": undo, **attributes}))

    _fingerprint: str = field(default="", init=False, repr=False, compare=False)

    def validate(self, args: Any) -> dict[str, Any]:
        """`args` as canonical JSON values (money as strings, defaults filled in). Raises BadInput."""
        if not isinstance(args, dict):
            raise BadInput(f"The arguments of {self.name} must be an object.", field="/args")
        try:
            canonical(args)
            valid = self.arguments.model_validate(args).model_dump(mode="json")
            canonical(valid)
        except ValidationError as error:
            raise _invalid(self.name, error) from None
        except ValueError as error:
            raise BadInput(
                f"The arguments of {self.name} cannot be kept exactly: {error}.", field="/args"
            ) from None
        return dict(valid)

    def still_takes(self, args: dict[str, Any]) -> bool:
        """Whether stored arguments are still what this tool would make of them; its schema may have changed."""
        try:
            return bool(self.arguments.model_validate(args).model_dump(mode="json") == args)
        except ValidationError:
            return False

    def run(self, args: dict[str, Any], call: Call) -> Any:
        """Call the function with validated arguments; the result is JSON. What the tool raises goes through.

        An `async def` is carried out in an event loop of its own.
        """
        return finished(self.invoke(args, call))

    def invoke(self, args: dict[str, Any], call: Call) -> Any:
        """The same, but that of an `async def` it is what is to be awaited."""
        model = self.arguments.model_validate(args)
        values = {name: getattr(model, name) for name in type(model).model_fields}
        return self.function(call, **values) if self.wants_call else self.function(**values)


def finished(result: Any) -> Any:
    """What a call returned, once all of it has run. Raises what it raises, and TypeError for a generator."""
    refuse_unrun(result)
    if not inspect.iscoroutine(result):
        return result
    try:
        return asyncio.run(result)
    except asyncio.CancelledError as error:  # its own doing: nobody cancels this loop from outside
        raise InDoubt("The call was cancelled in the middle.", cause="CancelledError") from error


def refuse_unrun(result: Any) -> None:
    """A generator has not run: what it would do has not been done. Raises TypeError."""
    if inspect.isgenerator(result) or inspect.isasyncgen(result):
        raise TypeError(
            "The function is a generator: nothing of it has run. Return what it makes, all at once."
        )


class _Gone(BaseModel):
    """The arguments of a tool that is not to be had here."""

    model_config = ConfigDict(extra="allow")


def gone(name: str) -> Tool:
    """In the place of a tool that is not to be had here, of which nothing is known: a write without words."""
    return Tool(name, lambda: None, _Gone, writes=True)


def _invalid(tool: str, error: ValidationError) -> BadInput:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    pointer = "/args" + "".join(f"/{part}" for part in first["loc"])
    return BadInput(f"{tool}: {pointer.removeprefix('/args/')}: {first['msg']}.", field=pointer)


@overload
def tool(function: F, /) -> F: ...


@overload
def tool(
    *,
    writes: bool = False,
    undo: str | Mapping[str, Any] | None = None,
    says: Says = (),
    **attributes: Any,
) -> Callable[[F], F]: ...


def tool(
    function: Any = None,
    *,
    writes: bool = False,
    undo: str | Mapping[str, Any] | None = None,
    says: Says = (),
    **attributes: Any,
) -> Any:
    """Make a function a tool: `@tool(writes=True, undo="refund_card", says="charge order {order:d} {amount:F}")`.

    Parameters need type hints; money is Decimal; a first parameter called `call` receives the `Call`.
    Attributes are the fields of `Tool`. Raises ConfigurationError for what cannot be.
    """

    def decorate(target: F) -> F:
        name = target.__name__
        arguments, wants_call = _arguments(target)
        spec = {
            "writes": writes,
            "undo": parse_undo(name, undo),
            "says": parse_says(name, says),
            **attributes,
        }
        setattr(target, ATTRIBUTE, build(Tool(name, target, arguments, wants_call), spec))
        return target

    return decorate(function) if function is not None else decorate


def build(base: Tool, attributes: Mapping[str, Any]) -> Tool:
    """`base` with other attributes, checked for what cannot be. Raises ConfigurationError."""
    try:
        made = dataclasses.replace(base, **attributes)
    except TypeError as error:
        raise ConfigurationError(f"Tool {base.name}: {error}.") from None
    if not isinstance(made.redact, list | tuple) or not all(isinstance(name, str) for name in made.redact):
        raise ConfigurationError(
            f"Tool {made.name}: redact is a list of names of arguments and fields, such as [iban]."
        )
    if made.undo and not made.writes:
        raise ConfigurationError(
            f"Tool {made.name} has an undo but does not write: add writes=True or drop the undo."
        )
    if made.undo and made.irreversible:
        raise ConfigurationError(f"Tool {made.name} is irreversible and names an undo: keep one of them.")
    if made.irreversible and not made.writes:
        raise ConfigurationError(f"Tool {made.name} is irreversible but does not write: add writes=True.")
    return made


def parse_undo(name: str, undo: Any) -> Undo | None:
    """`"refund_card"` or `{"refund_card": {"charge": "$result.charge"}}` as an Undo. Raises ConfigurationError."""
    if undo is None:
        return None
    if isinstance(undo, str):
        return Undo(undo)
    if isinstance(undo, Mapping) and len(undo) == 1:
        [(tool_name, args)] = undo.items()
        if isinstance(tool_name, str) and isinstance(args, Mapping):
            return Undo(tool_name, dict(args))
    raise ConfigurationError(
        f"Tool {name}: undo must be the name of a tool, or one name with its arguments, "
        'such as {refund_card: {charge: "$result.charge"}}.'
    )


def parse_says(name: str, says: Any) -> dict[str, tuple[str, ...]]:
    """Phrases by language; one phrase or a list of them is English. Raises ConfigurationError."""
    by_language = says if isinstance(says, Mapping) else {"en": says}
    found = {language: _phrases(name, phrases) for language, phrases in by_language.items()}
    for language in found:
        if language not in shipped():
            raise ConfigurationError(
                f"Tool {name}: says: the language {language!r} has not shipped; these have: {', '.join(shipped())}."
            )
    return {language: phrases for language, phrases in found.items() if phrases}


def _phrases(name: str, phrases: Any) -> tuple[str, ...]:
    listed = [phrases] if isinstance(phrases, str) else phrases
    if not isinstance(listed, Sequence) or not all(isinstance(phrase, str) for phrase in listed):
        raise ConfigurationError(
            f"Tool {name}: says must be a phrase, a list of phrases, or these by language, such as "
            '{en: "look up order {order:d}", pt: "consulta pedido {order:d}"}.'
        )
    return tuple(listed)


def _arguments(function: Callable[..., Any]) -> tuple[type[BaseModel], bool]:
    hints = get_type_hints(function, include_extras=True)
    parameters = list(inspect.signature(function).parameters.values())
    wants_call = bool(parameters) and parameters[0].name == "call"
    fields: dict[str, Any] = {}
    for parameter in parameters[1:] if wants_call else parameters:
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ConfigurationError(
                f"Tool {function.__name__}: *args and **kwargs have no schema; name each parameter."
            )
        if parameter.name not in hints:
            raise ConfigurationError(
                f"Tool {function.__name__}: parameter {parameter.name} needs a type hint."
            )
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[parameter.name] = (_exact_hint(function, parameter.name, hints[parameter.name]), default)
    config = ConfigDict(extra="forbid", allow_inf_nan=False, validate_default=True, hide_input_in_errors=True)
    return create_model(f"{function.__name__}_arguments", __config__=config, **fields), wants_call


def _no_float(value: Any) -> Any:
    if isinstance(value, float | bool):
        raise ValueError(  # noqa: TRY004 (pydantic reports a ValueError)
            'money is exact: send it as a string such as "40.00"'
        )
    return value


def _no_bool(value: Any) -> Any:
    if isinstance(value, bool | float):
        raise ValueError("a whole number is needed")  # noqa: TRY004 (as above)
    return value


def _exact_hint(function: Callable[..., Any], name: str, hint: Any) -> Any:
    try:
        return _exact(hint)
    except TypeError as error:
        raise ConfigurationError(f"Tool {function.__name__}: parameter {name}: {error}.") from None


def _exact(hint: Any) -> Any:
    """`hint`, with Decimal refusing floats and int refusing true, false and 1.0, at any depth."""
    if hint is Decimal:
        return Annotated[Decimal, BeforeValidator(_no_float), WithJsonSchema(MONEY)]
    if hint is int:
        return Annotated[int, BeforeValidator(_no_bool)]
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return Annotated[(_exact(args[0]), *args[1:])]
    if set in (hint, origin) or frozenset in (hint, origin):
        raise TypeError("a set comes in another order in each process; make it a list")
    if origin in (types.UnionType, Union):
        result = _exact(args[0])
        for item in args[1:]:
            result = result | _exact(item)
        return result
    if origin in (list, dict, tuple) and args:
        return origin[tuple(_exact(item) for item in args)]
    return hint


def as_json(result: Any) -> Any:
    """A tool's result as JSON values, Decimal and numbers from 2^53 on as strings; at most 64 KiB. Raises ValueError.

    What a service calls its own is kept whatever its size, since the undo may need it.
    """
    if isinstance(result, BaseModel):
        result = result.model_dump(mode="json")
    value = jsonable(result, large_as_text=True)
    canonical(value)
    return value
