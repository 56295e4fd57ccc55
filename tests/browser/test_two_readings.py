"""A turn that can be read in two ways, in a browser: a person presses what is meant, and that is what happens."""

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from runs.models import Run
from tests.browser.conftest import SignIn

if TYPE_CHECKING:
    from playwright.sync_api import Page

TURN = "look up order 4411, then look up order 4412, then send the receipt for the same order"

pytestmark = pytest.mark.usefixtures("workers")


def test_the_reading_that_is_meant_is_pressed(page: "Page", console: str, sign_in: SignIn) -> None:
    sign_in(page, "ana")
    page.goto(f"{console}/conversations/")
    page.get_by_label("User").fill("u-30")
    page.get_by_role("button", name="Start").click()
    page.get_by_label("The next turn").fill(TURN)
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("heading", name="Which of these is meant?")).to_be_visible()
    assert page.get_by_label("The next turn").input_value() == TURN
    assert not Run.objects.exists()
    meant = page.locator(".reading").filter(has_text="send_receipt(order=4412)")
    meant.get_by_role("button", name="Send this").click()
    expect(page.locator(".turn .exact")).to_have_text(
        "get_order(order=4411). get_order(order=4412). send_receipt(order=4412)"
    )
    assert Run.objects.get().steps.get(tool="send_receipt").args == {"order": 4412}
