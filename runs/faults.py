"""Fault points: where a practice process can be made to die, hard, to see what is left.

`STALWART_FAULT_POINT=after-intent:update_crm` arms one point of this process; `:exit` at the end makes it
`os._exit(137)` instead of SIGKILL. The tool may be left out: any. An agent's `reconcile` function is a call of that
name. Refused outside practice.

| point | the process dies |
| --- | --- |
| before-intent | in the transaction that would record the intent |
| after-intent | when the intent is committed, and nothing has left |
| during-call | a moment after the call was begun |
| after-call | when the call has returned, and nothing is recorded of it |
| after-outcome | when the outcome is committed |
| take-over | in the transaction that takes a dead run over |
| rewind | in the transaction that rewinds the memory |
"""

import os
import signal
import threading
from dataclasses import dataclass
from functools import cache

from django.conf import settings

from runs.errors import ConfigurationError

POINTS = (
    "before-intent",
    "after-intent",
    "during-call",
    "after-call",
    "after-outcome",
    "take-over",
    "rewind",
)
DURING_SECONDS = 0.1


@dataclass(frozen=True)
class FaultPoint:
    """Where to die, for which tool ('' for any), and how: kill or exit."""

    point: str
    tool: str = ""
    how: str = "kill"


@cache
def armed() -> FaultPoint | None:
    """The point that the environment arms. Raises ConfigurationError for one that there is not, or outside practice."""
    text = os.environ.get("STALWART_FAULT_POINT", "")
    return parse(text) if text else None


def parse(text: str) -> FaultPoint:
    """`point`, `point:tool` or `point:tool:how`. Raises ConfigurationError."""
    if not settings.FAULTS_ALLOWED:
        raise ConfigurationError("Fault points are for practice: set STALWART_FAULTS=1 to allow them.")
    point, _, rest = text.partition(":")
    tool, _, how = rest.partition(":")
    if point not in POINTS or how not in ("", "kill", "exit"):
        raise ConfigurationError(f"There is no fault point {text!r}; there are: {', '.join(POINTS)}.")
    return FaultPoint(point, tool, how or "kill")


def reach(point: str, tool: str = "") -> None:
    """This place was reached: die here if it is the armed one."""
    here = armed()
    if here and here.point == point and here.tool in ("", tool):
        if point == "during-call":
            threading.Timer(DURING_SECONDS, _die, [here.how]).start()
        else:
            _die(here.how)


def _die(how: str) -> None:
    if how == "exit":
        os._exit(137)
    os.kill(os.getpid(), signal.SIGKILL)
