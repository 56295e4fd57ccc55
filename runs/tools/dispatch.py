"""Carrying out one call, and saying what became of it. Runs outside any transaction."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import httpx

from runs.errors import InDoubt, Refused, Unavailable
from runs.tools.registry import Call, Tool, as_json

MAX_ERROR = 2000


class Verdict(StrEnum):
    """What one attempt says of its effect."""

    PERFORMED = "performed"
    REFUSED = "refused"  # the service said no; no effect
    UNAVAILABLE = "unavailable"  # it never got there; no effect
    RAISED = "raised"  # the tool raised before anything had left; no effect
    IN_DOUBT = "in_doubt"


@dataclass(frozen=True)
class Outcome:
    """`result` is JSON. `error_class` is the class that people read, such as RuntimeError or Timeout."""

    verdict: Verdict
    result: Any = None
    error_class: str = ""
    error: str = ""


def dispatch(tool: Tool, args: dict[str, Any], call: Call) -> Outcome:
    """Run the tool and map how it failed (docs/engine.md, "How a tool fails").

    SystemExit and KeyboardInterrupt mean that the process was told to exit in the middle of the call: it is
    in doubt where the request had left, and the caller records that before it exits.
    """
    try:
        result = tool.run(args, call)
    except Exception as error:  # noqa: BLE001 (whatever a tool raises is an outcome)
        return failed(error, call)
    return performed(tool, result)


def failed(error: Exception, call: Call) -> Outcome:
    """What it says of a call's effect that it raised this."""
    match error:
        case Refused():
            return _failed(Verdict.REFUSED, error, error.cause)
        case Unavailable():
            return _failed(Verdict.UNAVAILABLE, error, error.cause)
        case InDoubt():
            return _failed(Verdict.IN_DOUBT, error, error.cause)
        case TimeoutError() | ConnectionError() | httpx.TransportError():
            return _lost(error, call)
    return _failed(Verdict.IN_DOUBT if call.left else Verdict.RAISED, error)


def performed(tool: Tool, result: Any) -> Outcome:
    """What a call that returned this did."""
    try:
        return Outcome(Verdict.PERFORMED, as_json(result))
    except ValueError as error:
        # A write that returned did happen, whatever it returned; its undo may then be impossible to bind.
        said = f"{tool.name} returned what is not JSON: {error}"
        return Outcome(Verdict.PERFORMED if tool.writes else Verdict.RAISED, None, "BadResult", said)


def _lost(error: Exception, call: Call) -> Outcome:
    """A bare network error: a tool that does not use the helper may have sent, so it is not assumed that it did not."""
    if isinstance(error, ConnectionRefusedError) and not call.left:
        return _failed(Verdict.UNAVAILABLE, error, "Unreachable")
    timeout = isinstance(error, TimeoutError | httpx.TimeoutException)
    return _failed(Verdict.IN_DOUBT, error, "Timeout" if timeout else "")


def _failed(verdict: Verdict, error: Exception, cause: str = "") -> Outcome:
    """`cause` is the short name that people read; '' means the error's own class."""
    return Outcome(verdict, None, storable(cause or type(error).__name__)[:100], storable(str(error)))


def storable(text: str, most: int = MAX_ERROR) -> str:
    """What somebody else said, so that it can always be written down: no NUL, valid Unicode, `most` characters."""
    clean = text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")
    return clean if len(clean) <= most else clean[: most - 1] + "…"
