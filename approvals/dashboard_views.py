"""The page of the dashboard."""

from django.http import HttpResponse

from approvals.dashboard import WINDOWS, dashboard
from runs.access import may_see
from runs.views.rules import PageRequest, page
from runs.views.shell import render_page


@page(may_see)
def dashboard_page(request: PageRequest) -> HttpResponse:
    """`?days=` is one of WINDOWS; anything else is a week."""
    asked = request.GET.get("days", "")
    days = int(asked) if asked in map(str, WINDOWS) else 7
    context = {"board": dashboard(days), "windows": WINDOWS}
    return render_page(request, "approvals/dashboard.html", context, area="dashboard")
