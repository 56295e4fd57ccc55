"""A handover in a browser: claimed by one of two, noted, resolved; with scripts and without; on a phone."""

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from approvals.models import Claim, Note
from runs.models import Run
from tests.browser.conftest import SignIn
from tests.browser.widths import too_wide
from tests.handed_over import TICKET, rows

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture
def bench(console: str) -> str:
    """The page of the garden bench."""
    return f"{console}/handovers/{rows().pk}/"


def test_one_of_two_has_it_and_the_other_is_told(
    page: "Page", console: str, sign_in: SignIn, bench: str
) -> None:
    assert page.context.browser
    other = page.context.browser.new_context().new_page()
    sign_in(page, "ana")
    sign_in(other, "tom")
    for somebody in (page, other):
        somebody.goto(bench)
        expect(somebody.get_by_text(TICKET["customer_told"])).to_be_visible()
        expect(somebody.get_by_text(TICKET["next_action"])).to_be_visible()
    other.get_by_label("A note for the next person").fill("The courier comes on Friday.")
    page.get_by_role("button", name="Claim").dblclick()
    expect(page.get_by_role("heading", name="You have it")).to_be_focused()
    expect(page.locator("#handover-state")).to_have_text("claimed")
    expect(page.locator("#announce")).to_have_text("You have it now.")
    expect(page.locator("#rail-handovers")).to_have_text("")

    other.get_by_role("button", name="Claim").click()
    expect(other.locator("#handover-panel .error")).to_contain_text("Ana Ferreira has it, since ")
    expect(other.get_by_role("heading", name="Ana Ferreira has it")).to_be_visible()
    other.get_by_role("button", name="Keep the note").click()  # what was being written is still there
    expect(other.locator("#handover-notes li")).to_contain_text("The courier comes on Friday.")

    page.get_by_role("button", name="Resolve").click()
    expect(page.locator("#handover-panel .error")).to_contain_text("Say what was done")
    page.get_by_label("What was done?").fill("Refunded $14.95 by hand, rf_22.")
    page.get_by_role("button", name="Resolve").click()
    expect(page.get_by_role("heading", name="Resolved")).to_be_focused()
    expect(page.locator("#handover-state")).to_have_text("resolved")
    assert [(claim.by, claim.done) for claim in Claim.objects.all()] == [
        ("Ana Ferreira", "Refunded $14.95 by hand, rf_22.")
    ]
    other.context.close()


def test_the_same_without_scripts(page: "Page", console: str, sign_in: SignIn, bench: str) -> None:
    assert page.context.browser
    plain = page.context.browser.new_context(java_script_enabled=False).new_page()
    sign_in(plain, "ana")
    plain.get_by_role("link", name="Handovers").first.click()
    plain.get_by_role("link", name="Order SU-90317: two done, one not").click()
    plain.get_by_role("button", name="Claim").click()
    plain.get_by_label("A note for the next person").fill("Called back.")
    plain.get_by_role("button", name="Keep the note").click()
    expect(plain.get_by_text("Called back.")).to_be_visible()
    plain.get_by_label("What was done?").fill("Refunded.")
    plain.get_by_role("button", name="Resolve").click()
    expect(plain.get_by_role("heading", name="Resolved")).to_be_visible()
    plain.get_by_role("link", name="Handovers").first.click()
    expect(plain.get_by_text("No handover waits for somebody")).to_be_visible()
    plain.context.close()


def test_signed_out_keeps_what_was_typed(page: "Page", sign_in: SignIn, bench: str) -> None:
    sign_in(page, "ana")
    page.goto(bench)
    page.get_by_label("A note for the next person").fill("the buyer wrote again")
    page.context.clear_cookies(name="sessionid")
    page.get_by_role("button", name="Keep the note").click()
    expect(page.locator("#banner")).to_contain_text("Signed out.")
    assert page.get_by_label("A note for the next person").input_value() == "the buyer wrote again"
    assert not Note.objects.exists()


def test_a_lost_network_is_said_and_nothing_is_sent_again(page: "Page", sign_in: SignIn, bench: str) -> None:
    sign_in(page, "ana")
    page.goto(bench)
    page.context.set_offline(True)
    page.get_by_role("button", name="Claim").click()
    expect(page.locator("#banner")).to_contain_text("We don't know whether this was recorded.")
    page.context.set_offline(False)
    page.get_by_role("link", name="Check").click()
    expect(page.get_by_role("button", name="Claim")).to_be_visible()
    assert not Claim.objects.exists()


def test_it_fits_a_phone_and_paper(page: "Page", console: str, sign_in: SignIn, bench: str) -> None:
    sign_in(page, "ana")
    for address in (bench, f"{console}/handovers/"):
        page.goto(address)
        assert too_wide(page) == [], address
    page.goto(bench)
    page.emulate_media(media="print")
    expect(page.get_by_role("heading", name="Completed")).to_be_visible()
    expect(page.get_by_role("button", name="Claim")).to_be_hidden()
    expect(page.get_by_role("button", name="Keep the note")).to_be_hidden()


@pytest.mark.usefixtures("workers")
def test_an_operator_undoes_a_run_after_a_second_look(page: "Page", console: str, sign_in: SignIn) -> None:
    assert page.context.browser
    someone = page.context.browser.new_context()
    run = start_and_approve(someone.new_page(), console, sign_in)
    someone.close()
    sign_in(page, "olga")
    page.goto(f"{console}/runs/{run.pk}/")
    page.get_by_text("Undo this run…").click()
    expect(page.get_by_text("This will be undone:")).to_be_visible()
    page.get_by_role("button", name="Undo: Charge 40.00 to order 4411").click()
    expect(page.get_by_role("button", name="Undo: Charge")).to_have_count(0)
    for _ in range(100):
        run.refresh_from_db()
        if run.state == "rolled_back":
            break
        page.wait_for_timeout(100)
    assert run.state == "rolled_back"
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_contain_text("undone")


def start_and_approve(page: "Page", console: str, sign_in: SignIn) -> Run:
    """A charge that was approved and carried out."""
    sign_in(page, "ana")
    page.goto(f"{console}/conversations/")
    page.get_by_label("User").fill("u-30")
    page.get_by_role("button", name="Start").click()
    page.get_by_label("The next turn").fill("charge order 4411 40.00")
    page.get_by_role("button", name="Send").click()
    page.locator(".question-card").get_by_role("button", name="Approve").click(timeout=20_000)
    expect(page.locator(".answer .exact")).to_contain_text("Done:", timeout=20_000)
    return Run.objects.get()
