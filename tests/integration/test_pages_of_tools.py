"""The pages before launch: tools and agents, and plans that are tried."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from runs.models import Run, Step, Thread
from runs.tools.lints import MENDS
from tests.factories import approve_all, make_agent, start
from tests.integration.pages import html, signed_in, words
from tests.integration.test_turns import TEXTS, TURN, bazaar
from tests.unit.tools import shop
from tests.world import WORLD

pytestmark = pytest.mark.django_db
TOOLS, PLAN = "/tools/", "/tools/plan/"


@pytest.fixture
def ana(db: None) -> Client:
    """Support."""
    return signed_in("ana", "Ana Ferreira", "support")


def row(page: str, tool: str) -> str:
    """What the table says of one write."""
    found = re.search(rf"<tr>\s*<th scope=\"row\">\s*<code>{tool}</code>.*?</tr>", page, re.DOTALL)
    assert found, tool
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", found[0])).strip()


def test_each_write_is_written_down_with_its_undo_and_what_becomes_of_it_in_doubt(
    ana: Client, agent: str
) -> None:
    page = html(ana.get(f"{TOOLS}?agent={agent}"))
    charge = row(page, "charge")
    assert (
        "refund charge from $result.charge amount from $args.amount yes a person is asked none support"
        in charge
    )
    assert "untag order from $args.order yes looked up find support" in row(page, "tag")
    assert "nothing it undoes charge, pay, odd nobody has said sent again, same key none support" in row(
        page, "refund"
    )
    assert "nothing no a person is asked none support" in row(page, "mail")
    assert row(page, "pay").endswith("nobody")


def test_what_is_reversible_for_a_time_says_until_when(ana: Client) -> None:
    page = html(ana.get(f"{TOOLS}?agent=returns"))
    assert "until collection looked up, then sent again" in row(page, "start_return")


def test_every_finding_is_said_in_words_with_how_to_mend_it(ana: Client, agent: str) -> None:
    page = words(ana.get(f"{TOOLS}?agent={agent}"))
    assert (
        "write_without_compensation a write neither compensated nor marked irreversible refund, untag" in page
    )
    assert f"To mend: {MENDS['write_without_compensation']}" in page
    assert re.search(r"mail on the route mail\s*, then\s*charge", page)  # QG013
    assert "'refund' undoes it, and no run has ever executed that" in page
    WORLD.script = {"tag": ["raises"]}
    approve_all(start(agent, "charge 1 40.00, then tag 1"))
    assert page.count("no run has ever executed that") - 1 == words(ana.get(f"{TOOLS}?agent={agent}")).count(
        "no run has ever executed that"
    )


def test_an_agent_with_nothing_to_say_says_so(ana: Client, tmp_path: Path) -> None:
    make_agent(tmp_path, "reader", ["read"])
    page = words(ana.get(f"{TOOLS}?agent=reader"))
    assert "reader writes nothing" in page
    assert "What is found Nothing." in page


def test_a_search_narrows_the_tools_and_what_is_found(ana: Client, agent: str) -> None:
    page = html(ana.get(f"{TOOLS}?agent={agent}&q=MAIL"))
    assert row(page, "mail")
    assert ">charge</code>\n" not in page.split("What is found")[0]
    by_lint = html(ana.get(f"{TOOLS}?agent={agent}&q=QG013"))
    assert row(by_lint, "mail")
    nothing = words(ana.get(f"{TOOLS}?agent={agent}&q=<b>no+such"))
    assert "No write of tester has “<b>no such”" in nothing


def test_the_picture_shows_what_undoes_what_and_what_stays(ana: Client, agent: str) -> None:
    [picture] = re.findall(
        r"<svg class=\"undo-picture.*?</svg>", html(ana.get(f"{TOOLS}?agent={agent}")), re.DOTALL
    )
    titles = re.findall(r"<title>(.*?)</title>", picture)
    assert titles == ["charge", "refund", "tag", "untag", "mail", "pay", "refund", "odd", "refund"]
    assert "stays" in picture


def test_the_rules_of_an_agent_stand_there_in_words(ana: Client, tmp_path: Path) -> None:
    rules = "mail_last: {tools: mail, order: {after: charge}, because: The receipt comes last.}"
    make_agent(tmp_path, rules=rules)
    page = words(ana.get(f"{TOOLS}?agent=tester"))
    assert "mail_last mail: only after charge ran in the conversation. The receipt comes last." in page


def test_an_agent_that_is_not_there_is_a_404_in_words(ana: Client) -> None:
    for address in (f"{TOOLS}?agent=nobody", f"{PLAN}?agent=nobody"):
        response = ana.get(address)
        assert response.status_code == 404
        assert "There is no agent called" in words(response)


def test_where_there_are_no_agents_the_page_says_how_to_have_one(
    ana: Client, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.AGENT_FILES = []
    monkeypatch.setattr("runs.agentfile._known", {})
    assert "STALWART_AGENTS names the agent files" in words(ana.get(TOOLS))
    assert ana.get(PLAN).status_code == 200


def test_an_agent_file_that_cannot_be_read_says_which_and_why(
    ana: Client, settings: Any, tmp_path: Path
) -> None:
    settings.AGENT_FILES = [tmp_path / "gone.yaml"]
    for address in (TOOLS, PLAN):
        response = ana.get(address)
        assert response.status_code == 500
        assert "The agents cannot be read" in words(response)
        assert "gone.yaml: cannot be read (No such file or directory)" in words(response)


def test_five_hundred_tools_cost_as_many_queries_as_one(
    ana: Client, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = _queries(ana, f"{TOOLS}?agent={agent}")
    tools = [shop.write(f"do_{place}", undo=f"undo_{place}") for place in range(250)]
    tools += [shop.write(f"undo_{place}", irreversible=True) for place in range(250)]
    monkeypatch.setitem(__import__("runs.agentfile").agentfile._known, "large", shop.agent(*tools))
    assert _queries(ana, f"{TOOLS}?agent=large") == few
    assert 'class="undo-picture' not in html(ana.get(f"{TOOLS}?agent=large"))  # more than a picture can show


def _queries(client: Client, address: str) -> int:
    with CaptureQueriesContext(connection) as counted:
        assert client.get(address).status_code == 200
    return len(counted)


# --- A plan -------------------------------------------------------------------------------------------
def test_a_turn_is_tried_and_nothing_comes_of_it(ana: Client, agent: str) -> None:
    response = ana.post(PLAN, {"agent": agent, "text": "charge 1 40.00, then mail 1, then tag 1"})
    page = words(response)
    assert response.status_code == 200
    assert "3 calls, 3 questions" in page
    assert "refund(charge from its result, amount 40.00)" in page
    assert "Nothing can undo this step once it runs. Nothing undoes this step" in page
    assert "“Charge 40.00 to order 1” is undone by refund, and “mail(order 1)” stays done." in page
    assert not (Thread.objects.exists() or Run.objects.exists() or Step.objects.exists())
    assert WORLD.calls == []


def test_a_turn_that_is_not_read_is_kept_and_says_why(ana: Client, agent: str) -> None:
    response = ana.post(PLAN, {"agent": agent, "text": "sing 9 a song"})
    assert response.status_code == 422
    assert "sing 9 a song</textarea>" in html(response)
    assert "I did not read" in words(response)


def test_a_turn_that_could_be_two_plans_offers_both_and_tries_the_one_that_is_meant(
    ana: Client, tmp_path: Path
) -> None:
    typed = {"agent": bazaar(tmp_path), "text": TURN, "user": "u-9"}
    refused = ana.post(PLAN, typed)
    assert refused.status_code == 422
    assert "Which of these is meant?" in words(refused)
    forms = html(refused).split('<form class="card reading"')[1:]
    assert len(forms) == len(TEXTS)
    sent = dict(re.findall(r'name="(\w+)" value="([^"]*)"', forms[0])) | {"csrfmiddlewaretoken": ""}
    assert (sent["agent"], sent["user"]) == (typed["agent"], "u-9")
    assert "2 calls" in words(ana.post(PLAN, sent | {"text": TEXTS[0]}))


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"agent": "tester", "text": ""}, 422),
        ({"agent": "nobody", "text": "read 1"}, 404),
        ({"agent": "tester", "text": "read 1", "task": "juggle"}, 422),
        ({"agent": "tester", "text": "read 1\x00"}, 422),
        ({"agent": "tester", "text": "read 1", "user": "u\x001"}, 422),
        ({"agent": "tester", "text": "read 1", "ticket": "T" * 101}, 422),
    ],
)
def test_a_plan_that_cannot_be_tried_says_why(
    ana: Client, agent: str, fields: dict[str, str], status: int
) -> None:
    response = ana.post(PLAN, fields)
    assert response.status_code == status
    assert 'role="alert"' in html(response)


def test_what_is_typed_is_shown_and_never_run(ana: Client, agent: str) -> None:
    page = html(
        ana.post(PLAN, {"agent": agent, "text": "</textarea><script>alert(1)</script>", "user": '"><script>'})
    )
    assert "<script>alert" not in page
    assert '"><script>' not in page
