"""Several calls are ticked and approved together: by the keyboard, and without scripts."""

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from approvals.models import Answer
from runs import services
from runs.access import Actor
from runs.demo import PASSWORD
from runs.models import Step
from tests.browser.conftest import SignIn
from tests.browser.widths import too_wide
from tests.processes import until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

AGENT = Actor("desk", frozenset(), "agent", agent="desk")
PATIENCE = 20_000  # milliseconds: real processes carry them out


@pytest.fixture
def questions(workers: None) -> list[Step]:
    """Three charges that can be undone, and a receipt that cannot."""
    for order in (4411, 4412, 4415):
        _start(f"charge order {order} 40.00", f"u-{order}")
    _start("send the receipt for order 4413", "u-4413")
    until(lambda: Step.objects.asking().count() == 4, "the questions")
    return list(Step.objects.asking().order_by("asked_at", "pk"))


def _start(turn: str, user: str) -> None:
    services.start(AGENT, services.start_thread(AGENT, "desk", user), services.RunRequest(text=turn))


def test_a_row_opens_the_whole_page_of_its_question(
    page: "Page", console: str, sign_in: SignIn, questions: list[Step]
) -> None:
    sign_in(page, "ana")
    page.get_by_role("link", name="Charge 40.00 to order 4412").click()
    page.get_by_role("heading", level=1, name="Charge 40.00 to order 4412").wait_for()
    expect(page.get_by_role("button", name="Approve")).to_be_visible()
    expect(page.get_by_role("link", name="Needs you").first).to_be_visible()


def test_two_are_ticked_seen_once_more_and_approved(
    page: "Page", console: str, sign_in: SignIn, questions: list[Step]
) -> None:
    sign_in(page, "ana")
    button = page.get_by_role("button", name="Approve the ticked ones…")
    expect(button).to_be_disabled()
    boxes = page.locator("input[name=pick]")
    expect(boxes).to_have_count(3)
    for place in (0, 1):
        boxes.nth(place).focus()
        page.keyboard.press("Space")
    for label in page.locator("label.tick").all():
        box = label.bounding_box()
        assert box and box["width"] >= 24 and box["height"] >= 24
    page.get_by_role("button", name="Approve 2 ticked…").press("Enter")

    page.get_by_role("heading", name="Approve these 2 calls").wait_for()
    expect(page.get_by_role("link", name="Cancel")).to_be_focused()
    assert Answer.objects.count() == 0
    page.get_by_role("button", name="Approve these 2 calls").press("Enter")

    page.get_by_role("heading", name="2 of 2 approved").wait_for()
    expect(page.locator(".came-of-it").get_by_text("performed")).to_have_count(2, timeout=PATIENCE)
    page.reload()
    page.get_by_role("heading", name="2 of 2 approved").wait_for()
    assert Answer.objects.count() == 2
    assert too_wide(page) == []
    page.set_viewport_size({"width": 1280, "height": 900})

    page.go_back()  # never to live buttons
    page.get_by_role("heading", name="Needs you").wait_for()
    expect(page.locator("input[name=pick]")).to_have_count(1)
    page.get_by_label("Tick all that are shown and can be undone").check()
    expect(page.get_by_role("button", name="Approve 1 ticked…")).to_be_enabled()


def test_it_works_without_scripts(browser: "Browser", console: str, questions: list[Step]) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(console)
    page.get_by_label("Name").fill("ana")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.locator("input[name=pick]").nth(2).check()
    page.get_by_role("button", name="Approve the ticked ones…").click()
    page.get_by_role("button", name="Approve this call").click()
    expect(page.get_by_role("heading", name="1 of 1 approved")).to_be_visible()
    context.close()
    [answered] = Answer.objects.all()
    assert answered.step_id == questions[2].pk
