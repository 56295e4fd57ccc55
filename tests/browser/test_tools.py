"""Tools and agents, and a plan that is tried, in a browser: by keyboard, without scripts, on a phone."""

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from runs.models import Run
from tests.browser.conftest import SignIn
from tests.browser.widths import too_wide

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

TURN = (
    "charge order 4411 40.00, then send the receipt for order 4411, then provision the account for order 4411"
)
LEFT = (
    "“Charge 40.00 to order 4411” is undone by refund_card, and “Send the receipt for order 4411” stays done."
)


def test_an_agent_is_chosen_searched_and_tried_by_keyboard(
    page: "Page", sign_in: SignIn, console: str
) -> None:
    sign_in(page, "ana")
    page.get_by_role("link", name="Tools and agents").press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Tools and agents")
    page.get_by_role("link", name="returns", exact=True).press("Enter")
    expect(page.get_by_role("link", name="returns", exact=True)).to_have_attribute("aria-current", "page")
    page.get_by_role("searchbox").fill("bicycle")
    page.keyboard.press("Enter")
    expect(page.get_by_text("No write of returns has “bicycle”")).to_be_visible()
    page.get_by_role("searchbox").fill("refund")
    page.keyboard.press("Enter")
    expect(page.locator(".writes tbody tr")).to_have_count(2)
    page.get_by_role("link", name="Try a plan").press("Enter")
    expect(page.get_by_label("Agent")).to_have_value("returns")


def test_a_finding_of_a_write_leads_to_its_words(page: "Page", sign_in: SignIn, console: str) -> None:
    sign_in(page, "ana")
    page.goto(f"{console}/tools/?agent=desk")
    provision = page.locator(".writes tr").filter(has_text="provision_account")
    provision.get_by_role("link", name="findings").click()
    expect(page.locator("#found")).to_be_focused()
    expect(page.locator("#found")).to_contain_text("a write neither compensated nor marked irreversible")
    expect(page.get_by_role("img", name="Each write")).to_be_visible()


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
def test_a_plan_is_tried(browser: "Browser", sign_in: SignIn, console: str, scripts: bool) -> None:
    context = browser.new_context(java_script_enabled=scripts)
    page = context.new_page()
    sign_in(page, "ana")
    page.goto(f"{console}/tools/plan/?agent=desk")
    page.get_by_label("The turn").fill(TURN)
    page.get_by_role("button", name="Try it").click()
    expect(page.get_by_role("heading", name="3 calls, 3 questions")).to_be_visible()
    expect(page.locator(".tried li").last).to_contain_text(LEFT)
    assert not Run.objects.exists()
    context.close()


def test_nothing_scrolls_sideways(page: "Page", sign_in: SignIn, console: str) -> None:
    sign_in(page, "ana")
    for address in ("/tools/?agent=desk", "/tools/?agent=resolver", "/tools/plan/"):
        page.goto(console + address)
        if "plan" in address:
            page.get_by_label("The turn").fill(TURN)
            page.get_by_role("button", name="Try it").click()
            page.locator(".tried").wait_for()
        for fold in page.locator("details > summary").all():
            fold.click()
        assert too_wide(page) == [], address
