"""A console that runs: real web server, real worker, practice services; and people who sign in.

web              the web server, one for the session: it keeps nothing of its own
console          its address, on fresh rows and books for each test
workers          a worker and a sweep beside it
shared_console   one for all tests of a module: each makes what it needs, and looks at that alone
open_as          a page of a fresh profile in which somebody is signed in there; they sign in once in a module
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx
import pytest
from django.db import connection

from examples.services.process import Services
from runs.demo import PASSWORD, make_logins
from tests.early import HOME
from tests.processes import Processes, until
from tests.tables import empty_the_tables

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page
    from pytest_django import DjangoDbBlocker

HOST = "127.0.0.1"
SignIn = Callable[["Page", str], None]
OpenAs = Callable[..., "Page"]


@pytest.fixture(scope="session")
def hosts(browser: "Browser") -> set[str]:
    """Every host that any page of the session asked for something."""
    asked: set[str] = set()
    browser.on("context", lambda context: context.on("request", lambda sent: _add_host(asked, sent.url)))
    return asked


def _add_host(asked: set[str], url: str) -> None:
    parts = urlsplit(url)
    if parts.hostname or parts.scheme not in ("data", "blob", "about"):
        asked.add(parts.hostname or url)


@pytest.fixture(autouse=True)
def _nobody_else_is_asked(hosts: set[str]) -> Iterator[None]:
    """Whatever a test does: no page asks another host for anything."""
    hosts.clear()
    yield
    assert hosts <= {HOST}


@pytest.fixture(scope="session")
def web(django_db_setup: None, services: Services) -> Iterator[str]:
    """The address of a web server on the tests' database."""
    started = Processes(services.url, HOME)
    try:
        yield started.web()
    finally:
        started.end_all()


@pytest.fixture
def console(transactional_db: None, web: str, services: Services) -> str:
    """The address of the console, with the demo people, on fresh books."""
    httpx.post(f"{services.url}/reset", trust_env=False).raise_for_status()
    make_logins()
    return web


@pytest.fixture
def workers(processes: Processes, console: str) -> None:
    """What carries the console's runs out."""
    processes.worker()
    processes.sweep()


@pytest.fixture
def sign_in(console: str) -> SignIn:
    """Signs somebody in on a page, by the form."""
    return lambda page, name: sign_in_at(console, page, name)


def sign_in_at(address: str, page: "Page", name: str) -> None:
    """By the form of the login, to the home page."""
    page.goto(address)
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("heading", name="Needs you").wait_for()


@pytest.fixture(scope="module")
def house(
    django_db_setup: None, django_db_blocker: "DjangoDbBlocker", services: Services
) -> Iterator[Processes]:
    """Where the processes of a module's console are started, on a database that its tests share."""
    with django_db_blocker.unblock():
        httpx.post(f"{services.url}/reset", trust_env=False).raise_for_status()
        make_logins()
        started = Processes(services.url, HOME)
        yield started
        started.end_all()
        until(lambda: not _at_work(), f"the last of these sessions to be done: {_at_work()}")
        empty_the_tables()


def _at_work() -> Any:
    """The sessions on this database that do something, but for our own and the server's autovacuum."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT state, query FROM pg_stat_activity WHERE datname = current_database() AND state <> 'idle'"
            " AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        return cursor.fetchall()


@pytest.fixture(scope="module")
def shared_console(house: Processes, web: str) -> str:
    """The address of the console of this module."""
    house.worker()
    house.sweep()
    return web


@pytest.fixture(scope="module")
def profiles() -> dict[str, Any]:
    """name -> the browser's storage, once they have signed in."""
    return {}


@pytest.fixture
def open_as(browser: "Browser", shared_console: str, profiles: dict[str, Any]) -> Iterator[OpenAs]:
    """`open_as("ana", java_script_enabled=False)`: a page; an error in any of its scripts fails the test."""
    contexts: list[BrowserContext] = []
    problems: list[Any] = []

    def open_page(name: str, **options: Any) -> "Page":
        wanted = {"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce", **options}
        context = browser.new_context(storage_state=profiles.get(name), **wanted)
        contexts.append(context)
        context.on("weberror", lambda error: problems.append(error.error))
        page = context.new_page()
        if name not in profiles:
            sign_in_at(shared_console, page, name)
            profiles[name] = context.storage_state()
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert problems == []
