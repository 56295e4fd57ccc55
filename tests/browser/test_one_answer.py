"""Two tabs, a lost session, a lost network: one answer, and nobody is left guessing."""

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from approvals.models import Answer
from runs import services
from runs.access import Actor
from runs.models import Step
from tests.browser.conftest import SignIn
from tests.processes import until

if TYPE_CHECKING:
    from playwright.sync_api import Page

AGENT = Actor("desk", frozenset(), "agent", agent="desk")


@pytest.fixture
def address(console: str) -> str:
    """The page of a question: a charge that can be undone."""
    thread = services.start_thread(AGENT, "desk", "u-21")
    services.start(AGENT, thread, services.RunRequest(text="charge order 4412 40.00"))
    until(lambda: Step.objects.filter(state="needs_approval").exists(), "the question")
    return f"{console}/questions/{Step.objects.get(state='needs_approval').pk}/"


def test_a_double_click_and_a_second_tab_are_one_answer(page: "Page", sign_in: SignIn, address: str) -> None:
    sign_in(page, "ana")
    second = page.context.new_page()
    for tab in (page, second):
        tab.goto(address)
    page.get_by_role("button", name="Approve").dblclick()
    expect(page.get_by_role("heading", name="Recorded")).to_be_visible()
    second.get_by_label("Reason").fill("not this one")
    second.get_by_role("button", name="Cancel all").click()
    expect(second.locator(".panel")).to_contain_text("Answered by Ana Ferreira")
    assert Answer.objects.count() == 1


def test_signed_out_keeps_what_was_typed(page: "Page", sign_in: SignIn, address: str) -> None:
    sign_in(page, "ana")
    page.goto(address)
    page.get_by_label("Reason").fill("the customer wrote again")
    page.context.clear_cookies(name="sessionid")
    page.get_by_role("button", name="Skip this step").click()
    expect(page.locator("#banner")).to_contain_text("Signed out. Your answer was not sent.")
    assert page.get_by_label("Reason").input_value() == "the customer wrote again"
    sign_in(page.context.new_page(), "ana")
    page.get_by_role("button", name="Skip this step").click()
    expect(page.get_by_role("heading", name="Recorded")).to_be_visible()


def test_a_lost_network_is_not_an_answer_and_not_sent_again(
    page: "Page", sign_in: SignIn, address: str
) -> None:
    sign_in(page, "ana")
    page.goto(address)
    page.context.set_offline(True)
    page.get_by_role("button", name="Approve").click()
    expect(page.locator("#banner")).to_contain_text("We don't know whether your answer was recorded.")
    page.context.set_offline(False)
    page.get_by_role("link", name="Check").click()
    expect(page.get_by_text("Your answer was not recorded. The question is still open.")).to_be_visible()
    assert not Answer.objects.exists()


def test_shortcuts_move_the_focus_and_never_press(page: "Page", sign_in: SignIn, address: str) -> None:
    sign_in(page, "ana")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(address)
    page.keyboard.press("a")
    expect(page.get_by_role("button", name="Approve")).to_be_focused()
    assert not Answer.objects.exists()


def test_shortcuts_can_be_switched_off(page: "Page", sign_in: SignIn, address: str) -> None:
    sign_in(page, "ana")
    page.get_by_role("link", name="Settings").click()
    page.get_by_role("button", name="Shortcuts: on").click()
    expect(page.get_by_role("button", name="Shortcuts: off")).to_be_visible()
    page.goto(address)
    page.keyboard.press("a")
    expect(page.get_by_role("button", name="Approve")).not_to_be_focused()
