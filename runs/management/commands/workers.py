"""`stalwart workers`: who is alive, what each holds, what waits; and pausing, resuming, draining them."""

import time
from argparse import ArgumentParser
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from runs import services
from runs.api.workers import shape
from runs.errors import NotFound
from runs.models import Worker
from runs.roster import CHANGING, Held, Process, Roster, roster
from runs.services.ordering import ORDERS
from runs.views import moments
from stalwart_site.terminal import ERROR, TerminalCommand, find_person, usage

LOOK_SECONDS = 0.2


class Command(TerminalCommand):
    """An order is for operators. The command stays until it is carried out; interrupting it takes nothing back."""

    help = "Say who is alive, what each holds and what waits; or pause, resume or drain workers."

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("do", nargs="?", choices=ORDERS, help="without it, they are listed")
        parser.add_argument("worker", nargs="?", help="HOST:PID, as the list shows it; without it, all")
        parser.add_argument(
            "--as", dest="login", metavar="USER", help="with an order: the login of who gives it"
        )
        parser.add_argument("--reason", default="", help="with an order: why; kept in the record")

    def run(self, options: dict[str, Any]) -> int:
        if not options["do"]:
            self._show(roster(), options)
            return 0
        with usage(self):
            if not options["login"]:
                raise ValueError("Say who gives the order: --as USER.")
        worker = _find(options["worker"]).pk if options["worker"] else None
        actor = find_person(options["login"])
        told = services.order(actor, options["do"], worker, options["reason"])
        there = _once_done({one.pk for one in told})
        self._show(there, options)
        missed = [one.name for one in there.processes if one.state in ("silent", "dead")]
        if not told:
            return self._fail("No worker is alive: there is nobody to tell.", ERROR)
        return self._fail(f"Not heard from, and so not known: {', '.join(missed)}.", ERROR) if missed else 0

    def _show(self, there: Roster, options: dict[str, Any]) -> None:
        if options["json"]:
            self.say_json(shape(there).model_dump(mode="json"))  # the same document as the API's
            return
        for process in there.processes:
            self.say(_line(process))
            for run in process.holds:
                self.say(f"  {_holds(run)}")
        for run in there.others:
            self.say(f"  {_holds(run)}, held by {run.owner}")
        for line in _waits(there):
            self.say(line)


def _find(name: str) -> Worker:
    """The worker that people call HOST:PID. Raises NotFound."""
    found = [one.worker for one in roster().processes if name in (one.name, one.worker.name)]
    if len(found) != 1:
        raise NotFound(f"There is no worker called {name!r}; `stalwart workers` lists them.")
    return found[0]


def _once_done(told: set[int]) -> Roster:
    """How it stands once each of these has done what it was told, or is not heard from any more; they alone."""
    while True:
        there = roster()
        mine = tuple(one for one in there.processes if one.worker.pk in told)
        if not any(one.state in CHANGING for one in mine):
            return Roster(there.now, mine, (), there.backlog)
        time.sleep(LOOK_SECONDS)


def _line(process: Process) -> str:
    order = process.order if process.worker.wanted else None
    by = f"  by {order.by}" + (f": {order.reason}" if order.reason else "") if order else ""
    heard = moments.ago(process.worker.seen_at)
    return f"{process.state:<9} {process.worker.kind:<7} {process.name:<24} heard from {heard}{by}"


def _holds(run: Held) -> str:
    if run.tool and run.sent_at:
        return f"{run.name}  {run.tool}, sent {moments.ago(run.sent_at)}"
    return f"{run.name}  between two calls"


def _waits(there: Roster) -> Iterator[str]:
    waits = there.backlog
    yield f"{waits.runs} run(s) wait for a worker{_oldest(waits.oldest_run)}"
    yield f"{waits.nudges} nudge(s) in the queue{_oldest(waits.oldest_nudge)}"
    yield (
        f"last swept {moments.ago(waits.swept_at)}"
        if waits.swept_at
        else "never swept: start `stalwart sweep`"
    )


def _oldest(moment: datetime | None) -> str:
    return f", the oldest since {moments.clock(moment, seconds=True)}" if moment else ""
