"""The explorer in a browser: with scripts and without, on a screen and on a phone."""

import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from runs.models import Event, Run
from stalwart_site.explorer.cases import CASES
from tests.browser.conftest import SignIn
from tests.browser.widths import too_wide

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


def _address(console: str, stop: str, resume: str) -> str:
    return f"{console}/explorer/{stop}/{resume}/"


def test_each_choice_is_shown_in_place_and_has_its_address(
    page: "Page", sign_in: SignIn, console: str
) -> None:
    sign_in(page, "ana")
    page.get_by_role("link", name="Explorer").click()
    expect(page).to_have_url(_address(console, "after-the-write", "without-the-key"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("refunded twice")
    page.evaluate("window.here = true")
    page.get_by_role("link", name="with the key", exact=True).click()
    expect(page).to_have_url(_address(console, "after-the-write", "with-the-key"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("refunded once")
    expect(page).to_have_title(re.compile("refunded once"))
    expect(page.locator("#announce")).to_contain_text("The customer gets 9.95 CAD.")
    expect(page.get_by_role("link", name="with the key", exact=True)).to_be_focused()
    page.get_by_role("link", name="during the call").click()
    expect(page).to_have_url(_address(console, "during-the-call", "with-the-key"))
    assert page.evaluate("window.here")  # the page was never loaded again
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_contain_text("After the write, with the key")
    assert (Run.objects.count(), Event.objects.count()) == (0, 0)


def test_it_works_without_scripts(browser: "Browser", sign_in: SignIn, console: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    sign_in(page, "ana")
    page.get_by_role("link", name="Explorer").click()
    for stop, resume in (
        ("before the write", "with the key"),
        ("during the call", "without, as a new request"),
    ):
        page.get_by_role("link", name=stop).click()
        page.get_by_role("link", name=resume, exact=True).click()
    expect(page).to_have_url(_address(console, "during-the-call", "without-the-key"))
    expect(page.locator(".figures")).to_contain_text("19.90 CAD")
    context.close()


def test_no_case_scrolls_sideways(page: "Page", sign_in: SignIn, console: str) -> None:
    sign_in(page, "ana")
    for stop, resume in CASES:
        page.goto(_address(console, stop, resume))
        for fold in page.locator("details > summary").all():
            fold.click()
        assert too_wide(page) == [], (stop, resume)
