"""A handover as it is sent: over the API, as the page's export, and by the command. The same members everywhere."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from approvals import models
from approvals.handover_words import HandoverPage
from approvals.handovers import MAX_TEXT, Handover, State
from runs.api.bodies import Body, Query
from runs.api.shapes import Id, Out
from runs.api.showing import address, run_address

# --- In -----------------------------------------------------------------------------------------------


class HandoversQuery(Query):
    """Which handovers."""

    cursor: str | None = Field(
        default=None,
        pattern=r"^(open|claimed|resolved)-[0-9]{1,15}$",
        description="The `next` of the page before.",
    )
    limit: int = Field(default=20, ge=1, le=100, description="How many, at most.")
    state: State | None = None


class NewNote(Body):
    """What to write down beside the handover."""

    text: str = Field(min_length=1, max_length=MAX_TEXT, examples=["The buyer is called back at 15:00."])


class Resolution(Body):
    """What was done."""

    done: str = Field(min_length=1, max_length=MAX_TEXT, examples=["Refunded $14.95 by hand, rf_22."])


# --- Out ----------------------------------------------------------------------------------------------


class Completed(Out):
    """A write that took effect."""

    tool: str = Field(examples=["start_return"])
    at: str = Field(description="In the site's time zone.", examples=["14:03:51"])
    detail: str = Field(examples=["label RL-7734, courier pickup booked Fri 20 Mar"])
    reversible: Annotated[
        bool | str,
        Field(description="true, false, or until when.", examples=["until collection"]),
    ]


class NotDone(Out):
    """A write that did not take effect."""

    tool: str = Field(examples=["issue_refund"])
    detail: str = Field(examples=["$14.95 expedited delivery fee"])


class UndoneWrite(Out):
    """A write that was undone."""

    tool: str
    by: str = Field(description="The tool that undid it.")
    at: str


class UnknownWrite(Out):
    """A call of which nobody knows whether it took effect."""

    tool: str
    key: str | None = Field(description="The idempotency key to ask the service about.")
    asked: str = Field(description="The question that waits for a person.")


class ClaimedBy(Out):
    """Who takes care of it."""

    by: str = Field(examples=["Ana Ferreira"])
    at: datetime


class ResolvedBy(Out):
    """Who closed it, and what was done."""

    by: str = Field(examples=["Ana Ferreira"])
    at: datetime
    done: str


class HandoverNote(Out):
    """What somebody noted."""

    by: str = Field(examples=["Ana Ferreira"])
    at: datetime
    text: str


class HandoverLinks(Out):
    """Addresses."""

    self: str
    run: str


class HandoverSummary(Out):
    """A handover without its lists."""

    run: Id
    ticket_id: str = Field(description="The ticket, or the run's own id.", examples=["T-40912"])
    order_id: str = Field(description="What it is about: the run's subject.", examples=["SU-90317"])
    reason: str = Field(examples=["run_died_mid_sequence"])
    state: Literal["open", "claimed", "resolved"]
    opened_at: datetime
    claim: ClaimedBy | None
    resolution: ResolvedBy | None
    links: HandoverLinks


class HandoverOut(HandoverSummary):
    """A handover: what was done, what was not, what the customer knows, what to do next."""

    completed: list[Completed]
    not_done: list[NotDone]
    undone: list[UndoneWrite]
    unknown: list[UnknownWrite]
    customer_told: str = Field(examples=["Return label sent. No refund was mentioned."])
    next_action: str
    notes: list[HandoverNote] = Field(description="Oldest first.")


class Handovers(Out):
    """The open ones first, then the claimed, then the resolved; the oldest run first in each."""

    items: list[HandoverSummary]
    next: str | None = Field(
        description="The `cursor` of the next page; null at the end.", examples=["open-1042"]
    )


# --- From rows ----------------------------------------------------------------------------------------


def summary(handover: Handover) -> HandoverSummary:
    """A handover, short."""
    return HandoverSummary(**_common(handover))


def whole(page: HandoverPage) -> HandoverOut:
    """A handover with its ticket, field by field, and its notes."""
    notes = [HandoverNote(by=note.by, at=note.at, text=note.text) for note in page.handover.notes]
    return HandoverOut(**page.ticket | _common(page.handover), notes=notes)


def _common(handover: Handover) -> dict[str, Any]:
    run, claim = handover.run, handover.claim
    return {
        "run": run.name,
        "ticket_id": run.ticket or run.name,
        "order_id": run.subject,
        "reason": run.handover_reason,
        "state": handover.state,
        "opened_at": run.handover_at,
        "claim": ClaimedBy(by=claim.by, at=claim.at) if claim else None,
        "resolution": _resolution(claim),
        "links": HandoverLinks(self=address("handover", run=run.pk), run=run_address(run)),
    }


def _resolution(claim: models.Claim | None) -> ResolvedBy | None:
    if claim is None or claim.resolved_at is None:
        return None
    return ResolvedBy(by=claim.by, at=claim.resolved_at, done=claim.done)
