"""A picture of every page, in its main states: light and dark, on a desk and on a phone.

    python -m tests.screenshots [--folder screenshots] [--only needs-you,run] [--url http://localhost:8700]

Without --url it serves a practice machine of its own, and waits until its queue is filled.
"""

import argparse
import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import django

from stalwart_site.ports import free_port
from tests.browser_options import CHROMIUM, CHROMIUM_OPTIONS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SIZES = {"desk": (1280, 800), "phone": (390, 844)}
DEAF = "http://localhost:9/hooks"  # a webhook's address where nobody listens
PATIENCE = 180.0
# name -> where: an address; or the list to look in, and the words of the row to open; or a list, and what to do there.
PAGES: dict[str, "str | tuple[str, str | Callable[[Page], None]]"] = {
    "needs-you": "/?who=all",
    "together": ("/?who=all&kind=confirm", lambda page: _tick(page, 3)),
    "confirm": ("/?who=all&kind=confirm", "Charge 260.00"),
    "confirm-irreversible": ("/?who=all&kind=confirm", "Send the receipt for order 4413"),
    "confirm-plan": ("/?who=all&kind=confirm", "Refund 38.50"),
    "confirm-escalated": ("/?who=all&kind=confirm", "Charge 42.50"),
    "outcome": ("/?who=all&kind=outcome", "Did charge_card take effect"),
    "undo-stuck": ("/?who=all&kind=undo", "Undo"),
    "runs": "/runs/",
    "runs-found": "/runs/?state=handed_over&agent=returns",
    "run-rolled-back": ("/runs/?state=rolled_back", "charge order 4411"),
    "run-stuck": ("/runs/?state=stuck", "charge order"),
    "run-waiting": ("/runs/?state=waiting", "look up order 4411"),
    "conversations": "/conversations/",
    "conversation": ("/conversations/", "Mia Olsen"),
    "handovers": "/handovers/",
    "handover": ("/handovers/", "SU-90317"),
    "explorer": "/explorer/",
    "tools": "/tools/",
    "plan": "/tools/plan/?agent=desk",
    "dashboard": "/dashboard/",
    "workers": "/workers/",
    "settings": "/settings/",
    "webhooks": "/settings/webhooks/",
    "webhook": ("/settings/webhooks/", "localhost:9"),
    "nothing-here": "/runs/999999/",
}


def main() -> None:
    """Take them all."""
    options = _options()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "stalwart_site.settings")
    django.setup()
    wanted = options.only.split(",") if options.only else list(PAGES)
    with _console(options.url) as url, _chromium() as browser:
        if any(name.startswith("webhook") for name in wanted):
            add_webhook(browser, url)
        for name in wanted:
            for look in ("light", "dark"):
                for size, (width, height) in SIZES.items():
                    context = browser.new_context(
                        viewport={"width": width, "height": height},
                        color_scheme=look,
                        reduced_motion="reduce",
                    )
                    page = context.new_page()
                    _sign_in(page, url)
                    if open_page(page, url, PAGES[name]):
                        page.screenshot(path=options.folder / f"{name}-{size}-{look}.png", full_page=True)
                    context.close()
            print(name, flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests.screenshots")
    parser.add_argument("--folder", type=Path, default=Path("screenshots"))
    parser.add_argument("--only", default="", help="names, with commas between")
    parser.add_argument("--url", default="", help="a console that is running, with a filled practice queue")
    return parser.parse_args()


@contextlib.contextmanager
def _console(url: str) -> Iterator[str]:
    if url:
        yield url
        return
    with tempfile.TemporaryDirectory(prefix="stalwart-screens-") as home:
        Path(home).chmod(0o711)
        port, said = free_port(), Path(home) / "said"
        command = [sys.executable, "-m", "stalwart_site.cli", "serve", "--port", str(port)]
        with said.open("w") as output:
            serve = subprocess.Popen(
                [*command, "--services-port", str(free_port())],
                env={"STALWART_HOME": home, "PATH": "/usr/bin:/bin"},
                stdout=output,
                stderr=output,
            )
        try:
            deadline = time.monotonic() + PATIENCE
            while "queue is ready" not in said.read_text():
                if serve.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit(f"the practice queue was not filled; serve said:\n{said.read_text()}")
                time.sleep(0.5)
            yield f"http://localhost:{port}"
        finally:
            serve.terminate()
            serve.wait(60)


@contextlib.contextmanager
def _chromium() -> "Iterator[Browser]":
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_OPTIONS)
        yield browser
        browser.close()


def _sign_in(page: "Page", url: str) -> None:
    from runs.demo import PASSWORD  # Django is set up now

    page.goto(f"{url}/login/")
    page.get_by_label("Name").fill("admin")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("heading", name="Needs you").wait_for()


def add_webhook(browser: "Browser", url: str) -> None:
    """One that nobody listens to, with a message that did not get there; where there is one already, another try."""
    page = browser.new_page()
    _sign_in(page, url)
    page.goto(f"{url}/settings/webhooks/")
    page.get_by_label("Address").fill(DEAF)
    page.get_by_role("button", name="Add").click()
    page.goto(f"{url}/settings/webhooks/")
    page.get_by_role("link", name=DEAF).click()
    page.get_by_role("button", name="Send a test message").click()
    page.close()


def _tick(page: "Page", most: int) -> None:
    """Tick the first rows of the list, and look at them once more."""
    boxes = page.locator("input[name=pick]")
    for place in range(min(most, boxes.count())):
        boxes.nth(place).check()
    page.get_by_role("button", name="ticked…").click()
    page.get_by_role("link", name="Cancel").wait_for()


def open_page(page: "Page", url: str, where: "str | tuple[str, str | Callable[[Page], None]]") -> bool:
    """False where there is no such row."""
    if isinstance(where, str):
        page.goto(url + where)
        return True
    address, words = where
    page.goto(url + address)
    if not isinstance(words, str):
        words(page)
        return True
    rows = page.get_by_role("link", name=re.compile(re.escape(words)))
    if not rows.count():
        print(f"  no row says {words!r} on {address}", flush=True)
        return False
    rows.first.click()
    page.wait_for_load_state("networkidle")
    return True


if __name__ == "__main__":
    main()
