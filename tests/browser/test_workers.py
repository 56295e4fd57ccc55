"""The page of the workers, beside a worker that runs: it is paused and resumed there, and shows it by itself."""

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from runs.models import WorkerOrder
from tests.browser.conftest import SignIn

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.usefixtures("workers")
PATIENCE = 20_000  # milliseconds: it hears of an order at its next beat


def test_a_worker_is_paused_and_resumed_and_the_form_is_left_alone_meanwhile(
    page: "Page", console: str, sign_in: SignIn
) -> None:
    sign_in(page, "olga")
    page.get_by_role("link", name="Workers").click()
    roster = page.locator("#roster")
    expect(roster.get_by_text("idle", exact=True)).to_be_visible(timeout=PATIENCE)
    page.reload()  # the panel is there once a worker is
    page.get_by_label("Reason").fill("the card service")
    with page.expect_response("**/workers/now/**"):
        pass  # the poll came and went
    page.get_by_label("Reason").press_sequentially(" is down")
    page.get_by_role("button", name="Pause").click()
    expect(roster.get_by_text("paused", exact=True)).to_be_visible(timeout=PATIENCE)
    expect(roster).to_contain_text("“the card service is down”")
    assert WorkerOrder.objects.get().by == "Olga Petrova"

    page.get_by_role("button", name="Resume").click()
    expect(roster.get_by_text("idle", exact=True)).to_be_visible(timeout=PATIENCE)
    assert [order.what for order in WorkerOrder.objects.all()] == ["pause", "resume"]
