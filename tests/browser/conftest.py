"""A console that runs: real web server, real worker, practice services; and people who sign in."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import httpx
import pytest

from examples.services.process import Services
from runs.demo import PASSWORD, make_logins
from tests.processes import Processes

if TYPE_CHECKING:
    from playwright.sync_api import Page

SignIn = Callable[["Page", str], None]


@pytest.fixture
def console(processes: Processes, services: Services) -> str:
    """The address of the console, with the demo people, on fresh books."""
    httpx.post(f"{services.url}/reset", trust_env=False).raise_for_status()
    make_logins()
    url = processes.web()
    processes.worker()
    processes.sweep()
    return url


@pytest.fixture
def sign_in(console: str) -> SignIn:
    """Signs somebody in on a page, by the form."""

    def sign(page: "Page", name: str) -> None:
        page.goto(console)
        page.get_by_label("Name").fill(name)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("heading", name="Needs you").wait_for()

    return sign
