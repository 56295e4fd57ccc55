"""The page of the workers: who is alive, what each holds, what waits; and pausing, resuming, draining them."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from runs import services
from runs.access import may_operate
from runs.errors import BadInput
from runs.roster import GONE, MOST, Process, Roster, latest_orders, roster
from runs.services.ordering import MAX_REASON
from runs.views.looks import WORKER_LOOKS
from runs.views.rules import PageRequest, page
from runs.views.shell import render_page

ORDERS_SHOWN = 8


@page(may_operate, "GET", "POST")
def workers_page(request: PageRequest) -> HttpResponse:
    """The processes of this installation. Workers are paused, resumed and drained here: one (`?worker=`), or all."""
    if request.method == "POST":
        return _order(request)
    there = roster()
    target = _target(there, request.GET.get("worker", ""))
    context = _facts(there, target) | {
        "may_pause": any(not one.worker.wanted for one in _meant(there, target)),
        "may_resume": any(one.state in ("paused", "pausing") for one in _meant(there, target)),
        "meant": target.name if target else f"all {len(there.carrying)} workers",
        "others": len(there.carrying) - len(_meant(there, target)),
        "orders": latest_orders(ORDERS_SHOWN),
        "max_reason": MAX_REASON,
    }
    return render_page(request, "runs/workers.html", context, area="workers")


@page(may_operate)
def workers_now(request: PageRequest) -> HttpResponse:
    """The poll: the processes and what waits. It never touches the form."""
    there = roster()
    target = _target(there, request.GET.get("worker", ""))
    return render(request, "runs/roster.html", _facts(there, target))


def _order(request: PageRequest) -> HttpResponse:
    sent = request.POST
    which = sent.get("worker", "")
    if which and not _is_number(which):
        raise BadInput("There is no such worker.", field="/worker")
    worker = int(which) if which else None
    services.order(request.actor, sent.get("do", ""), worker, sent.get("reason", ""))
    return redirect(reverse("workers", query={"worker": which} if which else None))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 19


def _target(there: Roster, wanted: str) -> Process | None:
    """The worker that the form is about; None where it is about all of several."""
    if len(there.carrying) == 1:
        return there.carrying[0]
    return next((one for one in there.carrying if str(one.worker.pk) == wanted), None)


def _meant(there: Roster, target: Process | None) -> tuple[Process, ...]:
    return (target,) if target else there.carrying


def _facts(there: Roster, target: Process | None) -> dict[str, Any]:
    rows = [(one, WORKER_LOOKS[one.state]) for one in there.processes]
    return {
        "roster": there,
        "target": target,
        "chosen": target is not None and len(there.carrying) > 1,
        "rows": [row for row in rows if row[0].state not in GONE or _is_missed(row[0])],
        "gone": [row for row in rows if row[0].state in GONE and not _is_missed(row[0])],
        "sentence": _sentence(there),
        "held": sum(len(one.holds) for one in there.processes) + len(there.others),
        "runs_waiting": f"more than {MOST:,}" if there.backlog.runs > MOST else there.backlog.runs,
    }


def _is_missed(process: Process) -> bool:
    """It has not said that it stopped, so somebody should look."""
    return process.state in ("silent", "dead")


def _sentence(there: Roster) -> str:
    """How it stands."""
    alive = there.carrying
    resting = [one for one in alive if one.worker.wanted]
    if not alive:
        return "No worker is alive: nothing is carried out."
    if len(resting) == len(alive):
        return "Every worker is paused or being drained: no new run is taken."
    many = "1 worker is alive" if len(alive) == 1 else f"{len(alive)} workers are alive"
    if resting:
        return f"{many}, {len(resting)} of them paused or being drained."
    return f"{many}, and takes runs." if len(alive) == 1 else f"{many}, and take runs."
