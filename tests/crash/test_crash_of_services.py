"""What the work stands on goes away under load and comes back: the database, and the practice services.

Both are the test's own. What was sent when they went is doubtful; the test answers truthfully what it is asked,
and the books balance. With CRASH=all the database is stopped properly, too.
"""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from django.core.management import call_command
from django.db import connection

from examples.services.process import Services, running
from stalwart_site.embedded_postgres import EmbeddedPostgres, url_of
from stalwart_site.ports import free_port
from tests.crash.load import ORDERS, Load, desk
from tests.crash.site import Site
from tests.crash.times import GOES_ON, SITE
from tests.early import EMBEDDED, HOME
from tests.flows import on_the_books, operations
from tests.processes import Processes

pytestmark = pytest.mark.usefixtures("transactional_db")

WRITES = ("charge_card", "update_crm", "send_receipt")
RUNS = 12


@pytest.fixture
def own_postgres(tmp_path: Path) -> Iterator[EmbeddedPostgres]:
    """A PostgreSQL of this test alone, which may be restarted; Django's connection goes there meanwhile."""
    folder = HOME / f"postgres-{tmp_path.name}"
    server = EmbeddedPostgres(folder, fsync=False)
    kept = dict(connection.settings_dict)
    try:
        server.start()
        connection.close()
        connection.settings_dict.update(NAME="stalwart", HOST=_host(folder))
        call_command("migrate", verbosity=0, interactive=False)
        yield server
    finally:
        connection.close()
        connection.settings_dict.update(kept)
        server.stop()


@pytest.mark.skipif(not EMBEDDED, reason="the server of DATABASE_URL is not ours to restart")
@pytest.mark.parametrize("how", ["killed", "stopped"] if os.environ.get("CRASH") == "all" else ["killed"])
def test_the_database_is_restarted_under_load(
    books: httpx.Client,
    own_postgres: EmbeddedPostgres,
    processes: Processes,
    how: str,
) -> None:
    ours = SITE | {"DATABASE_URL": url_of(own_postgres.folder)}
    site, load = Site(processes, ours), Load(books)
    _start_runs(load)
    if how == "killed":
        os.kill(_postmaster(own_postgres), signal.SIGKILL)
    own_postgres.stop()
    time.sleep(0.5)
    own_postgres.start()
    load.goes_on(GOES_ON)
    site.repair()
    load.finish(40)
    load.audit()
    for run in load.runs:
        assert run.state == "succeeded"
        assert on_the_books(books, run) == operations(WRITES)


def test_the_services_are_killed_in_mid_call(
    services: Services, processes: Processes, tmp_path: Path
) -> None:
    database, port = tmp_path / "books.sqlite3", free_port()
    ours = SITE | {"STALWART_SERVICES_URL": f"http://127.0.0.1:{port}"}
    with httpx.Client(base_url=ours["STALWART_SERVICES_URL"], timeout=5) as books:
        with running(database, port=port) as first:
            Site(processes, ours)
            load = Load(books)
            _start_runs(load)
            first.kill()
        time.sleep(0.5)
        with running(database, port=port):
            load.goes_on(GOES_ON)
            load.finish(40)
            load.audit()


def _start_runs(load: Load) -> None:
    """Runs with slow calls, until some are under way."""
    for order in ORDERS[:RUNS]:
        load.start(desk(order, *WRITES), dict.fromkeys(WRITES, "slow:0.3"))
    load.until(lambda: len(load.in_flight) >= 3, "calls in flight", 30)


def _host(folder: Path) -> str:
    return url_of(folder).partition("host=")[2].partition("&")[0].replace("%2F", "/")


def _postmaster(server: EmbeddedPostgres) -> int:
    return int((server.data / "postmaster.pid").read_text().splitlines()[0])
