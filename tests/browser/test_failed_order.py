"""The failed order, in a browser: a person approves each write, sees what cannot be undone, and gets one reply."""

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import SignIn

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

TURN = (
    "charge order 4411 40.00, then send the receipt for order 4411, then provision the account for order 4411"
)
REPLY = (
    "This run stopped: provision_account failed (RuntimeError). Undone, latest first: charge_card (by refund_card). "
    "Not undoable, and left as they are: send_receipt."
)
WARNINGS = [
    "Nothing can undo this step once it runs.",
    "Nothing undoes this step, and the steps after it cannot undo it.",
]
pytestmark = pytest.mark.usefixtures("workers")
PATIENCE = 20_000  # milliseconds: real processes carry it out


def start(page: "Page", console: str, user: str) -> None:
    """A new conversation, and the turn, with a provisioning service that is down."""
    page.goto(f"{console}/conversations/")
    page.get_by_label("User").fill(user)
    page.get_by_role("button", name="Start").click()
    page.get_by_label("The next turn").fill(TURN)
    page.get_by_text("Practice: let a call fail").click()
    page.get_by_label("Tool").select_option("provision_account")
    page.get_by_label("How").select_option("down")
    page.get_by_role("button", name="Send").click()


def card(page: "Page", title: str) -> "Locator":
    """The question of this title, in its place in the conversation."""
    found = page.locator(".question-card").filter(has=page.get_by_role("link", name=title, exact=True))
    found.wait_for(timeout=PATIENCE)
    return found


def test_each_write_is_approved_and_the_failed_order_is_undone(
    page: "Page", console: str, sign_in: SignIn
) -> None:
    refused: list[str] = []
    page.on("console", lambda line: refused.append(line.text) if "Content Security" in line.text else None)
    sign_in(page, "ana")
    start(page, console, "u-18")

    card(page, "Charge 40.00 to order 4411").get_by_role("button", name="Approve").click()

    receipt = card(page, "Send the receipt for order 4411")
    assert receipt.locator(".irreversible-banner p").all_inner_texts() == WARNINGS
    receipt.get_by_role("link", name="Approve…").click()
    expect(receipt.get_by_role("link", name="Cancel")).to_be_focused()
    receipt.get_by_role("button", name="Send the receipt for order 4411").click()

    card(page, "Provision the account for order 4411").get_by_role("button", name="Approve").click()

    expect(page.locator(".answer .exact")).to_have_text(REPLY, timeout=PATIENCE)
    page.get_by_role("link", name=re.compile(r"R-\d+")).first.click()
    expect(page.locator(".reply")).to_have_text(REPLY)
    expect(page.get_by_role("heading", level=1)).to_have_text("Stopped at step 3, and undone")
    expect(page.get_by_role("img", name="The writes of this run")).to_be_visible()
    assert refused == []


def test_the_same_on_the_pages_of_the_questions_without_scripts(
    page: "Page", console: str, sign_in: SignIn
) -> None:
    assert page.context.browser
    plain = page.context.browser.new_context(java_script_enabled=False).new_page()
    sign_in(plain, "ana")
    start(plain, console, "u-19")

    answer_next(plain, "Charge 40.00 to order 4411")
    plain.get_by_role("button", name="Approve").click()
    expect(plain.get_by_role("heading", name="Recorded")).to_be_visible()

    answer_next(plain, "Send the receipt for order 4411")
    assert plain.locator(".irreversible-banner p").all_inner_texts() == WARNINGS
    plain.get_by_role("link", name="Approve…").click()
    plain.get_by_role("button", name="Send the receipt for order 4411").click()

    answer_next(plain, "Provision the account for order 4411")
    plain.get_by_role("button", name="Approve").click()

    plain.get_by_role("link", name=re.compile(r"R-\d+")).first.click()
    reload_until(plain, plain.locator(".reply"))
    expect(plain.locator(".reply")).to_have_text(REPLY)
    plain.context.close()


def answer_next(page: "Page", title: str) -> None:
    """Open a question from the list of what needs this person."""
    page.get_by_role("link", name="Needs you").first.click()
    link = page.get_by_role("link", name=title)
    reload_until(page, link)
    link.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(title)


def reload_until(page: "Page", wanted: "Locator") -> None:
    """Without scripts a page is looked at again by loading it again."""
    for _ in range(PATIENCE // 100):
        if wanted.count():
            return
        page.wait_for_timeout(100)
        page.reload()
    raise AssertionError(f"{wanted} did not come")
