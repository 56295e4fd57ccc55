"""Two tabs, two people, a lost session, a lost network: one answer, and nobody is left guessing."""

import re
from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from runs.models import Step
from tests.browser.accessible import violations
from tests.browser.conftest import OpenAs
from tests.browser.questions import answers, asked

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

CENTS = count(1)  # so that each question has a title of its own


@pytest.fixture
def step(shared_console: str) -> Iterator[Step]:
    """A charge that can be undone."""
    with asked(f"charge order 4412 40.{next(CENTS):02}") as step:
        yield step


@pytest.fixture
def mail(shared_console: str) -> Iterator[Step]:
    """What nothing undoes."""
    with asked("send the receipt for order 4412") as step:
        yield step


@pytest.fixture
def address(shared_console: str, step: Step) -> str:
    """Its page."""
    return f"{shared_console}/questions/{step.pk}/"


# --- Twice ---------------------------------------------------------------------------------------------


def test_a_double_click_and_a_second_tab_are_one_answer(open_as: OpenAs, step: Step, address: str) -> None:
    page = open_as("ana")
    second = page.context.new_page()
    for tab in (page, second):
        tab.goto(address)
    page.get_by_role("button", name="Approve").dblclick()
    expect(page.get_by_role("heading", name="Recorded")).to_be_visible()
    second.get_by_label("Reason").fill("not this one")
    second.get_by_role("button", name="Cancel all").click()
    expect(second.locator(".panel")).to_contain_text("Answered by Ana Ferreira")
    assert answers(step) == [("approve", "Ana Ferreira")]


def test_a_double_click_on_what_nothing_undoes_only_opens_the_last_look(
    open_as: OpenAs, shared_console: str, mail: Step
) -> None:
    page = open_as("ana")
    page.goto(f"{shared_console}/questions/{mail.pk}/")
    page.get_by_role("link", name="Approve…").dblclick()
    expect(page.get_by_role("heading", name="One last look")).to_be_visible()
    expect(page.locator(".panel").get_by_role("link", name="Cancel")).to_be_focused()
    assert violations(page) == []
    page.get_by_role("button", name="Send the receipt for order 4412").dblclick()
    expect(page.get_by_role("heading", name="Recorded")).to_be_visible()
    assert answers(mail) == [("approve", "Ana Ferreira")]


def test_the_second_of_two_people_is_told_who_answered_what_and_keeps_the_note(
    open_as: OpenAs, step: Step, address: str
) -> None:
    first, second = open_as("ana"), open_as("tom")
    for page in (first, second):
        page.goto(address)
    second.get_by_label("Reason").fill("the customer wrote again")
    first.get_by_role("button", name="Approve").click()
    expect(first.get_by_role("heading", name="Recorded")).to_be_visible()
    second.get_by_role("button", name="Skip this step").click()
    panel = second.locator(".panel")
    expect(panel).to_contain_text(re.compile(r"Answered by Ana Ferreira, \d\d:\d\d:\d\d UTC: approve"))
    expect(panel).to_contain_text("What you wrote, and did not send: “the customer wrote again”")
    expect(panel.get_by_role("button")).to_have_count(0)
    expect(second.locator("#announce")).not_to_be_empty()
    assert violations(second) == []
    assert answers(step) == [("approve", "Ana Ferreira")]


def test_a_call_that_changed_is_shown_anew_before_it_can_be_answered(
    open_as: OpenAs, step: Step, address: str
) -> None:
    page = open_as("ana")
    page.goto(address)
    page.get_by_label("Reason").fill("the customer wrote again")
    Step.objects.filter(pk=step.pk).update(
        digest="c" * 64, warnings=["Nothing can undo this step once it runs."]
    )
    page.get_by_role("button", name="Skip this step").click()
    panel = page.locator(".panel")
    expect(page.get_by_role("heading", name="The call changed")).to_be_focused()
    expect(panel.locator("ins")).to_have_text("Nothing can undo this step once it runs.")
    expect(panel.get_by_role("button")).to_have_text("Review the new version")
    assert violations(page) == []
    page.get_by_role("button", name="Review the new version").click()
    assert page.get_by_label("Reason").input_value() == "the customer wrote again"
    page.get_by_role("button", name="Skip this step").click()
    expect(page.get_by_role("heading", name="Recorded")).to_be_visible()
    assert answers(step) == [("skip", "Ana Ferreira")]


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
def test_back_never_shows_buttons_of_what_is_answered(open_as: OpenAs, address: str, scripts: bool) -> None:
    page = open_as("ana", java_script_enabled=scripts)
    page.goto(address)
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("heading", name="Recorded")).to_be_visible()
    page.get_by_role("link", name="Needs you").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Needs you")
    for _ in range(2 - scripts):  # without scripts the receipt is a page of its own
        page.go_back()
    expect(page).to_have_url(address)
    expect(page.locator(".panel")).to_contain_text("Answered by")
    expect(page.get_by_role("button", name="Approve")).to_have_count(0)


# --- Lost ----------------------------------------------------------------------------------------------


def test_signed_out_keeps_what_was_typed(open_as: OpenAs, address: str) -> None:
    page = open_as("ana")
    page.goto(address)
    page.get_by_label("Reason").fill("the customer wrote again")
    session = page.context.cookies()
    page.context.clear_cookies(name="sessionid")
    page.get_by_role("button", name="Skip this step").click()
    expect(page.locator("#banner")).to_contain_text("Signed out. Your answer was not sent.")
    assert violations(page) == []
    assert page.get_by_label("Reason").input_value() == "the customer wrote again"
    page.context.add_cookies(session)  # type: ignore[arg-type]
    page.get_by_role("button", name="Skip this step").click()
    expect(page.get_by_role("heading", name="Recorded")).to_be_visible()


def test_a_lost_network_is_not_an_answer_and_not_sent_again(
    open_as: OpenAs, step: Step, address: str
) -> None:
    page = open_as("ana")
    page.goto(address)
    page.context.set_offline(True)
    page.get_by_role("button", name="Approve").click()
    expect(page.locator("#banner")).to_contain_text("We don't know whether your answer was recorded.")
    page.context.set_offline(False)
    page.get_by_role("link", name="Check").click()
    expect(page.get_by_text("Your answer was not recorded. The question is still open.")).to_be_visible()
    assert answers(step) == []


def test_an_answer_whose_reply_was_lost_is_found_by_the_check_and_is_one(
    open_as: OpenAs, step: Step, address: str
) -> None:
    page = open_as("ana")
    page.goto(address)
    sent = _lose_replies(page)
    page.get_by_role("button", name="Approve").click()
    expect(page.locator("#banner")).to_contain_text("We don't know whether your answer was recorded.")
    assert violations(page) == []
    page.unroute_all()
    page.get_by_role("link", name="Check").click()
    expect(page.get_by_role("heading", name="Recorded")).to_be_visible()
    expect(page.locator(".panel")).to_contain_text("Approve, Ana Ferreira")
    assert (len(sent), answers(step)) == (1, [("approve", "Ana Ferreira")])


def test_pressing_again_after_a_lost_reply_is_the_same_answer(
    open_as: OpenAs, step: Step, address: str
) -> None:
    page = open_as("ana")
    page.goto(address)
    _lose_replies(page)
    page.get_by_role("button", name="Approve").click()
    expect(page.locator("#banner")).to_contain_text("We don't know whether your answer was recorded.")
    page.unroute_all()
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("heading", name="Recorded")).to_be_visible()
    expect(page.locator("#banner")).to_be_empty()
    assert answers(step) == [("approve", "Ana Ferreira")]


def test_a_slow_server_is_waited_for_once_by_a_button_that_says_so_and_then_nobody_knows(
    open_as: OpenAs, step: Step, address: str
) -> None:
    page = open_as("ana")
    page.goto(address)
    assert page.evaluate("htmx.config.timeout") == 10_000
    page.evaluate("htmx.config.timeout = 1500")
    held: list[Route] = []
    page.route("**/questions/**", lambda route: held.append(route) if _posts(route) else route.continue_())
    approve = page.get_by_role("button", name="Approve")
    approve.click()
    for button in page.locator(".panel form button.choice").all():
        expect(button).to_be_disabled()
    expect(approve).to_have_accessible_name(re.compile("Sending…"))
    expect(page.locator("#announce")).to_have_text("Sending…")
    expect(page.locator("#banner")).to_contain_text("We don't know whether your answer was recorded.")
    expect(approve).to_be_enabled()
    expect(approve).not_to_have_accessible_name(re.compile("Sending…"))
    expect(page.locator("#announce")).to_be_empty()
    assert len(held) == 1
    page.unroute_all(behavior="ignoreErrors")
    page.get_by_role("link", name="Check").click()
    expect(page.get_by_text("Your answer was not recorded.")).to_be_visible()
    assert answers(step) == []


def _lose_replies(page: "Page") -> list[str]:
    """The server acts on what is posted, and its reply is lost. Returns what was posted, as it comes."""
    sent: list[str] = []

    def lose(route: "Route") -> None:
        if not _posts(route):
            route.continue_()
            return
        sent.append(route.request.post_data or "")
        route.fetch(max_redirects=0)
        route.abort("connectionreset")

    page.route("**/questions/**", lose)
    return sent


def _posts(route: "Route") -> bool:
    return route.request.method == "POST"
