"""Every page, with the practice queue in it: what it loads, from where, under which policy; how it is to be used."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from django.urls import resolve

from tests.browser.accessible import violations_in_every_look
from tests.browser.conftest import sign_in_at
from tests.browser.widths import too_wide
from tests.integration.pages import routes
from tests.processes import Processes
from tests.screenshots import PAGES, add_webhook, open_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

# Pages that come with what they are made of, so that a picture of them shows nothing of ours.
OF_OTHERS = {
    "admin": "/admin/",
    "admin: a list": "/admin/runs/run/",
    "admin: a row": "/admin/runs/run/1/change/",
    "admin: a person": "/admin/auth/user/1/change/",
    "the API's document": "/api/v1/docs",
}
NO_PAGE_TO_OPEN = {
    "news/": "a part of a page",
    "questions/<int:step_id>/card/": "a part of a page",
    "questions/<int:step_id>/lookup/": "a part of a page",
    "questions/<int:step_id>/run/": "a part of a page",
    "conversations/<uuid:thread_id>/pulse/": "a part of a page",
    "workers/now/": "a part of a page",
    "questions/together/<str:nonce>/": "there once something was answered: test_bulk.py",
    "explorer/": "leads to its first case",
    r"runs/export\.(?P<kind>csv|json)$": "a file",
    "login/": "tested below",
    "logout/": "leads to the login",
    "health": "a word",
}
MOST_BYTES = 120_000  # of a first page, and all that it loads


@pytest.fixture(scope="module")
def practice(house: Processes, web: str, browser: "Browser") -> str:
    """The address of a console with the practice queue in it. The tests only look."""
    house.worker(STALWART_WORKERS="2", STALWART_LOOK_AGAIN_SECONDS="3600")
    house.sweep()
    filling = house.start("practice")
    assert filling.process.wait(120) == 0, filling.said()
    add_webhook(browser, web)
    return web


@dataclass
class Visit:
    """What a page loaded, and what its console said."""

    responses: list[Any] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def load(self, response: Any) -> None:
        self.responses.append(response)

    def say(self, message: Any) -> None:
        if message.type in (
            "error",
            "warning",
        ):  # chromium also remarks what it did, such as an autofocus not needed
            self.said.append(message.text)


@pytest.fixture(scope="module")
def visitor(browser: "Browser", practice: str) -> "Iterator[Page]":
    """A page in which somebody who sees everything is signed in."""
    context = browser.new_context(reduced_motion="reduce")
    page = context.new_page()
    sign_in_at(practice, page, "admin")
    yield page
    context.close()


@pytest.fixture(scope="module")
def inspector(browser: "Browser", visitor: "Page") -> "Iterator[Page]":
    """The same person, in a browser that lets axe in."""
    context = browser.new_context(
        storage_state=visitor.context.storage_state(), bypass_csp=True, reduced_motion="reduce"
    )
    yield context.new_page()
    context.close()


@pytest.fixture
def visit(visitor: "Page") -> Iterator[Visit]:
    """What happens from now on."""
    seen = Visit()
    visitor.on("response", seen.load)
    visitor.on("console", seen.say)
    yield seen
    visitor.remove_listener("response", seen.load)
    visitor.remove_listener("console", seen.say)


@pytest.fixture(scope="module")
def opened() -> dict[str, str]:
    """name -> the address of each page that was opened so far."""
    return {}


@pytest.mark.parametrize("name", [*PAGES, *OF_OTHERS])
def test_it_comes_from_one_host_under_a_strict_policy(
    visitor: "Page", visit: Visit, practice: str, opened: dict[str, str], name: str
) -> None:
    assert open_page(visitor, practice, (PAGES | OF_OTHERS)[name]), "the practice queue has no such row"
    opened[name] = visitor.url
    visitor.wait_for_load_state("networkidle")
    assert {urlsplit(response.url).netloc for response in visit.responses} == {urlsplit(practice).netloc}
    for response in visit.responses:
        policy = response.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
    is_nowhere = visit.responses[0].status == 404  # the page itself, of which the console speaks then
    assert [line for line in visit.said if "status of 404" not in line or not is_nowhere] == []


def test_every_page_of_the_console_is_among_these(
    visitor: "Page", practice: str, opened: dict[str, str]
) -> None:
    for name in PAGES.keys() - opened.keys():
        open_page(visitor, practice, PAGES[name])
        opened[name] = visitor.url
    pages = {route for route in routes() if not route.startswith(("admin/", "api/"))}
    reached = {resolve(urlsplit(url).path).route.removeprefix("^") for url in opened.values()}
    assert pages - reached == set(NO_PAGE_TO_OPEN)


@pytest.mark.parametrize("name", PAGES)
def test_it_is_accessible_light_and_dark_and_fits_every_width(
    inspector: "Page", practice: str, name: str
) -> None:
    assert open_page(inspector, practice, PAGES[name]), "the practice queue has no such row"
    inspector.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    assert violations_in_every_look(inspector) == []
    assert too_wide(inspector) == []


def test_the_login_is_accessible_and_so_is_what_it_says_of_a_wrong_password(
    browser: "Browser", practice: str
) -> None:
    page = browser.new_context(bypass_csp=True).new_page()
    page.goto(f"{practice}/login/")
    assert violations_in_every_look(page) == []
    page.get_by_label("Name").fill("ana")
    page.get_by_label("Password").fill("not this")
    page.get_by_role("button", name="Sign in").click()
    page.locator("#error").wait_for()
    assert violations_in_every_look(page) == []
    assert too_wide(page) == []
    page.context.close()


def test_a_first_page_is_light(browser: "Browser", practice: str, figures: list[str]) -> None:
    """The login and the home page, with nothing in the cache; what goes over the wire, headers and all."""
    context = browser.new_context()
    page = context.new_page()
    loaded: list[float] = []
    seen = Visit()
    wire = context.new_cdp_session(page)
    wire.on("Network.loadingFinished", lambda event: loaded.append(event["encodedDataLength"]))
    wire.send("Network.enable")
    page.on("response", seen.load)
    sign_in_at(practice, page, "admin")
    page.wait_for_load_state("networkidle")
    context.close()
    assert len(loaded) > 10
    assert {one.headers.get("content-encoding") for one in seen.responses if one.status == 200} == {"gzip"}
    figures.append(f"login and home: {sum(loaded) / 1000:.0f} KB over the wire")
    assert sum(loaded) < MOST_BYTES
