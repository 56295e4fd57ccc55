"""A handover in words: for its page, for its line in the list, and as text for paper or a terminal.

Plain data, worded from rows that were read before: the ticket (runs/handover.py) and what people did with it.
"""

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

from approvals.handovers import Handover
from approvals.models import Note
from runs.agentfile import AgentSpec, spec_of
from runs.handover import Parts, parts_of, ticket_of
from runs.loading import is_halted
from runs.models import Run, Step
from runs.views.looks import DONE, RUNNING, WAITING, Look
from runs.views.moments import exact

LOOKS = {
    "open": Look("open", *WAITING),
    "claimed": Look("claimed", *RUNNING),
    "resolved": Look("resolved", *DONE),
}
REASONS = {
    "run_died_mid_sequence": "the run died mid-sequence",
    "undo_stuck": "an undo was given up",
    "failed": "a step failed",
    "refused": "a call was refused",
    "not_performed": "a call did not take effect",
    "cancelled": "the run was cancelled",
    "late_outcome": "a call turned out to have happened after all",
    "reconcile_conflict": "the world contradicts the record",
    "internal_error": "an internal error",
    "agent_gone": "no worker knows its agent",
    "not_read": "nobody read the turn",
    "model_limit": "its model was asked too often",
}
NUMBERS = [
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
]
WIDTH = 80


@dataclass(frozen=True)
class Line:
    """One write of a ticket. `undo` says whether it can be taken back; `step` is its row."""

    step: Step
    tool: str
    detail: str = ""
    at: datetime | None = None
    undo: str = ""
    by: str = ""
    key: str = ""

    @property
    def stays(self) -> bool:
        """Nothing takes it back."""
        return self.undo == CANNOT


CAN, CANNOT = "can be undone", "cannot be undone"


@dataclass(frozen=True)
class HandoverPage:
    """Everything that the page of a handover shows."""

    handover: Handover
    look: Look
    title: str
    reason: str
    ticket: dict[str, Any]
    not_done: tuple[Line, ...]
    completed: tuple[Line, ...]
    undone: tuple[Line, ...]
    unknown: tuple[Line, ...]


def word(handover: Handover) -> HandoverPage:
    """The handover in words. Reads the run's steps, in one query."""
    run, spec = handover.run, spec_of(handover.run.thread.agent)
    steps = list(run.steps.select_related("entry", "undoes").order_by("number"))
    parts, ticket = parts_of(steps, spec), ticket_of(run, steps, spec)
    return HandoverPage(
        handover=handover,
        look=LOOKS[handover.state],
        title=title_of(run, parts),
        reason=reason_of(run),
        ticket=ticket,
        not_done=tuple(_lines(parts.not_done, ticket["not_done"])),
        completed=tuple(_lines(parts.done, ticket["completed"])),
        undone=tuple(_lines(parts.undone, ticket["undone"])),
        unknown=tuple(_lines(parts.unknown, ticket["unknown"])),
    )


def _lines(steps: Sequence[Step], items: Sequence[dict[str, Any]]) -> Iterator[Line]:
    for step, item in zip(steps, items, strict=True):
        yield Line(
            step=step,
            tool=item["tool"],
            detail=item.get("detail") or item.get("asked") or "",
            at=step.ended_at if "at" in item else None,
            undo=_undo_words(item["reversible"]) if "reversible" in item else "",
            by=item.get("by", ""),
            key=item.get("key") or "",
        )


def _undo_words(reversible: bool | str) -> str:
    """`can be undone until collection`."""
    if isinstance(reversible, str):
        return f"{CAN} {reversible}"
    return CAN if reversible else CANNOT


def reason_of(run: Run) -> str:
    """Why a person takes over; with what is known of it, where the rows of the steps do not say it."""
    words = REASONS.get(run.handover_reason, run.handover_reason.replace("_", " "))
    detail = run.stop.get("detail", "") if is_halted(run) and run.stop else run.trouble
    return f"{words}: {detail}" if detail else words


def title_of(run: Run, parts: Parts) -> str:
    """`Order SU-90317: two done, one not`."""
    counted = [
        (len(parts.done), "done"),
        (len(parts.undone), "undone"),
        (len(parts.not_done), "not" if parts.done else "not done"),
        (len(parts.unknown), "unknown"),
    ]
    said = [f"{_number(count)} {what}" for count, what in counted if count]
    return f"{_subject(run)}: {', '.join(said) or 'nothing done'}"


def _subject(run: Run) -> str:
    if run.subject:
        return run.subject[0].upper() + run.subject[1:] if " " in run.subject else f"Order {run.subject}"
    return f"Ticket {run.ticket}" if run.ticket else run.name


def _number(count: int) -> str:
    return NUMBERS[count] if count < len(NUMBERS) else f"{count:,}"


def facts_of(run: Run, steps: Iterable[Step], spec: AgentSpec) -> tuple[str, str]:
    """The title of a handover, and what happened to which tools, for a list."""
    parts = parts_of(steps, spec)
    named = [
        (parts.done, "done"),
        (parts.undone, "undid"),
        (parts.not_done, "not done"),
        (parts.unknown, "unknown"),
    ]
    said = [f"{_tools(found)} {what}" for found, what in named if found]
    return title_of(run, parts), " · ".join(said)


def _tools(steps: Sequence[Step]) -> str:
    names = list(dict.fromkeys(step.tool for step in steps))
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


# --- As text ------------------------------------------------------------------------------------------


def as_text(page: HandoverPage) -> str:
    """The whole handover on paper: 80 columns, no colour, every list said to be empty where it is."""
    return "\n".join(_text(page)) + "\n"


def _text(page: HandoverPage) -> Iterator[str]:
    run = page.handover.run
    yield f"HANDOVER {page.ticket['ticket_id']}"
    yield from _wrapped(page.title)
    yield from _wrapped(f"Run {run.name} of {run.thread.agent}, conversation of {run.thread.user}")
    yield from _wrapped(f"Opened {_when(run.handover_at)}: {page.reason} ({run.handover_reason})")
    yield from _wrapped(_status(page.handover))
    yield from _block("The customer was told", [page.ticket["customer_told"]])
    yield from _block("Next action", [page.ticket["next_action"] or "none is known"])
    yield from _block("Not done", [f"[ ] {line.tool}: {line.detail}" for line in page.not_done])
    yield from _block(
        "Completed", [f"{_at(line)}  {line.tool}: {line.detail} ({line.undo})" for line in page.completed]
    )
    yield from _block("Undone", [f"{_at(line)}  {line.tool} by {line.by}" for line in page.undone])
    yield from _block("Unknown", [f"{line.tool}: {line.detail} Key {line.key}" for line in page.unknown])
    yield from _block("Notes", [_note(note) for note in page.handover.notes])


def _status(handover: Handover) -> str:
    claim = handover.claim
    if claim is None:
        return "Open: nobody has claimed it"
    if claim.resolved_at is None:
        return f"Claimed by {claim.by}, {_when(claim.at)}"
    return f"Resolved by {claim.by}, {_when(claim.resolved_at)}: {claim.done}"


def _note(note: Note) -> str:
    return f"{_when(note.at)}, {note.by}: {note.text}"


def _block(heading: str, lines: list[str]) -> Iterator[str]:
    yield ""
    yield heading.upper()
    for line in lines or ["none"]:
        yield from _wrapped(line, "  ")


def _wrapped(text: str, indent: str = "") -> Iterator[str]:
    """Words are never broken: an id stays whole. What somebody wrote in lines stays in lines."""
    for number, line in enumerate(text.splitlines()):
        yield from textwrap.wrap(
            line,
            WIDTH,
            initial_indent=indent + "  " if number else indent,
            subsequent_indent=indent + "  ",
            break_long_words=False,
            break_on_hyphens=False,
        )


def _at(line: Line) -> str:
    return f"{timezone.localtime(line.at):%Y-%m-%d %H:%M:%S %Z}" if line.at else "(time not known)"


def _when(moment: datetime | None) -> str:
    return exact(moment) if moment else ""
