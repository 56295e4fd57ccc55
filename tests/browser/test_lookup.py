"""An unknown outcome is looked up from its page, while somebody has begun to write an answer."""

import threading
import time
from typing import TYPE_CHECKING

import httpx
import pytest
from playwright.sync_api import expect

from approvals.models import Answer
from examples.services.process import Services
from runs import services as verbs
from runs.access import Actor
from runs.demo import PASSWORD, make_logins
from runs.engine import advance
from runs.models import Run, Step
from tests.factories import approve_all, question, until
from tests.processes import Processes

if TYPE_CHECKING:
    from playwright.sync_api import Page
    from pytest_django import Settings

AGENT = Actor("desk", frozenset(), "agent", agent="desk")
NOBODY_THERE = "http://127.0.0.1:1"


@pytest.fixture
def doubt(
    processes: Processes, services: Services, settings: "Settings", monkeypatch: pytest.MonkeyPatch
) -> Step:
    """A charge that took effect; its answer was lost, and then the services were away for a while."""
    settings.RETRY_SECONDS = 0.05
    httpx.post(f"{services.url}/reset", trust_env=False).raise_for_status()
    thread = verbs.start_thread(AGENT, "desk", "u-31")
    fault = {"charge_card": "timeout_after_write:2"}
    run = verbs.start(AGENT, thread, verbs.RunRequest(text="charge order 4412 40.00", faults=fault))
    advance(run.pk)
    leave = threading.Timer(1, monkeypatch.setenv, ["STALWART_SERVICES_URL", NOBODY_THERE])
    leave.start()
    approve_all(run)
    leave.join()
    until(run, "waiting")
    monkeypatch.setenv("STALWART_SERVICES_URL", services.url)
    return question(run)


def test_half_an_answer_and_then_the_lookup_settles_it(
    page: "Page", processes: Processes, web: str, doubt: Step
) -> None:
    make_logins()
    page.goto(f"{web}/questions/{doubt.pk}/")
    page.get_by_label("Name").fill("olga")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator(f"#lookup-{doubt.pk}")).to_contain_text("the lookup failed")

    page.get_by_label("How do you know?").fill("the shop's own page")
    page.get_by_role("button", name="Look it up now").click()
    expect(page.locator(f"#lookup-{doubt.pk}")).to_contain_text("Being looked up by find_operation")
    assert page.get_by_label("How do you know?").input_value() == "the shop's own page"

    processes.worker()
    processes.sweep()
    panel = page.locator(f"#panel-{doubt.pk}")
    expect(panel).to_contain_text("Settled by a lookup", timeout=30_000)
    expect(panel).to_contain_text("What you wrote, and did not send: “the shop's own page”")
    expect(page.get_by_role("button", name="It happened")).to_have_count(0)
    deadline = time.monotonic() + 10
    while Run.objects.get().state != "succeeded" and time.monotonic() < deadline:
        time.sleep(0.1)
    assert (Run.objects.get().state, Answer.objects.count()) == ("succeeded", 0)
