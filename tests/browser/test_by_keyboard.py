"""By keyboard alone: from the login to an answer, the focus in sight all the way; shortcuts that never press."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from runs.demo import PASSWORD
from runs.models import Step
from tests.browser.conftest import OpenAs
from tests.browser.questions import answers, asked

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

MANY = 120  # more stops than any of these pages has
# Of what has the focus: '' where it is seen, else what hides it. A row of a list shows the focus of its link.
HIDDEN = """() => {
  const here = document.activeElement;
  const box = here.getBoundingClientRect();
  const name = here.outerHTML.slice(0, 120);
  const marked = [here, here.closest("tr")].some((one) => one && getComputedStyle(one).outlineStyle !== "none");
  if (!marked) return `not marked: ${name}`;
  const x = Math.max(box.left, 0) + 3, y = Math.max(box.top, 0) + 3;
  if (box.bottom < 4 || x > innerWidth || y > innerHeight) return `out of sight: ${name}`;
  const top = document.elementFromPoint(x, y);
  return top && (here.contains(top) || top.contains(here)) ? "" : `under ${top && top.className}: ${name}`;
}"""


@pytest.fixture
def step(shared_console: str) -> Iterator[Step]:
    """A charge that can be undone."""
    with asked("charge order 4413 41.00") as step:
        yield step


@pytest.fixture
def mail(shared_console: str) -> Iterator[Step]:
    """What nothing undoes."""
    with asked("send the receipt for order 4413") as step:
        yield step


@pytest.fixture
def letter(shared_console: str) -> Iterator[Step]:
    """A long message: its page is long, and its answers stand beside the top of it."""
    with asked(f'tell the customer of order SU-90317 "{"We are sorry. " * 130}"', agent="returns") as step:
        yield step


def tab_to(page: "Page", wanted: "Locator") -> None:
    """As often as it takes."""
    for _ in range(MANY):
        page.keyboard.press("Tab")
        if wanted.evaluate("one => one === document.activeElement"):
            return
    raise AssertionError(f"Tab never gets to {wanted}")


def test_from_the_login_to_an_answer(browser: "Browser", shared_console: str, step: Step) -> None:
    page = browser.new_context(reduced_motion="reduce").new_page()
    page.goto(f"{shared_console}/questions/{step.pk}/")
    expect(page.get_by_label("Name")).to_be_focused()
    page.keyboard.type("ana")
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Charge 41.00 to order 4413")
    tab_to(page, page.get_by_label("Reason"))
    page.keyboard.type("a wrong order")
    page.keyboard.press("Shift+Tab")
    expect(page.get_by_role("button", name="Cancel all")).to_be_focused()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Recorded")).to_be_focused()
    assert answers(step) == [("skip", "Ana Ferreira")]
    page.context.close()


def test_enter_in_a_field_answers_nothing(open_as: OpenAs, shared_console: str, step: Step) -> None:
    page = open_as("ana")
    page.goto(f"{shared_console}/questions/{step.pk}/")
    page.get_by_label("Reason").press("Enter")
    page.wait_for_timeout(300)
    assert answers(step) == []


def test_the_last_look_begins_at_cancel(open_as: OpenAs, shared_console: str, mail: Step) -> None:
    page = open_as("ana")
    page.goto(f"{shared_console}/questions/{mail.pk}/")
    for decides in (False, True):
        tab_to(page, page.get_by_role("link", name="Approve…"))
        page.keyboard.press("Enter")
        expect(page.locator(".panel").get_by_role("link", name="Cancel")).to_be_focused()
        if decides:
            page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        if not decides:
            expect(page.get_by_role("heading", name="Your answer")).to_be_visible()
            assert answers(mail) == []
    expect(page.get_by_role("heading", name="Recorded")).to_be_focused()
    assert answers(mail) == [("approve", "Ana Ferreira")]


def test_the_first_stop_skips_the_rail(open_as: OpenAs, shared_console: str) -> None:
    page = open_as("ana")
    page.goto(f"{shared_console}/runs/")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the page")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()


@pytest.mark.parametrize(
    ("width", "height"), [(1280, 800), (1280, 400), (320, 200)], ids=["100 %", "low", "400 %"]
)
def test_the_focus_is_seen_wherever_it_goes(
    open_as: OpenAs, shared_console: str, letter: Step, width: int, height: int
) -> None:
    page = open_as("admin", viewport={"width": width, "height": height})
    hidden, stops = [], 0
    question, run = f"/questions/{letter.pk}/", f"/runs/{letter.run_id}/"
    for address in ("/?who=all", question, run, "/conversations/"):
        page.goto(shared_console + address)
        for _ in range(MANY):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement === document.body"):
                break
            stops += 1
            hidden += [f"{address}: {why}"] if (why := page.evaluate(HIDDEN)) else []
    assert stops > 40
    assert hidden == []


# --- Shortcuts -----------------------------------------------------------------------------------------


def test_shortcuts_move_the_focus_and_never_press(open_as: OpenAs, shared_console: str, step: Step) -> None:
    page = open_as("ana")
    page.goto(shared_console)
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/questions/*/")
    page.keyboard.press("a")
    expect(page.get_by_role("button", name="Approve")).to_be_focused()
    page.wait_for_timeout(300)
    assert answers(step) == []


def test_shortcuts_can_be_switched_off(open_as: OpenAs, shared_console: str, step: Step) -> None:
    page = open_as("ana")
    page.goto(shared_console)
    page.get_by_role("link", name="Settings").click()
    page.get_by_role("button", name="Shortcuts: on").click()
    expect(page.get_by_role("button", name="Shortcuts: off")).to_be_visible()
    page.goto(f"{shared_console}/questions/{step.pk}/")
    page.keyboard.press("a")
    expect(page.get_by_role("button", name="Approve")).not_to_be_focused()
