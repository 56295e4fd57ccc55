"""How long the server takes for each page, with many runs in the database.

    python -m bench.pages [--runs 100000] [--requests 60] [--admin]

Each page is asked for in this process, through every middleware, by somebody who sees everything; the floor is the same
for a page that does nothing but ask the database for the number one. CPU is what one request takes of this process and
of its session of the database: where others use the machine, it is the steadier figure. `--admin` asks for the lists
and searches of Django admin instead. docs/benchmarks.md says how to read the table. Not a test: nothing fails for being
slow.
"""

import argparse
import contextlib
import gc
import os
import platform
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.installation import installed
from bench.server import Server, serve
from bench.stopwatch import Cost, Stopwatch

HERE = Path(__file__).resolve().parent
AGENTS = ("pages.yaml", "pages_kept.yaml", "../examples/resolver/agent.yaml")  # the last one for the explorer
WARM_UP = 5
TARGETS = {False: 50, True: 100}  # p95 in milliseconds, of a page and of one of admin's
MOST = 12  # queries of a page


def main() -> None:
    """Fill, measure, print."""
    options = _options()
    with serve() as server, _as_served(server.database("pages")):
        from bench.many_runs import fill
        from runs.models import Run

        began = time.monotonic()
        fill(options.runs)
        print(*_head(server, Run.objects.count(), time.monotonic() - began), sep="\n")
        for name, address in {"floor: /health": "/health", **_addresses(admin=options.admin)}.items():
            print(_line(name, *_measured(server, address, options.requests)), flush=True)
        print(
            f"The target: p95 under {TARGETS[options.admin]} ms"
            + ("." if options.admin else f", {MOST} queries.")
        )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.pages", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--runs", type=int, default=100_000, help="in the database (default: %(default)s)")
    parser.add_argument("--requests", type=int, default=60, help="for each page (default: %(default)s)")
    parser.add_argument("--admin", action="store_true", help="the lists and searches of Django admin")
    return parser.parse_args()


@contextlib.contextmanager
def _as_served(url: str) -> Iterator[None]:
    """With its files, and with people."""
    with installed(url, *(str(HERE / name) for name in AGENTS), STALWART_RETRY_SECONDS="0.01"):
        from django.core.management import call_command

        from runs.demo import make_logins

        call_command("collectstatic", interactive=False, verbosity=0)
        make_logins()
        yield


def _head(server: Server, runs: int, seconds: float) -> Iterator[str]:
    facts = server.facts()
    yield (
        f"{os.cpu_count()} cores (load {os.getloadavg()[0]:.1f}), Python {platform.python_version()}, PostgreSQL "
        f"{facts['server_version']}; {runs:,} runs, made in {seconds:.0f} s"
    )
    yield f"{'milliseconds':40}{'p50':>8}{'p95':>8}   CPU: here{'server':>8}{'queries':>9}"


def _line(name: str, times: list[float], cost: Cost, queries: int) -> str:
    middle, slow = statistics.median(times), statistics.quantiles(times, n=20)[-1]
    return f"{name:40}{middle:8.1f}{slow:8.1f}{cost.client:12.1f}{cost.server:8.1f}{queries:9}"


def _measured(server: Server, address: str, requests: int) -> tuple[list[float], Cost, int]:
    """The milliseconds of each request, what one costs, and how often one asks the database."""
    from django.contrib.auth.models import User
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    client = Client(headers={"host": "localhost", "accept-encoding": "gzip"})
    client.force_login(User.objects.get(username="admin"), "django.contrib.auth.backends.ModelBackend")
    for _ in range(WARM_UP):
        _time(client, address)
    # A full collection of this process takes 0.1 s and comes every thirty requests, since the test client keeps much
    # of each; in a web process it comes once in several hundred.
    gc.collect()
    watch = Stopwatch(server)
    with watch.running():
        times = [_time(client, address) for _ in range(requests)]
    with CaptureQueriesContext(connection) as counted:
        _time(client, address)
    return times, watch.per(requests), len(counted)


def _time(client: Any, address: str) -> float:
    """The milliseconds of one request; of an export, until it begins."""
    began = time.perf_counter()
    response = client.get(address)
    next(iter(response), None)
    taken = (time.perf_counter() - began) * 1000
    assert response.status_code in (200, 204), (address, response.status_code)
    return taken


def _addresses(*, admin: bool) -> dict[str, str]:
    """Of each page, with the newest of what it shows."""
    return dict(_of_admin()) if admin else _of_the_console()


def _of_the_console() -> dict[str, str]:
    from runs.models import Run, Step

    def question(asks: str) -> str:
        return f"/questions/{Step.objects.asking().filter(asks=asks).latest('asked_at').pk}/"

    def run(state: str) -> Run:
        return Run.objects.filter(state=state).latest("pk")

    done, undone, handed = run("succeeded"), run("rolled_back"), run("handed_over")
    answered = Step.objects.filter(asked__gt=0, state="performed").latest("pk").pk
    old = Run.objects.order_by("pk")[Run.objects.count() // 2]
    return {
        "needs you": "/",
        "needs you, all": "/?who=all",
        "needs you, its poll": "/news/?who=all&since=2026-01-01T00:00:00Z",
        "confirmation": question("confirm"),
        "unknown outcome": question("outcome"),
        "stuck undo": question("undo"),
        "a question that is answered": f"/questions/{answered}/",
        "handovers": "/handovers/",
        "handovers, resolved": "/handovers/?kind=resolved",
        "handover": f"/handovers/{handed.pk}/",
        "runs": "/runs/",
        "runs, from the middle": f"/runs/?after={old.pk}",
        "runs of a state": "/runs/?state=rolled_back",
        "runs of an agent": "/runs/?agent=keeper",
        "runs, stuck, of an agent": "/runs/?state=stuck&agent=keeper",
        "runs until a day in the middle": f"/runs/?until={old.created_at:%Y-%m-%d}",
        "runs found by ticket": f"/runs/?q={old.ticket}",
        "runs found by order": f"/runs/?q={old.subject}",
        "runs found by user": f"/runs/?q={old.thread.user}",
        "runs found by key": f"/runs/?q={Step.objects.filter(run=done).earliest('number').entry_id}",
        "runs as a file, its first line": "/runs/export.csv",
        "run, done": f"/runs/{done.pk}/",
        "run, rolled back": f"/runs/{undone.pk}/",
        "conversations": "/conversations/",
        "conversation": f"/conversations/{done.thread_id}/",
        "tools and agents": "/tools/",
        "a plan to try": "/tools/plan/",
        "dashboard, a day": "/dashboard/?days=1",
        "dashboard, a week": "/dashboard/",
        "dashboard, a month": "/dashboard/?days=30",
        "workers": "/workers/",
        "settings": "/settings/",
        "webhooks": "/settings/webhooks/",
        "explorer, a case carried out": "/explorer/after-the-write/with-the-key/",
    }


def _of_admin() -> Iterator[tuple[str, str]]:
    from django.contrib import admin

    from runs.models import Run, Step

    old = Run.objects.order_by("pk")[Run.objects.count() // 2]
    step = Step.objects.filter(run=old, entry__isnull=False).earliest("number")
    searches = {
        "run": old.name,
        "order": old.subject,
        "ticket": old.ticket,
        "user": old.thread.user,
        "key": step.entry_id,
        "nothing": "nowhere",
    }
    yield "index", "/admin/"
    for model, its in admin.site._registry.items():
        if model._meta.app_label not in ("runs", "approvals"):
            continue
        name, address = (
            model._meta.model_name,
            f"/admin/{model._meta.app_label}/{model._meta.model_name}/",
        )
        yield f"{name}: list", address
        yield f"{name}: page 20", f"{address}?p=20"
        if getattr(its, "run_lookup", ""):
            yield from ((f"{name}: {what}", f"{address}?q={text}") for what, text in searches.items())
        if row := model._default_manager.order_by("pk").first():
            yield f"{name}: a row", f"{address}{row.pk}/change/"


if __name__ == "__main__":
    main()
