"""What every test may ask for: a database, the practice services, real processes, a browser.

postgres    a PostgreSQL for the session; pytest-django's own fixtures ask for it
services    the practice services as a real process; SERVICES_URL points to them
processes   starts real `stalwart worker`, `sweep` and `web` on the test's database, with short times
browser     chromium; where there is none, its tests are left out, or an error with REQUIRE_BROWSER=1
"""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.conf import settings as django_settings
from django.db import connections
from django.test import TransactionTestCase
from django.test.utils import setup_databases, teardown_databases

from examples.services.process import Services, running
from stalwart_site.embedded_postgres import EmbeddedPostgres
from tests.browser_options import CHROMIUM, CHROMIUM_OPTIONS
from tests.early import EMBEDDED, HOME, POSTGRES_FOLDER
from tests.processes import Processes
from tests.tables import empty_the_tables

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page
    from pytest_django import DjangoDbBlocker, Settings


# --- Which tests run ----------------------------------------------------------------------------------
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Browser tests come last, or not at all.

    Last, since playwright keeps an event loop running in this thread, which Django and asyncio notice. Of their files
    the longest first, so that in the end no process of pytest-xdist waits for another one.
    """
    in_browser = [item for item in items if "browser" in getattr(item, "fixturenames", ())]
    others = [item for item in items if item not in in_browser]
    tests = Counter(item.path for item in in_browser)
    in_browser.sort(key=lambda item: (-tests[item.path], item.path))
    if in_browser and CHROMIUM is None:
        if os.environ.get("REQUIRE_BROWSER") == "1":
            raise pytest.UsageError("REQUIRE_BROWSER=1, and there is no chromium: install it")
        config.hook.pytest_deselected(items=in_browser)
        config.stash[_LEFT_OUT] = len(in_browser)
        in_browser = []
    items[:] = others + in_browser


_LEFT_OUT = pytest.StashKey[int]()


_FIGURES = pytest.StashKey[list[str]]()


@pytest.fixture(scope="session")
def figures(pytestconfig: pytest.Config) -> list[str]:
    """Lines for the end of pytest's own summary: what was counted, such as states visited."""
    return pytestconfig.stash.setdefault(_FIGURES, [])


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A process of pytest-xdist hands its figures to the one that prints the summary."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["figures"] = session.config.stash.get(_FIGURES, [])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """And that one takes them."""
    node.config.stash.setdefault(_FIGURES, []).extend(getattr(node, "workeroutput", {}).get("figures", []))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say what was counted, and what was left out."""
    for line in config.stash.get(_FIGURES, []):
        terminalreporter.write_line(line)
    if left_out := config.stash.get(_LEFT_OUT, 0):
        terminalreporter.write_line(
            f"{left_out} browser test(s) left out: there is no chromium on this machine"
        )


# --- The database -------------------------------------------------------------------------------------
@pytest.fixture(scope="session")
def postgres() -> Iterator[None]:
    """A PostgreSQL for the whole session; stopped at its end, also after a failure or Ctrl-C."""
    if not EMBEDDED:
        yield
        return
    with EmbeddedPostgres(POSTGRES_FOLDER, fsync=False):
        yield


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None, postgres: None) -> None:
    """pytest-django asks for this before it makes the test database."""


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment: None,
    django_db_blocker: "DjangoDbBlocker",
    django_db_modify_db_settings: None,
) -> Iterator[None]:
    """The test database. pytest-django's own makes none where only the fixtures of a module ask for it."""
    with django_db_blocker.unblock():
        made = setup_databases(verbosity=0, interactive=False)
    yield
    with django_db_blocker.unblock():
        teardown_databases(made, verbosity=0)


@pytest.fixture(scope="session", autouse=True)
def _tables_emptied_fast() -> Iterator[None]:
    """After a test of real transactions Django truncates every table and makes all permissions anew: a tenth of
    a second. Rows are few, so they are deleted; what `migrate` made stays.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda case: empty_the_tables())
        yield


@pytest.fixture(autouse=True)
def _plain_static_files(settings: "Settings") -> None:
    """Pages name static files as they are: the manifest exists only where `collectstatic` has run."""
    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    settings.STORAGES = settings.STORAGES | {"staticfiles": plain}


# --- Processes ----------------------------------------------------------------------------------------
@pytest.fixture(scope="session")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """The practice services, with faults allowed; the examples' tools find them by the environment."""
    database = tmp_path_factory.mktemp("services") / "services.sqlite3"
    with running(database) as started, pytest.MonkeyPatch.context() as patch:
        patch.setenv("STALWART_SERVICES_URL", started.url)
        patch.setattr(django_settings, "SERVICES_URL", started.url)
        yield started


@pytest.fixture
def processes(transactional_db: None, services: Services, tmp_path: Path) -> Iterator[Processes]:
    """Starts real processes on this test's database; all of them are gone before its tables are emptied."""
    started = Processes(services.url, HOME)
    yield started
    started.end_all()


# --- The browser --------------------------------------------------------------------------------------
@pytest.fixture(scope="session")
def browser() -> "Iterator[Browser]":
    """Chromium, driven by playwright, for the whole session."""
    from playwright.sync_api import sync_playwright

    # Its event loop runs in this thread; the tests' own queries are as safe as before.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    connections.close_all()  # where a loop runs, Django has other connections than where none does
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_OPTIONS)
        yield chromium
        chromium.close()
        connections.close_all()
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture
def page(browser: "Browser") -> "Iterator[Page]":
    """A page of a fresh profile; an error in its console or a request it could not load fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    opened = context.new_page()
    problems: list[Any] = []
    opened.on("pageerror", lambda error: problems.append(error))
    yield opened
    context.close()
    assert problems == []
