"""Carrying out one call, and saying what became of it. Runs outside any transaction."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import httpx

from runs.errors import InDoubt, Refused, Unavailable
from runs.tools.registry import Call, Tool, as_json


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
    except Refused as error:
        return Outcome(Verdict.REFUSED, None, _class(error), str(error))
    except Unavailable as error:
        return Outcome(Verdict.UNAVAILABLE, None, _class(error), str(error))
    except InDoubt as error:
        return Outcome(Verdict.IN_DOUBT, None, _class(error), str(error))
    except (TimeoutError, ConnectionError, httpx.TransportError) as error:
        return _lost(error, call)
    except Exception as error:  # noqa: BLE001 (whatever a tool raises is an outcome)
        verdict = Verdict.IN_DOUBT if call.left else Verdict.RAISED
        return Outcome(verdict, None, type(error).__name__, str(error))
    return _performed(tool, result)


def _performed(tool: Tool, result: Any) -> Outcome:
    try:
        return Outcome(Verdict.PERFORMED, as_json(result))
    except ValueError as error:
        # A write that returned did happen, whatever it returned; its undo may then be impossible to bind.
        said = f"{tool.name} returned what is not JSON: {error}"
        return Outcome(Verdict.PERFORMED if tool.writes else Verdict.RAISED, None, "BadResult", said)


def _lost(error: Exception, call: Call) -> Outcome:
    """A bare network error: a tool that does not use the helper may have sent, so it is not assumed that it did not."""
    if isinstance(error, ConnectionRefusedError) and not call.left:
        return Outcome(Verdict.UNAVAILABLE, None, "Unreachable", str(error))
    name = "Timeout" if isinstance(error, TimeoutError | httpx.TimeoutException) else type(error).__name__
    return Outcome(Verdict.IN_DOUBT, None, name, str(error))


def _class(error: Refused | Unavailable | InDoubt) -> str:
    return error.cause or type(error).__name__
