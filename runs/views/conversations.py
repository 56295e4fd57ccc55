"""The pages of conversations: a person tries an agent out, and sees what it keeps in mind and what it does not."""

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Prefetch
from django.http import HttpResponse
from django.shortcuts import redirect, render

from runs import services
from runs.access import may_see
from runs.agentfile import AgentSpec, agents, spec_of
from runs.errors import NotFound, Problem
from runs.models import Message, Run, Step, Thread
from runs.redaction import without
from runs.replies import sentence
from runs.states import PARKED, RUN_BACKWARD, RUN_FORWARD, STEP_ENDS
from runs.tools.registry import Tool
from runs.views.calls import sentence_of
from runs.views.looks import Look, look_of_run, look_of_step
from runs.views.rules import PageRequest, page
from runs.views.shell import render_page

PAGE = 30
TOLD = ("user", "customer")  # whose messages the agent is told
TURNS = 30  # runs of a conversation on one page, the newest


@dataclass(frozen=True)
class StepLine:
    """A step inside a conversation."""

    number: int
    sentence: str
    look: Look
    question: int | None
    undoes: int | None = None


@dataclass(frozen=True)
class Exchange:
    """A turn, what its run did, and the one reply."""

    run: Run
    look: Look
    turns: list[Message] = field(default_factory=list)
    steps: list[StepLine] = field(default_factory=list)
    replies: list[Message] = field(default_factory=list)


@page(may_see, "GET", "POST")
def conversation_list(request: PageRequest) -> HttpResponse:
    """The latest conversations, and a form that starts one."""
    typed, error, status = {"agent": "", "user": ""}, "", 200
    if request.method == "POST":
        typed = {name: request.POST.get(name, "").strip() for name in typed}
        try:
            thread = services.start_thread(request.actor, typed["agent"], typed["user"])
            return redirect("conversation", thread.pk)
        except Problem as problem:
            error, status = str(problem), problem.status
    context = {
        "threads": _latest_threads(),
        "agents": sorted(agents()),
        "typed": typed,
        "error": error,
    }
    return render_page(request, "runs/conversations.html", context, status=status, area="conversations")


def _latest_threads() -> list[dict[str, Any]]:
    """Those whose run is the newest, found from the newest runs; before them a few that have no run yet."""
    turns = Prefetch("messages", Message.objects.filter(role="user"), to_attr="turns")
    newest: dict[UUID, Any] = {}
    for run in Run.objects.order_by("-pk").select_related("thread").prefetch_related(turns)[: PAGE * 3]:
        newest.setdefault(run.thread_id, run)
    latest = Thread.objects.order_by("-created_at").values("pk")[:PAGE]
    fresh = Thread.objects.filter(pk__in=latest, runs=None).order_by("-created_at")[:5]
    lines = [{"thread": thread, "look": None, "turn": ""} for thread in fresh]
    return lines + [
        {"thread": run.thread, "look": look_of_run(run), "turn": run.turns[0].text if run.turns else ""}
        for run in list(newest.values())[:PAGE]
    ]


@page(may_see, "GET", "POST")
def conversation(request: PageRequest, thread_id: UUID) -> HttpResponse:
    """One conversation. A person sends the next turn here."""
    thread = _thread(thread_id)
    if request.method == "POST":
        return _send_turn(request, thread)
    return render_page(request, "runs/conversation.html", _facts(thread), area="conversations")


@page(may_see)
def conversation_pulse(request: PageRequest, thread_id: UUID) -> HttpResponse:
    """The poll: nothing while nothing changed; else the exchanges anew, or, while somebody types, an offer."""
    thread = _thread(thread_id)
    facts = _facts(thread)
    if request.GET.get("seen") == facts["seen"]:
        return HttpResponse(status=204)
    if request.GET.get("typing"):
        return render(request, "runs/conversation_moved.html", facts)
    response = render(request, "runs/exchanges.html", facts)
    response["HX-Retarget"], response["HX-Reswap"] = "#exchanges", "outerHTML"
    return response


def _thread(thread_id: UUID) -> Thread:
    thread = Thread.objects.filter(pk=thread_id).first()
    if thread is None:
        raise NotFound("There is no such conversation.")
    return thread


def _send_turn(request: PageRequest, thread: Thread) -> HttpResponse:
    text, message = (request.POST.get(name, "").strip() for name in ("text", "message"))
    tool, fault = request.POST.get("fault_tool", ""), request.POST.get("fault", "")
    faults = {tool: fault} if tool else None
    try:
        wanted = services.RunRequest(text=text, message=message, faults=faults)
        services.start(request.actor, thread, wanted)
    except Problem as problem:
        context = _facts(thread) | {
            "typed": text,
            "typed_message": message,
            "problem": problem,
            "readings": readings_of(problem, spec_of(thread.agent)),
            "sent_faults": faults or {},
        }
        return render_page(
            request, "runs/conversation.html", context, status=problem.status, area="conversations"
        )
    return redirect("conversation", thread.pk)


def readings_of(problem: Problem, spec: AgentSpec) -> list[dict[str, Any]]:
    """What a turn that can be read in more than one way could be, each call in the words of its tool."""
    found: list[dict[str, Any]] = problem.extra.get("readings", [])
    return [
        {
            "text": reading["text"],
            "calls": [
                call | {"sentence": _sentence(spec.catalogue[call["tool"]], call["args"])}
                for call in reading["calls"]
            ],
        }
        for reading in found
    ]


def _sentence(tool: Tool, args: dict[str, Any]) -> str:
    return sentence(tool.sentence, "", without(args, tool.redact))


def _facts(thread: Thread) -> dict[str, Any]:
    """Everything on the page, in three queries however long the conversation is."""
    runs = list(
        Run.objects.filter(thread=thread)
        .order_by("-pk")
        .prefetch_related(
            Prefetch("steps", Step.objects.select_related("undoes").order_by("number")), Prefetch("messages")
        )[: TURNS + 1]
    )
    spec = spec_of(thread.agent)
    shown = runs[:TURNS][::-1]
    busy = next((run for run in shown if run.state in RUN_FORWARD | RUN_BACKWARD), None)
    return {
        "thread": thread,
        "exchanges": [_exchange(run, spec) for run in shown],
        "is_cut": len(runs) > TURNS,
        "busy": busy,
        "waits": busy is not None and any(_waits(step) for step in busy.steps.all()),
        "seen": "-".join(f"{run.pk}.{run.version}" for run in shown[-2:]),
        "phrases": spec.selector.readable if spec.tools else (),
        "tools": sorted(spec.tools),
        "faults": sorted(services.FAULTS) if settings.FAULTS_ALLOWED else [],
    }


def _exchange(run: Run, spec: Any) -> Exchange:
    messages = list(run.messages.all())
    return Exchange(
        run=run,
        look=look_of_run(run),
        turns=[message for message in messages if message.role in TOLD],
        steps=[_line(step, spec) for step in run.steps.all() if step.tool or step.state not in STEP_ENDS],
        replies=[message for message in messages if message.role not in TOLD],
    )


def _line(step: Step, spec: Any) -> StepLine:
    undoes = step.undoes.number if step.undoes else None
    question = step.pk if _waits(step) else None
    return StepLine(step.number, sentence_of(step, spec), look_of_step(step), question, undoes)


def _waits(step: Step) -> bool:
    return step.state in PARKED and not step.answer
