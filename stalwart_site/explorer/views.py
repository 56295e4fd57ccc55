"""The explorer's page: one address for each of the six cases. To look at a case is to carry it out."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect

from runs.access import may_see
from runs.errors import Conflict, NotFound
from runs.views.looks import Look
from runs.views.rules import PageRequest, page
from runs.views.shell import render_page
from stalwart_site.explorer.cases import ACTION, APPROVER, CASES, SHOWN_FIRST, TICKET, Case, Told, play
from stalwart_site.explorer.sandbox import Stop

AT_ONCE = 2  # cases that this process carries out at the same time
PATIENCE = 2.0  # seconds
_places = threading.BoundedSemaphore(AT_ONCE)

STOPS = {Stop.BEFORE: "before the write", Stop.DURING: "during the call", Stop.AFTER: "after the write"}
RESUMES = {True: "with the key", False: "without, as a new request"}
ENGINE, MADE_UP = (
    Look("the engine", "done", "shield"),
    Look("a client made for this page", "waiting", "warning"),
)
PARTS = {
    "write": Look("write", "running", "next"),
    "stop": Look("stop", "failed", "cross"),
    "checkpoint": Look("checkpoint", "quiet", "planned"),
    "resume": Look("resume", "undone", "return"),
    "reconcile": Look("reconcile", "unknown", "unknown"),
    "end": Look("end", "done", "tick"),
}
WITH_THE_KEY = {
    Stop.BEFORE: "The process stopped before anything had left; the resume asks about the key, hears that nothing "
    "happened, and sends the refund under that same key.",
    Stop.DURING: "The refund was made and its answer was lost; the engine asks about the key, finds the refund and "
    "records it, and does not call again.",
    Stop.AFTER: "The refund was made, then the process stopped; the record holds the key of a call without an "
    "outcome, so the resume asks first, finds the refund and records it.",
}
WITHOUT = {
    Stop.BEFORE: "Nothing had been written when the process stopped, so to send the refund again did no harm; but "
    "the client could not know that: it was lucky.",
    Stop.DURING: "The refund was made and only its answer was lost; sent again as a new request it is a new refund, "
    "for the service cannot know that the two mean the same.",
    Stop.AFTER: "The refund was made, then the process stopped; the record still says “not done”, and without a key "
    "there is nothing to ask about, so the resume sends it again.",
}


class Busy(Conflict):
    """Others are looking at cases here; look again in a moment."""

    type = "busy"
    title = "The explorer is busy"


@page(may_see)
def explorer(request: PageRequest) -> HttpResponse:
    """To the case that shows the danger best."""
    return redirect("explorer-case", SHOWN_FIRST.stop.value, SHOWN_FIRST.resume)


@page(may_see)
def explorer_case(request: PageRequest, stop: str, resume: str) -> HttpResponse:
    """One case, carried out now. Raises NotFound, Busy."""
    case = CASES.get((stop, resume))
    if case is None:
        raise NotFound("There is no such case; there are six.")
    with _turn():
        told = play(case)
    return render_page(request, "explorer/case.html", _facts(told), area="explorer")


@contextmanager
def _turn() -> Iterator[None]:
    """One of the few places; a moment is waited for one. Raises Busy."""
    if not _places.acquire(timeout=PATIENCE):
        raise Busy
    try:
        yield
    finally:
        _places.release()


def _facts(told: Told) -> dict[str, Any]:
    case, is_twice = told.case, len(told.refunds) > 1
    key = "with the key" if case.keyed else "without the key"
    title = f"{STOPS[case.stop].capitalize()}, {key}: refunded {'twice' if is_twice else 'once'}"
    return {
        "told": told,
        "case": case,
        "title": title,
        "look": ENGINE if case.keyed else MADE_UP,
        "why": (WITH_THE_KEY if case.keyed else WITHOUT)[case.stop],
        "is_twice": is_twice,
        "events": [(PARTS[line.part], line) for line in told.lines],
        "stops": [(words, Case(stop, case.keyed)) for stop, words in STOPS.items()],
        "resumes": [(words, Case(case.stop, keyed)) for keyed, words in RESUMES.items()],
        "ticket": TICKET,
        "args": ACTION.args,
        "tool": ACTION.tool,
        "approver": APPROVER.name,
        "panel": {"announce": f"{title}. The customer gets {told.paid}."},
    }
