"""A decision is taken with everything in sight on an ordinary screen; on a phone and at 400 % it is all there too."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from approvals.models import Delivery, Webhook
from runs.models import LedgerEntry, Message, Run, Step, Thread
from runs.parking import CANNOT_UNDO, LATER_CANNOT_UNDO
from tests.browser.accessible import violations_in_every_look
from tests.browser.conftest import OpenAs
from tests.browser.questions import answers, asked
from tests.browser.widths import too_wide

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

SIX = {
    "order": 4411,
    "to": "mia.olsen@example.com",
    "amount": "40.00",
    "currency": "EUR",
    "charge": "ch_7Qd21",
    "note": "Thank you for your order",
}
ORDINARY = {"width": 1280, "height": 800}


@pytest.fixture(scope="module")
def question(shared_console: str) -> str:
    """The page of a confirmation: a call of six arguments, the second of three steps, that nothing undoes."""
    thread = Thread.objects.create(agent="desk", user="u-18")
    run = Run.objects.create(thread=thread, state="waiting")
    Message.objects.create(thread=thread, run=run, role="user", text="charge, then mail, then provision")
    order = {"order": 4411}
    args = {**order, "amount": "40.00"}
    entry = LedgerEntry.objects.create(
        key="k" * 64, tool="charge_card", args=args, state="performed", result={"charge": "ch_7Qd21"}
    )
    common = {"run": run, "thread": thread}
    Step.objects.create(number=1, tool="charge_card", args=args, state="performed", entry=entry, **common)
    step = Step.objects.create(
        number=2,
        tool="send_receipt",
        args=SIX,
        state="needs_approval",
        asks="confirm",
        approver="support",
        warnings=[CANNOT_UNDO, LATER_CANNOT_UNDO],
        digest="d" * 64,
        asked_at=run.created_at,
        waits=True,
        **common,
    )
    Step.objects.create(number=3, tool="provision_account", args=order, **common)
    return f"{shared_console}/questions/{step.pk}/"


@pytest.fixture
def letter(shared_console: str) -> Iterator[Step]:
    """A message of two pages."""
    with asked(f'tell the customer of order SU-90317 "{"We are sorry. " * 130}"', agent="returns") as step:
        yield step


def _in_sight(part: "Locator") -> bool:
    """The whole of it, in the window as it is."""
    box = part.bounding_box()
    window = part.page.viewport_size
    assert box and window, part
    return box["y"] >= 0 and box["y"] + box["height"] <= window["height"]


def _answers(page: "Page") -> "list[Locator]":
    return [*page.locator(".panel .choice").all(), page.get_by_label("Reason")]


def test_all_that_a_decision_rests_on_is_in_sight_with_its_answers(open_as: OpenAs, question: str) -> None:
    page = open_as("ana", viewport=ORDINARY)
    page.goto(question)
    for what, part in {
        "what will happen": page.get_by_role("heading", level=1),
        "that nothing undoes it": page.locator(".irreversible-banner"),
        "which call": page.get_by_role("heading", name="The call"),
        "its arguments": page.locator(".facts").first,
        "what is done": page.locator(".plan li").first,
        "what comes after it": page.locator(".plan li").last,
        "what would be left": page.locator(".plan + .note"),
    }.items():
        assert _in_sight(part), what
    arguments = page.locator(".facts").first.locator("dd")
    assert sorted(arguments.all_inner_texts()) == sorted(str(value) for value in SIX.values())
    expect(page.locator(".plan + .note")).to_contain_text("stays done")
    assert len(_answers(page)) == 4
    assert all(_in_sight(part) for part in _answers(page))


def test_a_long_message_is_whole_and_pushes_neither_warning_nor_answers_away(
    open_as: OpenAs, shared_console: str, letter: Step
) -> None:
    page = open_as("ana", viewport=ORDINARY)
    page.goto(f"{shared_console}/questions/{letter.pk}/")
    expect(page.locator(".facts").first).to_contain_text(letter.args["text"].strip())
    assert _in_sight(page.locator(".irreversible-banner"))
    assert all(_in_sight(part) for part in _answers(page))
    page.get_by_role("link", name="Approve…").click()
    assert _in_sight(page.locator(".panel .is-irreversible"))


def test_the_last_look_is_accessible_and_fits(open_as: OpenAs, question: str) -> None:
    page = open_as("ana", bypass_csp=True)
    page.goto(f"{question}?sure=1")
    assert violations_in_every_look(page) == []
    assert too_wide(page) == []


def test_on_a_phone_the_answers_come_after_what_they_rest_on(open_as: OpenAs, question: str) -> None:
    page = open_as("ana", viewport={"width": 360, "height": 780}, has_touch=True)
    page.goto(question)
    parts = [
        page.get_by_role("heading", level=1),
        page.locator(".irreversible-banner"),
        page.locator(".facts").first,
        page.locator(".plan + .note"),
        *_answers(page),
    ]
    tops = [box["y"] for part in parts if (box := part.bounding_box())]
    assert len(tops) == len(parts) and tops == sorted(tops)


def test_at_four_hundred_percent_a_question_is_read_and_answered(
    open_as: OpenAs, shared_console: str, letter: Step
) -> None:
    """1280 x 800 at 400 % is 320 x 200: nothing sticks over what is read, and nothing scrolls sideways."""
    page = open_as("ana", viewport={"width": 320, "height": 200}, device_scale_factor=4)
    page.goto(f"{shared_console}/questions/{letter.pk}/")
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    stuck = """() => [...document.querySelectorAll("body *")].filter(
        (one) => ["sticky", "fixed"].includes(getComputedStyle(one).position)).length"""
    assert page.evaluate(stuck) == 0
    page.get_by_label("Reason").fill("too long")
    page.get_by_role("button", name="Skip this step").click()
    expect(page.get_by_role("heading", name="Recorded")).to_be_in_viewport()
    assert answers(letter) == [("skip", "Ana Ferreira")]


def test_the_pages_of_webhooks_do_not_scroll_sideways(open_as: OpenAs, shared_console: str) -> None:
    hook = Webhook.objects.create(url=f"https://hooks.example.com/{'stalwart' * 20}", kinds=["run.ended"])
    error = "ConnectError: " + "a" * 200
    Delivery.objects.create(message=f"msg_{'0' * 32}", kind="run.ended", body="{}", webhook=hook, error=error)
    page = open_as("olga")
    for address in ("/settings/webhooks/", f"/settings/webhooks/{hook.pk}/"):
        page.goto(shared_console + address)
        assert too_wide(page) == [], address
