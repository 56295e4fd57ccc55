"""The pages of handovers: the list, and one with its ticket, its notes, and who takes care of it.

A form is sent to the handover's own address. What comes back is the part that it stands in (htmx), or the whole
page (without scripts), from the same templates.
"""

from collections.abc import Callable
from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from approvals import handover_shapes, handovers
from approvals.handover_list import KINDS, listing
from approvals.handover_words import HandoverPage, as_text, word
from runs.access import may_operate, may_see
from runs.errors import BadInput, NotFound, Problem
from runs.models import Run
from runs.views.rules import PageRequest, page, wants_part
from runs.views.shell import render_page, tallies

DID = {
    "claim": "You have it now.",
    "release": "Released: somebody else can claim it.",
    "resolve": "Resolved.",
    "note": "The note is kept.",
}


@page(may_see)
def handover_list(request: PageRequest) -> HttpResponse:
    """The handovers: the open ones, where nothing else is asked for."""
    found = listing(request.GET.get("kind", "open"), request.actor, request.GET.get("after", ""))
    return render_page(
        request, "approvals/handovers.html", {"listing": found, "kinds": KINDS}, area="handovers"
    )


@page(may_see, "GET", "POST")
def handover_page(request: PageRequest, run_id: int) -> HttpResponse:
    """One handover; `?format=text` is for paper, `?format=json` for programs. Sending a form acts."""
    if request.method == "POST":
        return _act(request, handovers.read(run_id).run)
    shown = word(handovers.read(run_id))
    match request.GET.get("format"):
        case "text":
            return HttpResponse(as_text(shown), content_type="text/plain; charset=utf-8")
        case "json":
            text = handover_shapes.whole(shown).model_dump_json(indent=2)
            return HttpResponse(text + "\n", content_type="application/json")
    did = request.GET.get("did", "")
    return _respond(request, shown, {"did": did if did in DID else "", "announce": DID.get(did, "")})


# --- The forms ----------------------------------------------------------------------------------------


def _claim(request: PageRequest, run: Run) -> None:
    handovers.claim(request.actor, run)


def _release(request: PageRequest, run: Run) -> None:
    handovers.release(request.actor, run)


def _resolve(request: PageRequest, run: Run) -> None:
    handovers.resolve(request.actor, run, request.POST.get("done", ""))


def _note(request: PageRequest, run: Run) -> None:
    handovers.note(request.actor, run, request.POST.get("text", ""))


VERBS: dict[str, Callable[[PageRequest, Run], None]] = {
    "claim": _claim,
    "release": _release,
    "resolve": _resolve,
    "note": _note,
}


def _act(request: PageRequest, run: Run) -> HttpResponse:
    """Do what was asked, or say why not; the typed words are kept."""
    verb = request.POST.get("do", "")
    try:
        if verb not in VERBS:
            raise BadInput(f"A handover takes: {', '.join(VERBS)}.")
        VERBS[verb](request, run)
    except NotFound:
        raise
    except Problem as problem:
        # What somebody else did meanwhile is shown as it is now.
        said = {"problem": problem, "refused": verb, "typed": request.POST, "announce": str(problem)}
        return _respond(request, word(handovers.read(run.pk)), said, problem.status)
    return redirect(reverse("handover", args=[run.pk], query={"did": verb}))


def _respond(
    request: PageRequest, shown: HandoverPage, said: dict[str, Any], status: int = 200
) -> HttpResponse:
    """The part that htmx asked for, or the whole page."""
    context = _facts(request, shown) | said
    if not wants_part(request):
        context["panel"] = {"announce": context.get("announce", "")}
        return render_page(request, "approvals/handover.html", context, status=status, area="handovers")
    part = "notes" if request.htmx.target == "handover-notes" else "panel"
    context |= {"is_part": True, "tallies": tallies()}
    return render(request, f"approvals/handover_{part}.html", context, status=status)


def _facts(request: PageRequest, shown: HandoverPage) -> dict[str, Any]:
    handover = shown.handover
    return {
        "page": shown,
        "run": handover.run,
        "claim": handover.claim,
        "state": handover.state,
        "is_mine": handover.is_held_by(request.actor),
        "may_release": handover.is_held_by(request.actor) or may_operate(request.actor),
    }
