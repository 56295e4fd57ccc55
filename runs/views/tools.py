"""The pages before launch: the tools of each agent and what is said of them, and a plan that is tried."""

from collections.abc import Sequence

from django.http import HttpResponse

from runs.access import may_plan, may_see
from runs.agentfile import AgentSpec, agents
from runs.errors import NotAllowed, NotFound, Problem, StalwartError
from runs.models import Thread
from runs.plan import PlannedCall, plan
from runs.services import RunRequest
from runs.verify import findings_of
from runs.views.catalogue import catalogue
from runs.views.conversations import readings_of
from runs.views.looks import Look
from runs.views.rules import PageRequest, page, problem_page
from runs.views.shell import render_page
from runs.views.undo_graph import undo_graph

LOOKS = {
    "allowed": Look("not asked", "done", "tick"),
    "ask": Look("asked", "waiting", "clock"),
    "refused": Look("refused", "failed", "cross"),
    "busy": Look("waits", "running", "half"),
    "replayed": Look("done already", "undone", "return"),
}
FIELDS = ("agent", "text", "user", "ticket", "task")


@page(may_see)
def tools_page(request: PageRequest) -> HttpResponse:
    """One agent's tools: what undoes each write, what is found about them, and how to mend it."""
    if broken := _unreadable(request):
        return broken
    spec, search = _agent(request.GET.get("agent", "")), request.GET.get("q", "").strip()[:200]
    found = findings_of(spec) if spec else []
    shown = catalogue(spec, found, search) if spec else None
    context = {
        "agents": sorted(agents()),
        "agent": spec.name if spec else "",
        "search": search,
        "catalogue": shown,
        "graph": undo_graph(shown.writes, found) if shown else None,
    }
    return render_page(request, "runs/tools.html", context, area="tools")


@page(may_see, "GET", "POST")
def plan_page(request: PageRequest) -> HttpResponse:
    """A turn is tried: nothing is stored, and nothing is sent."""
    if broken := _unreadable(request):
        return broken
    if request.method != "POST":
        _agent(request.GET.get("agent", ""))  # raises NotFound
        return _plan_page(request, {"agent": request.GET.get("agent", "")})
    typed = {name: request.POST.get(name, "").strip() for name in FIELDS}
    try:
        return _plan_page(request, typed, _tried(request, typed))
    except Problem as problem:
        return _plan_page(request, typed, problem=problem)


def _plan_page(
    request: PageRequest,
    typed: dict[str, str],
    calls: Sequence[PlannedCall] = (),
    problem: Problem | None = None,
) -> HttpResponse:
    known = agents()
    spec = known.get(typed["agent"] or min(known, default=""))
    context = {
        "agents": sorted(known),
        "typed": typed,
        "phrases": spec.selector.readable if spec else (),
        "rows": [(call, LOOKS[call.ruling.verdict]) for call in calls],
        "questions": sum(call.ruling.verdict == "ask" and not call.asked_with for call in calls),
        "problem": problem,
        "readings": readings_of(problem, spec) if problem and spec else (),
        "sent_again": {name: value for name, value in typed.items() if name != "text"},
    }
    status = problem.status if problem else 200
    return render_page(request, "runs/plan.html", context, status=status, area="tools")


def _unreadable(request: PageRequest) -> HttpResponse | None:
    """The page that says why, where an agent file of this installation cannot be read."""
    try:
        agents()
    except StalwartError as error:
        return problem_page(request, 500, "The agents cannot be read", str(error))
    return None


def _tried(request: PageRequest, typed: dict[str, str]) -> Sequence[PlannedCall]:
    """The calls of a turn. Raises NotFound, NotAllowed, NotRead, BadInput."""
    spec = _agent(typed["agent"])
    if spec is None or not may_plan(request.actor, spec.name):
        raise NotAllowed
    wanted = RunRequest(text=typed["text"], task=typed["task"], ticket=typed["ticket"])
    return plan(spec, Thread(agent=spec.name, user=typed["user"]), wanted)


def _agent(name: str) -> AgentSpec | None:
    """This agent, or the first; None where there is none at all. Raises NotFound."""
    known = agents()
    if not name:
        return known[min(known)] if known else None
    if name not in known:
        raise NotFound(f"There is no agent called {name!r}.")
    return known[name]
