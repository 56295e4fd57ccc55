"""The pages of questions: what needs you, and one question with its answers.

A GET never decides. A question's form is sent to the question's own address; what comes back is its panel
(htmx) or the whole page (without scripts), from the same templates.
"""

import secrets
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from approvals import needs_you, questions, services
from approvals.forms import AnswerForm
from approvals.models import Answer
from approvals.question_page import ANSWER_WORDS, SAID_WORDS, QuestionPage
from runs import services as runs_services
from runs.access import may_see
from runs.errors import AlreadyAnswered, BadInput, DigestMismatch, Gone, NotAllowed, NotFound, Problem
from runs.models import Event, Step
from runs.views.rules import PageRequest, page, wants_part
from runs.views.shell import render_page, tallies


@dataclass
class Panel:
    """What stands beside the facts: the answers, or why there are none. `name` is its template."""

    name: str
    status: int = 200
    context: dict[str, Any] = field(default_factory=dict)
    announce: str = ""


# --- Needs you ---------------------------------------------------------------------------------------


@page(may_see)
def needs_you_page(request: PageRequest) -> HttpResponse:
    """The home page: the counts, and the questions of my role, oldest first."""
    filters = needs_you.Filters.of(request.GET.dict())
    rows = needs_you.listing(filters, request.actor, request.GET.get("after", ""))
    context = {
        "filters": filters,
        "kinds": needs_you.KINDS,
        "who": needs_you.WHO,
        "listing": rows,
        "is_first": not request.GET.get("after"),
    }
    return render_page(request, "approvals/needs_you.html", context, area="needs-you")


@page(may_see)
def needs_you_news(request: PageRequest) -> HttpResponse:
    """The poll: the counts, and how many are new. It never touches the rows."""
    filters = needs_you.Filters.of(request.GET.dict())
    new = needs_you.count_new(
        filters, request.actor, request.GET.get("since", ""), request.GET.get("seen", "")
    )
    counts = tallies()
    context = {
        "filters": filters,
        "new": new,
        "tallies": counts,
        "waiting_total": sum(tally.count for tally in counts),
    }
    return render(request, "approvals/news.html", context)


# --- One question ------------------------------------------------------------------------------------


@page(may_see, "GET", "POST")
def question(request: PageRequest, step_id: int) -> HttpResponse:
    """A question: its facts and its answers. Sending its form answers it."""
    rows = questions.read(step_id)
    shown = questions.word(rows, request.actor)
    if request.method == "POST":
        return _answer(request, shown, rows.step)
    return _respond(request, shown, _panel(request, shown))


@page(may_see)
def question_card(request: PageRequest, step_id: int) -> HttpResponse:
    """A question in short, to stand inside another page; its answers work there too."""
    shown = questions.word(questions.read(step_id), request.actor)
    panel = _panel(request, shown)
    context = {"question": shown, "panel": panel} | panel.context
    return render(request, "approvals/card.html", context)


@page(may_see)
def question_run(request: PageRequest, step_id: int) -> HttpResponse:
    """How the run goes on after an answer: a part of the receipt, asked for until the run rests."""
    shown = questions.word(questions.read(step_id), request.actor)
    return render(
        request, "approvals/panels/progress.html", _progress(request, shown) | {"is_progress": True}
    )


@page(may_see, "GET", "POST")
def question_lookup(request: PageRequest, step_id: int) -> HttpResponse:
    """What its lookup said: a part of the page, asked for until an answer is there. Sending its form asks for one.

    `digest` is that of the question as the page shows it: where it is another now, its answers are drawn anew.
    """
    if request.method == "POST":
        with suppress(AlreadyAnswered, Gone):  # the page says so
            runs_services.look_up(request.actor, step_id)
        name = "question-lookup" if request.htmx else "question"
        query = {"digest": request.POST.get("digest", "")} if request.htmx else None
        return redirect(reverse(name, args=[step_id], query=query))
    shown = questions.word(questions.read(step_id), request.actor)
    context = {"question": shown, "seen": request.GET.get("digest", "") or shown.digest, "is_part": True}
    return render(request, "approvals/lookup.html", context)


def _panel(request: PageRequest, shown: QuestionPage) -> Panel:
    """The panel that a GET shows."""
    nonce = request.GET.get("receipt", "")
    if nonce:
        stored = Answer.objects.filter(step=shown.step_id, nonce=nonce[:64]).first()
        if stored:
            return _receipt(request, shown, stored)
    if not shown.is_open:
        return Panel("settled", context=_progress(request, shown) | {"kept": _kept(request.GET)})
    if not shown.may_answer:
        return Panel("role")
    seen = request.GET.get("digest", "")
    if seen and seen != shown.digest:
        return _changed(shown, seen, request.GET)
    note = "Your answer was not recorded. The question is still open." if nonce else ""
    last_look = "sure" in request.GET and any(choice.last_look for choice in shown.choices)
    return Panel("sure" if last_look else "answers", context=_form(shown, request.GET) | {"note": note})


def _form(shown: QuestionPage, typed: Any) -> dict[str, Any]:
    """A form with these words in it, that nothing was sent with yet: its nonce is new for each showing."""
    return {
        "nonce": secrets.token_urlsafe(16),
        "typed": {name: words[:2000] for name, words in typed.items()},
        "results": [(name, typed.get(f"result.{name}", "")[:500]) for name in shown.result_fields],
        "errors": {},
        "error": "",
    }


def _kept(typed: Any) -> dict[str, str]:
    """What was written for an answer that was not taken."""
    kept = {
        name: words[:2000] for name, words in typed.items() if name.partition(".")[0] in ("reason", "result")
    }
    return {name: words for name, words in kept.items() if words}


def _receipt(request: PageRequest, shown: QuestionPage, stored: Answer) -> Panel:
    words = ANSWER_WORDS[stored.answer]
    return Panel(
        "receipt",
        context={"stored": stored, "words": words} | _progress(request, shown),
        announce=f"Recorded: {words}.",
    )


def _progress(request: PageRequest, shown: QuestionPage) -> dict[str, Any]:
    """Where the run is, and the question to go to next."""
    following = needs_you.next_for(request.actor, shown.run_id)
    parked = following is not None and following.run_id == shown.run_id
    return {
        "question": shown,
        "moving": not shown.run_rests and not shown.is_open,
        "following": following,
        "following_title": needs_you.title_of(following) if following else "",
        "same_run": parked,
    }


def _answer(request: PageRequest, shown: QuestionPage, step: Step) -> HttpResponse:
    """Store the answer that was sent, or say why not; the typed words are kept."""
    form = AnswerForm(request.POST, shown, step)
    try:
        if _may_be_stored(shown, request.POST) and not form.is_valid():
            return _respond(request, shown, _again(form, shown, form.first_error, 422))
        stored = services.answer(request.actor, shown.step_id, form.reply())
    except NotFound:
        raise
    except Problem as problem:
        # What somebody else did meanwhile is shown as it is now.
        now = questions.word(questions.read(shown.step_id), request.actor)
        return _respond(request, now, _refused(request, form, now, problem))
    receipt = reverse("question", args=[shown.step_id], query={"receipt": stored.nonce})
    return redirect(receipt)


def _may_be_stored(shown: QuestionPage, sent: Any) -> bool:
    """It is this question, and this person's: then the form says what is missing, else the service says why not."""
    return shown.is_open and shown.may_answer and shown.digest == sent.get("digest")


def _refused(request: PageRequest, form: AnswerForm, now: QuestionPage, problem: Problem) -> Panel:
    """The panel that says why nothing was stored."""
    match problem:
        case DigestMismatch():
            return _changed(now, str(form.data.get("digest", "")), form.data)
        case AlreadyAnswered() | Gone():
            return _settled(request, form, now, problem)
        case NotAllowed():
            return Panel("role", problem.status, {}, announce=str(problem))
        case BadInput() if not now.is_open:
            return _settled(request, form, now, problem)
        case _:
            return _again(form, now, str(problem), problem.status)


def _settled(request: PageRequest, form: AnswerForm, now: QuestionPage, problem: Problem) -> Panel:
    context = {"problem": problem, "kept": _kept(form.data)} | _progress(request, now)
    return Panel("settled", 410 if isinstance(problem, Gone) else 409, context, announce=str(problem))


def _again(form: AnswerForm, shown: QuestionPage, error: str, status: int) -> Panel:
    """The form once more, with what was typed; what was not stored may be sent again under a new nonce."""
    sure = form.data.get("panel") == "sure"
    context = _form(shown, form.data) | {"errors": form.errors, "error": error}
    return Panel("sure" if sure else "answers", status, context, announce=error)


def _changed(now: QuestionPage, seen: str, data: Any) -> Panel:
    """The call, its tool or its question is not what was shown: what differs, and no buttons."""
    what = "The call changed" if now.kind == "confirm" else "The question changed"
    context = {"what": what, "differences": _differences(now, seen), "kept": _kept(data)}
    return Panel("changed", 409, context, announce=f"{what}. Your answer was not sent.")


def _differences(now: QuestionPage, seen: str) -> list[tuple[str, str, str]]:
    """What the record says of the question that was shown, beside the one of now: (what, before, now)."""
    before = Event.objects.filter(step=now.step_id, data__digest=seen).order_by("pk").first()
    if before is None or "approver" not in before.data:
        return []
    pairs = [
        ("Who may answer", before.data["approver"], now.approver),
        (
            "Who may not",
            ", ".join(before.data.get("not_by", [])) or "nobody",
            ", ".join(now.not_by) or "nobody",
        ),
        ("Warnings", " ".join(before.data.get("warnings", [])) or "none", " ".join(now.warnings) or "none"),
        ("What a lookup says", SAID_WORDS.get(before.data.get("said", ""), "nothing yet"), now.lookup_said),
    ]
    found = [(what, old, new) for what, old, new in pairs if old != new]
    return found or [("The tool", "as it was when it was asked", "defined anew, and asked again")]


def _respond(request: PageRequest, shown: QuestionPage, panel: Panel) -> HttpResponse:
    """The panel alone for htmx, the whole page otherwise."""
    part = wants_part(request)
    context = {"question": shown, "panel": panel, "is_part": part} | panel.context
    if part:
        return render(request, "approvals/panel.html", context, status=panel.status)
    template = f"approvals/{shown.kind}.html"
    return render_page(request, template, context, status=panel.status, area="needs-you")
