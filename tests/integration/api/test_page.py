"""The page of the API document, in a browser, under the site's own content security policy."""

from typing import TYPE_CHECKING

import pytest
from pytest_django.live_server_helper import LiveServer

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.mark.django_db(transaction=True)
def test_the_page_shows_the_document_and_breaks_no_policy(live_server: LiveServer, page: "Page") -> None:
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("requestfailed", lambda request: said.append(request.url))
    page.goto(f"{live_server.url}/api/v1/docs")
    page.wait_for_selector("#operations-questions-answer")
    page.click("#operations-runs-start_run button.opblock-summary-control")
    page.get_by_text("Idempotency-Key").first.wait_for()
    page.click("button.authorize")
    page.get_by_text("stalwart token create").first.wait_for()
    assert said == []
