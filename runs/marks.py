"""Which arguments of a call others wrote: values that came from a tool's result, or from a customer's message.

No model guesses here: what stands in a text that others wrote is found by comparing.

| an argument | is marked where such a text has |
| --- | --- |
| text | all of it, or 12 characters or 3 words of it in a row; capitals and white space count for nothing |
| a number, an amount | a number of the same value |

A mark is `loose` where the value was taken out of a longer text: whoever wrote that text chose it. A field that stands
by itself, such as an id that one tool hands to the next, is not loose, and neither is what the turn itself says. A
default of the tool is not marked, nor a field by itself that the turn says too.
"""

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from typing import Any

from runs import redaction
from runs.agentfile import AgentSpec
from runs.models import Message, Step
from runs.states import STEP_ENDS
from runs.transitions import Held

CHARACTERS, WORDS = 12, 3  # in a row
SHORTEST = 4  # characters of a value that is looked for inside a longer text
NEWEST = 200  # results of earlier runs that are looked through, and customers' messages
CUSTOMER = "customer"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
IN_TEXT = re.compile(r"(?<!\w)\d(?:[\d.,]*\d)?(?!\w)")
WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Mark:
    """`argument` is its JSON pointer, `part` what was found; in what `tool` returned as `step`, or a customer wrote.

    `whole`: all of the argument. `loose`: taken out of a longer text that others wrote.
    """

    argument: str
    part: str
    tool: str
    step: int | None
    whole: bool
    loose: bool

    def as_json(self) -> dict[str, Any]:
        """As it is stored with the question."""
        return asdict(self)


@dataclass(frozen=True)
class Source:
    """A value that others wrote."""

    tool: str
    step: int | None
    value: str


def marks_of(held: Held, step: Step, spec: AgentSpec) -> list[Mark]:
    """The marks of one call, by argument; one for each argument that others wrote, the loosest."""
    arguments = list(_leaves(_chosen(step, spec)))
    sources = list(_sources(held, step, spec)) if arguments else []
    turn = " ".join(_turns(held)) if sources else ""
    found = (_mark(pointer, value, sources, turn) for pointer, value in arguments)
    hidden = redaction.hidden_of(step, spec)
    return [_shown(mark, hidden) for mark in found if mark]


def _shown(mark: Mark, hidden: Collection[str]) -> Mark:
    """What is not to be shown of the call is not shown in its mark."""
    names = mark.argument.split("/")
    return replace(mark, part=redaction.REDACTED) if any(name in hidden for name in names) else mark


def warning(marks: Iterable[Mark]) -> list[str]:
    """The line over a question whose call holds what others wrote."""
    loose = [f"{mark.argument[1:]} ({_origin(mark)})" for mark in marks if mark.loose]
    return [f"Others wrote what stands in {', '.join(loose)}: read it before you approve."] if loose else []


def _origin(mark: Mark) -> str:
    return "a customer's message" if mark.tool == CUSTOMER else f"the result of {mark.tool}, step {mark.step}"


def _chosen(step: Step, spec: AgentSpec) -> dict[str, Any]:
    """The arguments that are not the tool's own defaults."""
    tool = spec.catalogue.get(step.tool)
    fields = tool.arguments.model_fields if tool else {}
    defaults = {name: str(field.default) for name, field in fields.items() if not field.is_required()}
    return {name: value for name, value in step.args.items() if str(value) != defaults.get(name)}


def _leaves(value: Any, pointer: str = "") -> Iterator[tuple[str, str]]:
    """Every text and number in a JSON value, as text, with its JSON pointer."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _leaves(item, f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _leaves(item, f"{pointer}/{index}")
    elif isinstance(value, str | int | float) and not isinstance(value, bool) and str(value).strip():
        yield pointer, str(value)


def _sources(held: Held, step: Step, spec: AgentSpec) -> Iterator[Source]:
    """Everything that others wrote and that was there before this call, the newest first.

    No model is given what a result hides, so nothing can have been taken from that.
    """
    thread, run = held.run.thread_id, held.run.pk
    before = [one for one in held.steps if one.number < step.number and one.state in STEP_ENDS]
    earlier = Step.objects.filter(thread=thread, undoes=None, entry__isnull=False).exclude(run=run)
    for one in [*reversed(before), *earlier.select_related("entry").order_by("-number")[:NEWEST]]:
        if one.undoes_id is None:
            said = [redaction.result_of(one, spec), one.error]
            yield from (Source(one.tool, one.number, value) for _, value in _leaves(said))
    messages = Message.objects.filter(thread=thread, role=CUSTOMER).order_by("-pk")
    for text in messages.values_list("text", flat=True)[:NEWEST]:
        yield Source(CUSTOMER, None, text)


def _turns(held: Held) -> Iterable[str]:
    """What the user asked for in this run."""
    return Message.objects.filter(run=held.run, role="user").values_list("text", flat=True)


def _mark(pointer: str, value: str, sources: Iterable[Source], turn: str) -> Mark | None:
    """The loosest mark of one value."""
    found = (_found(pointer, value, source, turn) for source in sources)
    marks = [mark for mark in found if mark]
    return next((mark for mark in marks if mark.loose), next(iter(marks), None))


def _found(pointer: str, value: str, source: Source, turn: str) -> Mark | None:
    part, alone = _part_of(value, source.value)
    said = bool(part) and bool(_part_of(value, turn)[0] == _plain(value))
    if not part or (alone and said):
        return None
    whole = part == _plain(value)
    return Mark(pointer, part, source.tool, source.step, whole, loose=not (alone or said))


def _part_of(value: str, text: str) -> tuple[str, bool]:
    """What of a value stands in a text, '' for nothing; and whether the text is that alone, and no prose."""
    if NUMBER.fullmatch(value.strip()):
        return _number_in(value, text)
    mine, theirs = _plain(value), _plain(text)
    if mine == theirs:
        return mine, len(WORD.findall(mine)) < WORDS
    if len(mine) >= SHORTEST and re.search(rf"(?<!\w){re.escape(mine)}(?!\w)", theirs):
        return mine, False
    return _shared_characters(mine, theirs) or _shared_words(mine, theirs), False


def _number_in(value: str, text: str) -> tuple[str, bool]:
    mine = Decimal(value.strip())
    if NUMBER.fullmatch(text.strip()):
        return (_plain(value), True) if Decimal(text.strip()) == mine else ("", False)
    numbers = (number for found in IN_TEXT.findall(text) for number in _readings(found))
    return (_plain(value), False) if abs(mine) in numbers else ("", False)


def _readings(digits: str) -> Iterator[Decimal]:
    """1,250.00 and 1.250,00 are read as whoever wrote them may have meant them."""
    for thousands, point in ((",", "."), (".", ",")):
        plain = digits.replace(thousands, "").replace(point, ".")
        if NUMBER.fullmatch(plain):
            yield Decimal(plain)


def _plain(text: str) -> str:
    """Without what makes no difference: capitals and white space."""
    return " ".join(text.casefold().split())


def _shared_characters(mine: str, theirs: str) -> str:
    """The first stretch of 12 characters or more that both have, as long as it is."""
    rows = {theirs[start : start + CHARACTERS] for start in range(len(theirs) - CHARACTERS + 1)}
    starts = range(len(mine) - CHARACTERS + 1) if rows else ()
    start = next((start for start in starts if mine[start : start + CHARACTERS] in rows), None)
    if start is None:
        return ""
    ends = range(start + CHARACTERS, len(mine) + 1)
    longest = bisect_left(ends, 1, key=lambda end: int(mine[start:end] not in theirs))
    return mine[start : ends[longest - 1]].strip()


def _shared_words(mine: str, theirs: str) -> str:
    """The first three words in a row that both have."""
    words, others = WORD.findall(mine), f" {' '.join(WORD.findall(theirs))} "
    rows = (" ".join(words[start : start + WORDS]) for start in range(len(words) - WORDS + 1))
    return next((row for row in rows if f" {row} " in others), "")
