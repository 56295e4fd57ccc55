"""Whether the rows of a run are in the shapes that the code reads; otherwise the run is not carried on (S3)."""

from collections.abc import Iterable

from runs.errors import Damaged
from runs.fields import UnreadableList, UnreadableObject
from runs.models import Run, Step

_UNREADABLE = (UnreadableObject, UnreadableList)
_NAMES = {
    "args": "arguments",
    "answer_data": "answer",
    "covers": "covered steps",
    "warnings": "warnings",
    "marks": "marks",
}


def damage_of(step: Step) -> str:
    """`the arguments of step 3 do not decode`; '' where all of them do."""
    for name, word in _NAMES.items():
        if isinstance(getattr(step, name), _UNREADABLE):
            return f"the {word} of step {step.number} do not decode"
    return ""


def refuse_damage(run: Run, steps: Iterable[Step]) -> None:
    """Raises Damaged, which names the first row that does not decode."""
    if isinstance(run.faults, _UNREADABLE):
        raise Damaged("the practice faults of the run do not decode")
    if isinstance(run.unread, _UNREADABLE):
        raise Damaged("what was not read of the turn does not decode")
    for step in steps:
        if damage := damage_of(step):
            raise Damaged(damage)
