"""What a failure leaves: of a run that asks a question, and of a plan that has not begun. One function says it for all.

Plain data and words, from steps in memory: nothing here queries the database.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from runs.agentfile import AgentSpec
from runs.models import Step
from runs.views.calls import sentence_of, undo_words


@dataclass(frozen=True)
class Write:
    """A write that is in effect when something fails. `by` is the tool that would undo it; '' where it stays."""

    number: int
    sentence: str
    by: str


@dataclass(frozen=True)
class Left:
    """What a failure would undo, latest first, and what it would leave.

    `fails` is the number of the step that fails, None for the one that is looked at, whose number is `this`.
    """

    fails: int | None
    undone: tuple[Write, ...]
    stays: tuple[Write, ...]
    this: int = 0
    kept: bool = False  # this agent's runs are not undone by themselves: a person takes over

    @property
    def undone_words(self) -> str:
        """`If step 3 fails: “Charge 40.00 to order 4411” is undone by refund_card`."""
        when = f"If step {self.fails} fails" if self.fails else "If this step fails"
        return f"{when}: {self.effect}"

    @property
    def effect(self) -> str:
        """`“Charge 40.00 to order 4411” is undone by refund_card`."""
        if not self.undone and not self.stays:
            return "nothing is left, as nothing was changed"
        if self.kept:
            return "nothing is undone by itself, and the run is handed over to a person"
        names = [f"{self._name(write)} is undone by {write.by}" for write in self.undone]
        return ", then ".join(names) or "nothing is undone"

    @property
    def stays_words(self) -> str:
        """`“Send the receipt for order 4411” stays done`; '' where nothing would stay."""
        names = [self._name(write) for write in self.stays]
        if len(names) < 2:
            return f"{names[0]} stays done" if names else ""
        return f"{', '.join(names[:-1])} and {names[-1]} stay done"

    @property
    def words(self) -> str:
        """Both, as one sentence."""
        return f"{', and '.join(part for part in (self.undone_words, self.stays_words) if part)}."

    def _name(self, write: Write) -> str:
        return "this step" if write.number == self.this else f"“{write.sentence}”"


def left_if_it_fails(
    writes: Iterable[Step], spec: AgentSpec, *, kept: bool, fails: int | None = None, this: int = 0
) -> Left:
    """What becomes of these writes, which are in effect when a step fails."""
    found = [
        Write(write.number, sentence_of(write, spec), "" if kept else undo_words(write, spec).tool)
        for write in sorted(writes, key=lambda step: -step.number)
    ]
    undone, stays = tuple(w for w in found if w.by), tuple(w for w in found if not w.by)
    return Left(fails, undone, stays, this, kept)
