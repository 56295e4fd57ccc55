"""Every error the product raises on purpose. The docstring of a class is its message.

    StalwartError
    ├── ToolError                  what a tool says of its own call
    │   ├── Refused                the service said no; no effect
    │   ├── Unavailable            it never got there; no effect; may be sent again
    │   └── InDoubt                the effect may have happened
    ├── ConfigurationError         an agent file or a tool is wrong: file, line, what to do
    ├── AgentGone                  this process does not know the agent of a run, or cannot load it
    ├── Damaged                    a row of a run does not decode
    ├── HeldUp                     a run cannot be carried on now, and is tried again by itself
    ├── RewindWithPendingCompensation  something is left to undo, so nothing is forgotten
    ├── SagaError                  a program's saga (runs/saga.py)
    │   ├── SagaStopped            it takes no more steps
    │   ├── UndoNotBound           a step took effect, and nothing undoes it
    │   └── UndoFailed             one undo that failed
    └── Problem                    a caller asked for what cannot be; one HTTP status, one stable type
        ├── BadInput               422
        │   ├── NotRead  KeyReused
        │   │   └── TurnAmbiguous  (of NotRead)
        ├── NotAllowed             403
        ├── NotFound               404
        ├── Conflict               409
        │   ├── ThreadBusy  AlreadyAnswered  DigestMismatch  RunLeased  RunClosed  NotSettledYet  InProgress
        ├── Gone                   410
        └── ModelNotReady          503
    UndosFailed                    (ExceptionGroup) every UndoFailed of a saga
    LeaseLost                      (BaseException) this worker no longer holds the run

`LeaseLost` is a BaseException so that a tool's `except Exception` cannot swallow it.
Standard library only.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, Self


class StalwartError(Exception):
    """Something went wrong."""

    def __str__(self) -> str:
        return super().__str__() or (type(self).__doc__ or "")


class ToolError(StalwartError):
    """The call did not return a result."""

    def __init__(self, detail: str = "", *, cause: str = "", status: int = 0) -> None:
        super().__init__(detail)
        self.cause = cause  # the short name that people read, such as Timeout; '' means the class's own
        self.status = status  # of the HTTP answer; 0 where there was none


class Refused(ToolError):
    """The service refused the call; nothing happened, and the call is not sent again."""


class Unavailable(ToolError):
    """The service could not be reached; nothing happened, and the call may be sent again."""


class InDoubt(ToolError):
    """The call was sent and no answer came back; whether it took effect is not known."""


class ConfigurationError(StalwartError):
    """The configuration is wrong; the message names the file, the line and what to do."""


class AgentGone(StalwartError):
    """The agent of this run is not known here; deploy its agent file to the workers."""


class Damaged(StalwartError):
    """A row of this run does not decode; it is left as it is."""


class HeldUp(StalwartError):
    """The run cannot be carried on now; it is tried again by itself."""


class RewindWithPendingCompensation(StalwartError):
    """Something is left to undo: the model's memory is not rewound before that is done."""


class SagaError(StalwartError):
    """The saga cannot go on."""


class SagaStopped(SagaError):
    """The saga takes no more steps; what it did is undone."""


class UndoNotBound(SagaError):
    """The step took effect, and what it returned lacks what its undo needs."""


class UndoFailed(SagaError):
    """An undo failed, and a person is asked."""


class UndosFailed(ExceptionGroup[UndoFailed]):
    """Everything of a saga that is not undone, by name."""

    def derive(self, excs: Sequence[UndoFailed]) -> Self:  # type: ignore[override]
        """A part of it (PEP 654)."""
        return type(self)(self.message, excs)


class LeaseLost(BaseException):
    """Another worker holds this run now; what this one learns is written down as late."""


class Problem(StalwartError):
    """The request cannot be carried out.

    `type` is the stable last part of the problem type (RFC 9457), `field` a JSON pointer into the
    request or '', `extra` further members of the problem document.
    """

    status: ClassVar[int] = 400
    type: ClassVar[str] = "bad-request"
    title: ClassVar[str] = "The request cannot be carried out"

    def __init__(self, detail: str = "", *, field: str = "", **extra: Any) -> None:
        super().__init__(detail or (self.__doc__ or ""))
        self.field = field
        self.extra = extra


class BadInput(Problem):
    """What was sent is not valid; nothing was stored and nothing was sent."""

    status = 422
    type = "bad-input"
    title = "What was sent is not valid"


class NotRead(BadInput):
    """The turn was not read as a whole; nothing was done."""

    type = "turn-not-read"
    title = "The turn was not read"


class TurnAmbiguous(NotRead):
    """The turn can be read in more than one way; nothing was done. Send one of the readings.

    `extra["readings"]`: [{text: a turn that reads in that way alone, calls: [{tool, args, text}]}]; none where there
    are more than anybody can choose from.
    """

    type = "turn-ambiguous"
    title = "The turn can be read in more than one way"


class KeyReused(BadInput):
    """This Idempotency-Key was used with another body; use a new key for another request."""

    type = "key-reused"
    title = "The key was used with another body"


class NotAllowed(Problem):
    """You may not do this."""

    status = 403
    type = "not-allowed"
    title = "Not allowed"


class NotFound(Problem):
    """There is no such thing here."""

    status = 404
    type = "not-found"
    title = "Not found"


class Conflict(Problem):
    """The state changed; look again before you decide."""

    status = 409
    type = "conflict"
    title = "The state changed"


class ThreadBusy(Conflict):
    """This conversation waits for its open run; answer or cancel that first."""

    type = "thread-busy"
    title = "The conversation waits for something else"


class ModelNotReady(Problem):
    """The model cannot be asked from here: install its provider, or set its key; nothing was stored or sent."""

    status = 503
    type = "model-not-ready"
    title = "The model cannot be asked"


class InProgress(Conflict):
    """The first request with this Idempotency-Key is still in progress; ask again in a moment."""

    type = "in-progress"
    title = "Still in progress"


class AlreadyAnswered(Conflict):
    """Somebody else answered this question first."""

    type = "already-answered"
    title = "Already answered"


class DigestMismatch(Conflict):
    """The call changed since it was shown; nothing was sent. Read the new version and decide again."""

    type = "digest-mismatch"
    title = "The call changed"


class NotSettledYet(Conflict):
    """The call can still be on the wire; look again at the time given before you say it did not happen."""

    type = "not-settled-yet"
    title = "Too early to say"


class RunLeased(Conflict):
    """A live worker holds this run; nothing was changed."""

    type = "run-leased"
    title = "The run is being carried out"


class RunClosed(Conflict):
    """This run is closed; start a new one."""

    type = "run-closed"
    title = "The run is closed"


class Gone(Problem):
    """This question was withdrawn; there is nothing left to answer."""

    status = 410
    type = "gone"
    title = "The question was withdrawn"
