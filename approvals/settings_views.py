"""The pages of settings: what a person sets for themselves, and which programs are told."""

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db.models import OuterRef, Subquery
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone

from approvals import webhooks
from approvals.delivering import send_test
from approvals.models import Delivery, MailChoice, Webhook
from runs.access import may_see, may_set_webhooks
from runs.agentfile import agents
from runs.errors import BadInput, Conflict
from runs.notable import KINDS
from runs.views import zone
from runs.views.looks import DONE, FAILED, QUIET, WAITING, Look
from runs.views.rules import PageRequest, page
from runs.views.shell import render_page

LAST = 50  # messages of a webhook that are shown
LOOKS = {
    "waiting": Look("waiting", *WAITING),
    "sent": Look("delivered", *DONE),
    "dead": Look("given up", *FAILED),
}
ON, OFF = Look("enabled", *DONE), Look("disabled", QUIET[0], "skip")


@dataclass(frozen=True)
class Row:
    """A webhook, or one of its messages, and how it is shown."""

    row: Any
    look: Look
    last: Look | None = None  # of a webhook, its last message


# --- A person's own -----------------------------------------------------------------------------------
@page(may_see, "GET", "POST")
def settings_page(request: PageRequest) -> HttpResponse:
    """What a person sets: the time zone for this browser, mail for themselves."""
    if request.method == "POST":
        return _keep(request)
    choice = MailChoice.objects.filter(user=request.actor.user_id).first() or MailChoice()
    context = {
        "zones": sorted(zone.zones()),
        "zone": timezone.get_current_timezone_name(),
        "saved": request.GET.get("saved", ""),
        "kinds": KINDS,
        "choice": choice,
        "sends_mail": settings.MAIL,
        "may_set_webhooks": may_set_webhooks(request.actor),
    }
    return render_page(request, "approvals/settings.html", context, area="settings")


def _keep(request: PageRequest) -> HttpResponse:
    if request.POST.get("what") == "mail":
        _keep_mail(request)
        return redirect("/settings/?saved=mail#mail")
    return zone.keep(request.POST.get("zone", ""), redirect("/settings/?saved=zone"))


def _keep_mail(request: PageRequest) -> None:
    assert request.actor.user_id is not None  # a page is a person's
    kinds = request.POST.getlist("kinds")
    if unknown := sorted(set(kinds) - set(KINDS)):
        raise BadInput(f"There is no kind {unknown[0]!r}.", field="/kinds")
    wanted = {"kinds": [kind for kind in KINDS if kind in kinds], "only_mine": "only_mine" in request.POST}
    MailChoice.objects.update_or_create(user_id=request.actor.user_id, defaults=wanted)


# --- Webhooks -----------------------------------------------------------------------------------------
@page(may_set_webhooks, "GET", "POST")
def webhook_list(request: PageRequest) -> HttpResponse:
    """Which programs are told. Sending the form adds one, and shows its secret, once."""
    if request.method != "POST":
        return _show_list(request, {"kinds": list(KINDS)})
    url, kinds, agent = request.POST.get("url", ""), *_asked(request)
    try:
        added = webhooks.add(request.actor, url, kinds, agent)
    except (BadInput, Conflict) as problem:
        typed = {"url": url, "kinds": kinds, "agent": agent, "problem": problem}
        return _show_list(request, typed, status=problem.status)
    return _show(request, added, secret=webhooks.secret_of(added), status=201)


def _asked(request: PageRequest) -> tuple[list[str], str]:
    """Of which kinds, and of which agent."""
    return request.POST.getlist("kinds"), request.POST.get("agent", "")


def _show_list(request: PageRequest, typed: dict[str, Any], status: int = 200) -> HttpResponse:
    last = Delivery.objects.filter(webhook=OuterRef("pk")).order_by("-pk").values("state")[:1]
    found = Webhook.objects.annotate(last=Subquery(last)).order_by("pk")
    rows = [Row(row, OFF if row.disabled_at else ON, LOOKS.get(row.last)) for row in found]
    context = {"rows": rows, "typed": typed, "all_kinds": KINDS, "agents": sorted(agents())}
    return render_page(request, "approvals/webhooks.html", context, status=status, area="settings")


@page(may_set_webhooks, "GET", "POST")
def webhook_page(request: PageRequest, number: int) -> HttpResponse:
    """One webhook: what it is told, what came of it, and what can be done."""
    webhook = webhooks.find(number)
    if request.method != "POST":
        return _show(request, webhook)
    match request.POST.get("do"):
        case "rotate":
            return _show(request, webhook, secret=webhooks.rotate(webhook))
        case "test":
            send_test(webhook)
        case "change":
            webhooks.change(webhook, *_asked(request))
        case "disable":
            webhooks.disable(webhook, f"by {request.actor.name}")
        case "enable":
            webhooks.enable(webhook)
        case "remove":
            webhook.delete()
            return redirect("webhooks")
        case _:
            raise BadInput("There is nothing of that name to do.", field="/do")
    return redirect("webhook", webhook.pk)


def _show(request: PageRequest, webhook: Webhook, secret: str = "", status: int = 200) -> HttpResponse:
    messages = webhook.deliveries.order_by("-pk")[:LAST]
    context = {
        "webhook": webhook,
        "look": OFF if webhook.disabled_at else ON,
        "secret": secret,
        "typed": {"kinds": webhook.kinds, "agent": webhook.agent},
        "all_kinds": KINDS,
        "agents": sorted(agents()),
        "messages_sent": [Row(message, LOOKS[message.state]) for message in messages],
    }
    return render_page(request, "approvals/webhook.html", context, status=status, area="settings")
