"""The pages of runs: the list, and one run with everything that is known of it."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Min, Prefetch
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone

from runs.access import may_see
from runs.agentfile import agents, spec_of
from runs.errors import NotFound
from runs.loading import undoable
from runs.models import Attempt, Event, Message, Run, Step
from runs.redaction import data_of
from runs.replies import still_in_effect
from runs.states import IN_FLIGHT, RUN_ENDS, RunState, StepState
from runs.views import verbs
from runs.views.calls import sentence_of
from runs.views.exporting import as_csv, as_json
from runs.views.finding import STATES, Search, count
from runs.views.keyset import newest_first
from runs.views.looks import Look, look_of_run
from runs.views.rules import PageRequest, page
from runs.views.shell import render_page
from runs.views.timeline import TOLD, Story, timeline
from runs.views.undo_order import undo_order

PAGE = 50
RECORD_LINES = 300


@dataclass(frozen=True)
class RunRow:
    """One run of the list."""

    run: Run
    look: Look
    what: str
    steps: int


@page(may_see)
def run_list(request: PageRequest) -> HttpResponse:
    """All runs, or those that were looked for; newest first."""
    search = Search.of(request.GET.dict())
    turns = Prefetch("messages", Message.objects.filter(role="user"), to_attr="turns")
    runs = search.runs().select_related("thread").prefetch_related(turns)
    found = newest_first(runs, request.GET.get("after", ""), PAGE)
    counts = dict(
        Step.objects.filter(run__in=found.rows, undoes=None)
        .exclude(tool="")
        .order_by()
        .values_list("run")
        .annotate(Count("pk"))
    )
    rows = [RunRow(run, look_of_run(run), _what(run), counts.get(run.pk, 0)) for run in found.rows]
    context = {
        "rows": rows,
        "page": found,
        "search": search,
        "count": count(search.runs()),
        "states": {name: words for name, (words, _) in STATES.items()},
        "agents": sorted(agents()),
    }
    return render_page(request, "runs/list.html", context, area="runs")


@page(may_see)
def run_export(request: PageRequest, kind: str) -> HttpResponseBase:
    """The runs of a search as a file, all of them."""
    write = {"csv": as_csv, "json": as_json}[kind]
    return write(Search.of(request.GET.dict()).runs())


def _what(run: Any) -> str:
    return run.turns[0].text if run.turns else " · ".join(part for part in (run.task, run.subject) if part)


@page(may_see, "GET", "POST")
def run_page(request: PageRequest, run_id: int) -> HttpResponse:
    """One run. An operator cancels, undoes or resumes it here."""
    run = Run.objects.select_related("thread").filter(pk=run_id).first()
    if run is None:
        raise NotFound("There is no such run.")
    if request.method == "POST":
        return _act(request, run)
    return render_page(request, "runs/run.html", _facts(request, run), area="runs")


def _act(request: PageRequest, run: Run) -> HttpResponse:
    """Cancel, undo or resume the run."""
    steps = list(Step.objects.filter(run=run).select_related("entry", "undoes").order_by("number"))
    now = verbs.verbs_of(request.actor, run, steps, spec_of(run.thread.agent))
    verbs.act(request.actor, run, request.POST.dict(), now)
    return redirect("run", run.pk)


def _facts(request: PageRequest, run: Run) -> dict[str, Any]:
    """Everything on the page, in six queries however long the run is."""
    spec = spec_of(run.thread.agent)
    steps = list(Step.objects.filter(run=run).select_related("entry", "undoes").order_by("number"))
    attempts = Attempt.objects.filter(step__run=run).order_by("step_id", "number")
    told = list(Event.objects.filter(run=run, kind__in=TOLD))
    messages = list(Message.objects.filter(run=run))
    record = list(Event.objects.filter(run=run).select_related("step__undoes")[: RECORD_LINES + 1])
    left = still_in_effect(steps, spec)
    return {
        "run": run,
        "look": look_of_run(run),
        "title": _title(run, steps),
        "reply": next((m for m in reversed(messages) if m.role == "agent" and run.state in RUN_ENDS), None),
        "turn": next((m for m in messages if m.role == "user"), None),
        "entries": timeline(Story(run, steps, attempts, told, _places(run)), spec),
        "undo_order": undo_order(steps, spec),
        "left": [sentence_of(step, spec) for step in left],
        "unknown": [sentence_of(step, spec) for step in steps if step.state in IN_FLIGHT],
        "left_undoable": sum(1 for step in left if undoable(step, spec, timezone.now())),
        "said": messages,
        "record": [(event, data_of(event, spec)) for event in record[:RECORD_LINES]],
        "record_is_cut": len(record) > RECORD_LINES,
        "keys": [step for step in steps if step.entry],
        "verbs": verbs.verbs_of(request.actor, run, steps, spec),
        "has_ended": run.state in RUN_ENDS,
        "questions": [
            {"step": step, "words": step.question or sentence_of(step, spec)}
            for step in steps
            if _is_parked(step) and not step.answer
        ],
    }


def _places(run: Run) -> dict[int, int]:
    """Where in the record each step began: its first sending, or else its first question or its end."""
    lines = Event.objects.filter(run=run, step__isnull=False).exclude(kind="step.proposed").order_by()
    places: dict[int, int] = {}
    firsts = lines.values_list("step", "kind").annotate(Min("pk"))
    for step, _, place in sorted(firsts, key=lambda line: (line[1] != "step.sent", line[2])):
        places.setdefault(step, place)
    return places


def _is_parked(step: Step) -> bool:
    return step.state in (StepState.NEEDS_APPROVAL, StepState.UNKNOWN, StepState.UNDO_STUCK)


def _title(run: Run, steps: list[Step]) -> str:
    """The state in a sentence."""
    forward = [step for step in steps if step.undoes_id is None and step.tool]
    done = sum(1 for step in forward if step.state == StepState.PERFORMED)
    at = f" at step {run.stop['step']}" if run.stop and run.stop.get("step") else ""
    waits = next((step.number for step in steps if _is_parked(step) and not step.answer), None)
    many = f"{done} step" if done == 1 else f"{done} steps"
    return {
        RunState.OPEN: f"Open: {many} done, its agent may propose more",
        RunState.READY: "Waiting for its next try" if run.due_at else "Queued",
        RunState.RUNNING: f"Running: {done} of {len(forward)} steps done",
        RunState.WAITING: f"Waiting for an answer at step {waits}"
        if waits
        else "Answered, and about to go on",
        RunState.ROLLING_BACK: f"Stopped{at}, being undone",
        RunState.STUCK: f"Stopped{at}, and stuck while being undone",
        RunState.SUCCEEDED: f"Done: {many} performed" if done else "Done: nothing was performed",
        RunState.ROLLED_BACK: f"Stopped{at}, and undone",
        RunState.ABANDONED: f"Stopped{at}, and abandoned before all was undone",
        RunState.FAILED: f"Stopped{at}; nothing had been done",
        RunState.HANDED_OVER: f"Stopped{at}, and handed over to a person",
    }[RunState(run.state)]
