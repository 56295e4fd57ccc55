"""What the engine can be told to do next. Few, and named. Standard library only."""

from dataclasses import dataclass
from datetime import datetime

from runs.states import RunState, StepState


@dataclass(frozen=True, slots=True)
class Check:
    """Ask the rulebook about this step, here and now."""

    step: int


@dataclass(frozen=True, slots=True)
class Ask:
    """Park this step as a question: confirm, outcome or undo."""

    step: int
    kind: str


@dataclass(frozen=True, slots=True)
class Decide:
    """Ask the run's model what is called next: this step becomes that call; None: a step is added for it."""

    step: int | None = None


@dataclass(frozen=True, slots=True)
class Send:
    """Record the intent of this step, commit, and call its tool."""

    step: int


@dataclass(frozen=True, slots=True)
class LookUp:
    """Ask the service, by the key, what became of this step."""

    step: int


@dataclass(frozen=True, slots=True)
class Settle:
    """Move this step to a state that follows from an answer or from what was learnt."""

    step: int
    state: StepState


@dataclass(frozen=True, slots=True)
class Undo:
    """Bind and add the step that undoes this one."""

    step: int


@dataclass(frozen=True, slots=True)
class RollBack:
    """Stop going forward: `kind` says why.

    failed, refused, not_performed, cancelled, cancel_all, died, model_limit, undo, late.
    """

    kind: str
    step: int | None = None


@dataclass(frozen=True, slots=True)
class Rewind:
    """Take the run's messages out of the model's memory; add one summary."""


@dataclass(frozen=True, slots=True)
class HandOver:
    """Undo nothing; open a ticket for a person."""

    kind: str
    step: int | None = None


@dataclass(frozen=True, slots=True)
class Finish:
    """End the run."""

    state: RunState


@dataclass(frozen=True, slots=True)
class Wait:
    """Let the run go: for a person, for its agent, for somebody else's call, or until a time."""

    on: str  # person | agent | call | time | nothing
    until: datetime | None = None


Action = Decide | Check | Ask | Send | LookUp | Settle | Undo | RollBack | Rewind | HandOver | Finish | Wait
