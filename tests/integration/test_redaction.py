"""What a tool names in `redact` is shown to nobody but those who answer for it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse

from runs import services, tokens
from runs.engine import advance
from runs.errors import ConfigurationError
from runs.handover import ticket
from runs.journal import lines
from runs.models import LedgerEntry, Run, Step
from runs.redaction import REDACTED
from runs.tools import tool
from runs.trace import Trace
from stalwart_site.carrying import question_json, question_lines
from tests.factories import AGENT, answer, make_agent, question, reply
from tests.integration.api.caller import Caller
from tests.integration.pages import html, signed_in, words
from tests.vault import IBAN, PIN
from tests.world import WORLD

pytestmark = pytest.mark.django_db
STEPS = [
    services.Proposal("transfer", {"iban": IBAN, "amount": "40.00"}),
    services.Proposal("stop", {"order": 1}),
]


@pytest.fixture
def agent(tmp_path: Path) -> str:
    return make_agent(tmp_path, "vault", ["transfer", "recall", "stop"], "tests.vault", subject="iban")


@pytest.fixture
def run(agent: str) -> Run:
    """A transfer waits to be approved."""
    return carried(
        services.start(AGENT, services.start_thread(AGENT, agent, "mia"), services.RunRequest(steps=STEPS))
    )


@pytest.fixture
def stuck(run: Run) -> Run:
    """It was made, the next step failed, and its undo did not go through."""
    WORLD.script = {"stop": ["raises"], "recall": ["refuses"] * 4}
    run = answer(answer(run, "approve"), "approve")
    while run.state != "stuck":
        run = carried(run)
    return run


def carried(run: Run) -> Run:
    advance(run.pk)
    run.refresh_from_db()
    return run


def caller(login: str, scope: str, *roles: str) -> Caller:
    user = User.objects.create_user(login)
    user.groups.set([Group.objects.get_or_create(name=role)[0] for role in roles])
    return Caller(tokens.make(login, scope, user=user)[1])


PAGES: dict[str, Callable[[Run], str]] = {
    "the list": lambda run: "/?who=all",
    "the run": lambda run: f"/runs/{run.pk}/",
    "the runs": lambda run: "/runs/",
    "the export": lambda run: "/runs/export.json",
    "the conversation": lambda run: f"/conversations/{run.thread_id}/",
    "the handovers": lambda run: "/handovers/",
    "the dashboard": lambda run: "/dashboard/",
    "the first step": lambda run: f"/admin/runs/step/{run.steps.order_by('number')[0].pk}/change/",
    "the undo": lambda run: f"/admin/runs/step/{run.steps.order_by('-number')[0].pk}/change/",
    "the attempts": lambda run: (
        f"/admin/runs/attempt/{run.steps.order_by('number')[0].attempts.get().pk}/change/"
    ),
    "the entry": lambda run: (
        f"/admin/runs/ledgerentry/{LedgerEntry.objects.order_by('first_sent_at')[0].pk}/change/"
    ),
}


@pytest.mark.parametrize("address", PAGES.values(), ids=PAGES)
def test_no_page_but_the_question_shows_it(stuck: Run, address: Callable[[Run], str]) -> None:
    User.objects.create_superuser("ada")
    ada = Client()
    ada.force_login(User.objects.get(username="ada"), backend="django.contrib.auth.backends.ModelBackend")
    response = ada.get(address(stuck))
    text = response.getvalue().decode() if response.streaming else html(response)
    assert response.status_code == 200
    assert IBAN not in text and PIN not in text


def test_the_run_says_that_there_is_something(run: Run) -> None:
    ana = signed_in("ana", "Ana Ferreira", "support")
    assert f"Transfer 40.00 to {REDACTED}" in words(ana.get(reverse("needs-you")))
    assert f"Transfer 40.00 to {REDACTED}" in words(ana.get(reverse("run", args=[run.pk])))


def test_who_may_answer_sees_exactly_what_they_answer_for_and_nobody_else(run: Run) -> None:
    address = reverse("question", args=[question(run).pk])
    ana, olga = signed_in("ana", "Ana Ferreira", "support"), signed_in("olga", "Olga Petrova", "operator")
    assert f"Transfer 40.00 to {IBAN}" in words(ana.get(address))
    assert f"account {IBAN}" in words(ana.get(address)), "what undoes it"
    assert f"Transfer 40.00 to {REDACTED}" in words(olga.get(address))
    assert IBAN not in html(olga.get(address))
    answer(run, "approve")
    assert IBAN not in html(ana.get(reverse("question", args=[run.steps.order_by("number")[0].pk])))


def test_a_stuck_undo_shows_it_to_the_operator_who_must_do_it_by_hand(stuck: Run) -> None:
    address = reverse("question", args=[question(stuck).pk])
    olga, ana = signed_in("olga", "Olga Petrova", "operator"), signed_in("ana", "Ana Ferreira", "support")
    assert IBAN in words(olga.get(address)) and PIN in words(olga.get(address))
    assert IBAN not in html(ana.get(address)) and PIN not in html(ana.get(address))


def test_over_the_api_only_one_question_by_itself_shows_it_to_who_may_answer(run: Run) -> None:
    agents, ana = Caller(tokens.make("bot", "agent")[1]), caller("ana", "approver", "support")
    number = question(run).pk
    for path in (f"/runs/{run.name}", "/runs", "/questions", f"/runs/{run.name}/events"):
        assert IBAN not in json.dumps(ana.get(path).body), path
    assert agents.get(f"/questions/{number}").body["args"] == {"iban": REDACTED, "amount": "40.00"}
    shown = ana.get(f"/questions/{number}").body
    assert (shown["args"]["iban"], shown["text"]) == (IBAN, f"Transfer 40.00 to {IBAN}")


def test_the_record_the_trace_the_ticket_and_the_reply_hide_it(stuck: Run) -> None:
    asked = question(stuck)
    told = [*lines(stuck), *(str(line) for line in Trace(stuck).lines()), *question_lines(asked)]
    told += [json.dumps(ticket(stuck)), json.dumps(question_json(asked))]
    ended = answer(stuck, "abandon", reason="the bank is closed")
    told += [reply(ended), json.dumps(ticket(ended))]
    assert [text for text in told if IBAN in text or PIN in text] == []
    assert "The transfer to [redacted] is on its way." in ticket(ended)["customer_told"]
    assert stuck.subject == "", "what a run is about is shown everywhere"


def test_what_a_person_says_that_happened_is_hidden_in_the_record(run: Run) -> None:
    WORLD.script = {"transfer": ["times out before"]}
    run = answer(run, "approve")
    Step.objects.update(settles_at=None)
    run = answer(run, "happened", result={"pin": PIN, "receipt": {"pin": PIN}})
    assert PIN not in "".join(lines(run)) and '"answer": "happened"' in "".join(lines(run))
    assert PIN not in html(signed_in("ana", "Ana Ferreira", "support").get(reverse("run", args=[run.pk])))


def test_the_rows_keep_it_and_what_is_sent_is_whole(stuck: Run) -> None:
    write, _, undo = stuck.steps.order_by("number")
    assert write.args["iban"] == IBAN
    assert undo.args == {"account": IBAN, "code": PIN}


def test_redact_is_a_list_of_names() -> None:
    with pytest.raises(ConfigurationError, match="redact is a list of names"):

        @tool(redact="iban")
        def look(iban: str) -> None: ...


def test_a_plan_that_is_only_tried_hides_it(agent: str) -> None:
    ana = caller("ana", "approver", "support")
    body = {"agent": agent, "user": "mia", "steps": [{"tool": "transfer", "args": STEPS[0].args}]}
    planned = ana.post("/plan", body)
    assert planned.status == 200
    assert IBAN not in json.dumps(planned.body)
