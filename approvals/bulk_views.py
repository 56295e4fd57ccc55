"""The pages of approving several calls together: what was ticked, once more, and what came of each.

The first form shows and decides nothing. The second one approves; then its results are an address of their own, so
that a reload does nothing again.
"""

import secrets

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from approvals import bulk, needs_you
from approvals.bulk import Pick
from approvals.models import Bulk
from runs.access import may_see
from runs.views.rules import PageRequest, page, wants_part
from runs.views.shell import render_page


@page(may_see, "GET", "POST")
def together(request: PageRequest) -> HttpResponse:
    """What was ticked, call by call; sent once more with a nonce, they are approved. A GET goes to the list."""
    if request.method == "GET":
        return redirect("needs-you")
    picks = bulk.read(request.POST.getlist("pick"))
    if request.POST.get("do") == "approve":
        stored = bulk.approve(
            request.actor, request.POST.get("nonce", ""), picks, request.POST.get("reason", "").strip()
        )
        return redirect(reverse("came-of-it", args=[stored.nonce]))
    return _last_look(request, picks)


def _last_look(request: PageRequest, picks: tuple[Pick, ...]) -> HttpResponse:
    lines = bulk.lines(request.actor, picks)
    nonce = secrets.token_urlsafe(16)
    context = {
        "sent": [line for line in lines if not line.why_not],
        "left_out": [line for line in lines if line.why_not],
        "nonce": nonce,
        "check": reverse("came-of-it", args=[nonce]),
    }
    return render_page(request, "approvals/together.html", context, area="needs-you")


@page(may_see)
def came_of_it(request: PageRequest, nonce: str) -> HttpResponse:
    """What came of each row; the table alone for its poll. Also where nothing of it was recorded."""
    stored = Bulk.objects.filter(nonce=nonce[:40]).first()
    rows = bulk.results(stored) if stored else []
    context = {
        "bulk": stored,
        "results": rows,
        "approved": sum(1 for row in rows if row.now),
        "following": needs_you.Filters().rows(request.actor).first(),
    }
    if wants_part(request):
        return render(request, "approvals/results.html", context)
    return render_page(request, "approvals/came_of_it.html", context, area="needs-you")
