"""A decision is taken with everything in sight: no scrolling on an ordinary screen, no sideways scrolling on any."""

from typing import TYPE_CHECKING

import pytest

from approvals.models import Delivery, Webhook
from runs.models import LedgerEntry, Message, Run, Step, Thread
from runs.parking import CANNOT_UNDO, LATER_CANNOT_UNDO
from tests.browser.conftest import SignIn

if TYPE_CHECKING:
    from playwright.sync_api import Page

SIX = {
    "order": 4411,
    "to": "mia.olsen@example.com",
    "amount": "40.00",
    "currency": "EUR",
    "charge": "ch_7Qd21",
    "note": "Thank you for your order",
}


@pytest.fixture
def question(console: str) -> str:
    """The address of a confirmation: a call of six arguments, the second of three steps."""
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
    asked = Step.objects.create(
        number=2,
        tool="send_receipt",
        args=SIX,
        state="needs_approval",
        asks="confirm",
        approver="support",
        warnings=[CANNOT_UNDO, LATER_CANNOT_UNDO],
        digest="d" * 64,
        asked_at=run.created_at,
        **common,
    )
    Step.objects.create(number=3, tool="provision_account", args=order, **common)
    asked.refresh_from_db()
    return f"{console}/questions/{asked.pk}/"


def test_six_arguments_three_steps_and_the_answers_are_in_sight(
    page: "Page", sign_in: SignIn, question: str
) -> None:
    page.set_viewport_size({"width": 1280, "height": 800})
    sign_in(page, "ana")
    page.goto(question)
    for part in (
        page.locator(".facts").first,
        page.locator(".plan li").last,
        page.locator(".plan + .note"),
        page.get_by_role("button", name="Cancel all"),
        page.get_by_label("Reason"),
    ):
        box = part.bounding_box()
        assert box
        assert box["y"] + box["height"] <= 800, part


def test_no_page_scrolls_sideways(page: "Page", sign_in: SignIn, question: str, console: str) -> None:
    sign_in(page, "ana")
    run = Run.objects.get()
    for address in (
        question,
        f"{question}?sure=1",
        f"{console}/?who=all",
        f"{console}/runs/",
        f"{console}/runs/{run.pk}/",
        f"{console}/conversations/",
        f"{console}/conversations/{run.thread_id}/",
        f"{console}/settings/",
    ):
        _fits(page, address)


def test_the_page_of_the_workers_does_not_scroll_sideways(
    page: "Page", sign_in: SignIn, console: str
) -> None:
    sign_in(page, "olga")
    _fits(page, f"{console}/workers/")


def test_the_pages_of_webhooks_do_not_scroll_sideways(page: "Page", sign_in: SignIn, console: str) -> None:
    hook = Webhook.objects.create(url=f"https://hooks.example.com/{'stalwart' * 20}", kinds=["run.ended"])
    error = "ConnectError: " + "a" * 200
    Delivery.objects.create(message=f"msg_{'0' * 32}", kind="run.ended", body="{}", webhook=hook, error=error)
    sign_in(page, "olga")
    for address in (f"{console}/settings/webhooks/", f"{console}/settings/webhooks/{hook.pk}/"):
        _fits(page, address)


def _fits(page: "Page", address: str) -> None:
    page.goto(address)
    for width in (1280, 900, 768, 390, 320):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width, (address, width)
