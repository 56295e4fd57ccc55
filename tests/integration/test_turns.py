"""A turn on its way to a run: how an agent file says it is read, and what a person sees of one that is not."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import call_command
from django.test import Client

from runs import agentfile, services, tokens
from runs.agents import Agent
from runs.errors import ConfigurationError, NotRead, TurnAmbiguous
from runs.models import Message, Run, Thread
from tests import scripted
from tests.factories import AGENT, reply, start
from tests.integration.api.caller import Caller
from tests.integration.pages import html, signed_in, words

pytestmark = pytest.mark.django_db
BOTH_LANGUAGES = ["en", "pt"]
EVERY_TOOL = ["get_order", "price", "close", "shut"]


def bazaar(folder: Path, **section: Any) -> str:
    """An agent over the bazaar's tools whose section of the file holds this; returns its name."""
    agentfile.register(written(folder, section))
    return "bazaar"


def written(folder: Path, section: dict[str, Any], *attributes: dict[str, Any]) -> Path:
    """The file of that agent, with attributes of its tools; none of its kind is known yet."""
    agentfile._known.pop("bazaar", None)
    path = folder / "bazaar.yaml"
    agents = {"bazaar": {"tools": EVERY_TOOL, **section}}
    document = {"agents": agents, "tools": [{"python": "tests.bazaar"}, *attributes]}
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    return path


def stored() -> tuple[int, int]:
    """How many runs and messages there are."""
    return Run.objects.count(), Message.objects.count()


# --- The agent file -----------------------------------------------------------------------------------
FECHA_E = {"close": {"says": {"pt": "fecha e {order:d}"}}}
# What the agent's section holds, and what is said of its tools; the line that is named, and how.
BAD_FILES: dict[str, tuple[dict[str, Any], list[dict[str, Any]], str, str]] = {
    "a language that has not shipped": (
        {"languages": ["en", "xx"]},
        [],
        "- xx",
        "agent bazaar: the language 'xx' has not shipped; these have: en, pt.",
    ),
    "a language twice": (
        {"languages": ["pt", "pt"]},
        [],
        "- pt",
        "agent bazaar: the language 'pt' is there twice.",
    ),
    "no language": (
        {"languages": []},
        [],
        "languages:",
        "agents.bazaar.languages: List should have at least 1 item after validation, not 0.",
    ),
    "a language in which nothing is said": (
        {"tools": ["close"], "languages": ["en", "pt"]},
        [],
        "- pt",
        "agent bazaar: none of its tools says how it is asked for in 'pt'.",
    ),
    "a currency that no grammar names": (
        {"currency": "XXX"},
        [],
        "currency:",
        "agent bazaar: the currency 'XXX' is not known in English; these are: BRL, EUR, GBP, USD.",
    ),
    "a model that has no name": (
        {"on_unread": "ask_model"},
        [],
        "on_unread:",
        "agent bazaar: on_unread: ask_model needs a model, such as model: anthropic:claude-sonnet-5-5.",
    ),
    "a model without its provider": (
        {"on_unread": "ask_model", "model": "claude"},
        [],
        "on_unread:",
        "agent bazaar: on_unread: ask_model needs a model, such as model: anthropic:claude-sonnet-5-5.",
    ),
    "phrases in a language that has not shipped": (
        {},
        [{"close": {"says": {"xx": "zu"}}}],
        "- close:",
        "Tool close: says: the language 'xx' has not shipped; these have: en, pt.",
    ),
    "phrases that are no text": (
        {},
        [{"close": {"says": {"en": [7]}}}],
        "- close:",
        "Tool close: says must be a phrase, a list of phrases, or these by language",
    ),
    "a phrase of another language": (
        {"languages": ["pt"]},
        [FECHA_E],
        "  bazaar:",
        'agent bazaar: close says "fecha e {order:d}": "e" joins two requests',
    ),
}


@pytest.mark.parametrize(("section", "attributes", "line", "said"), BAD_FILES.values(), ids=BAD_FILES.keys())
def test_a_file_that_asks_for_what_is_not_there_says_where(
    section: dict[str, Any], attributes: list[dict[str, Any]], line: str, said: str, tmp_path: Path
) -> None:
    path = written(tmp_path, section, *attributes)
    lines = path.read_text().splitlines()
    at = max(number for number, text in enumerate(lines, 1) if line in text)
    with pytest.raises(ConfigurationError) as refusal:
        agentfile.read(path)
    assert str(refusal.value).startswith(f"{path}:{at}: ")
    assert said in str(refusal.value)


def test_phrases_may_be_given_in_the_file_by_language(tmp_path: Path) -> None:
    says = {"says": {"en": ["finish {order:d}", "end {order:d}"], "pt": "acaba {order:d}"}}
    [spec] = agentfile.read(written(tmp_path, {"languages": BOTH_LANGUAGES}, {"close": says}))
    for turn in ("finish 7", "end 7", "acaba 7"):
        assert services.read_turn(spec, turn) == [services.Proposal("close", {"order": 7}, turn)]


def test_a_turn_of_either_language_starts_a_run(tmp_path: Path) -> None:
    agent = bazaar(tmp_path, languages=BOTH_LANGUAGES)
    run = start(agent, "Consulta o pedido 1, depois preço do pedido 1 é 1.250,00", "u-1")
    assert [(step.tool, step.args) for step in run.steps.order_by("number")] == [
        ("get_order", {"order": 1}),
        ("price", {"order": 1, "amount": "1250.00"}),
    ]
    assert reply(start(agent, "Price of order 1 is 1,250.00", "u-2")).startswith("Done: ")


@pytest.mark.parametrize(
    ("languages", "turn"),
    [
        (["en"], "consulta o pedido 1"),
        (["pt"], "look up order 1"),
        (BOTH_LANGUAGES, "look up order 1, depois preço do pedido 1 é 40,00"),
    ],
)
def test_a_turn_of_no_language_of_the_agent_is_refused(
    languages: list[str], turn: str, tmp_path: Path
) -> None:
    agent = bazaar(tmp_path, languages=languages)
    with pytest.raises(NotRead):
        start(agent, turn)
    assert stored() == (0, 0)


def test_an_amount_names_the_money_of_the_agent_alone(tmp_path: Path) -> None:
    agent = bazaar(tmp_path, currency="EUR")
    run = start(agent, "price of order 1 is €40, then price of it is 50 euros")
    assert [step.args["amount"] for step in run.steps.order_by("number")] == ["40.00", "50.00"]
    for said in ("$40", "40 dollars", "40 USD"):
        with pytest.raises(NotRead):
            start(agent, f"price of order 1 is {said}", "u-2")
    with pytest.raises(NotRead):
        start(bazaar(tmp_path), "price of order 1 is €40", "u-3")


# --- Who else is asked --------------------------------------------------------------------------------
@pytest.mark.parametrize("on_unread", ["ask_model", "ask_person"])
def test_what_can_be_read_in_two_ways_or_is_no_turn_is_for_whoever_wrote_it(
    on_unread: str, tmp_path: Path
) -> None:
    agent = bazaar(tmp_path, on_unread=on_unread, model=scripted.NAME)
    scripted.SCRIPT.reset()
    for turn in ("close order 7", " ", "\u202e", "x" * 70_000):
        with pytest.raises(NotRead):
            start(agent, turn)
    assert stored() == (0, 0)
    assert scripted.SCRIPT.asked == 0


# --- A turn that can be read in two ways --------------------------------------------------------------
TURN = "look up order 1, then close order 7"
TEXTS = ["get_order(order=1). close(order=7)", 'get_order(order=1). shut(number="7")']


def test_the_api_says_what_a_turn_could_be_and_takes_one_of_them(tmp_path: Path) -> None:
    agent = bazaar(tmp_path)
    bot = Caller(tokens.make("bot", "agent", agent=agent)[1])
    thread = bot.post("/threads", {"agent": agent, "user": "u-17"}).body["id"]
    refused = bot.post(f"/threads/{thread}/turns", {"text": TURN}, key="k-1")
    assert refused.problem == (422, "turn-ambiguous")
    assert (refused.body["field"], refused.body["parts"]) == ("/text", ["close order 7"])
    assert [reading["text"] for reading in refused.body["readings"]] == TEXTS
    assert refused.body["readings"][1]["calls"] == [
        {"tool": "get_order", "args": {"order": 1}, "text": "get_order(order=1)"},
        {"tool": "shut", "args": {"number": "7"}, "text": 'shut(number="7")'},
    ]
    assert "Nothing was done." in refused.body["detail"]
    assert stored() == (0, 0)
    taken = bot.post(f"/threads/{thread}/turns", {"text": TEXTS[1]}, key="k-1")
    assert taken.status == 202
    assert [(step["tool"], step["args"]) for step in taken.body["steps"]] == [
        ("get_order", {"order": 1}),
        ("shut", {"number": "7"}),
    ]


def test_the_page_offers_each_reading_as_a_button_that_sends_it(tmp_path: Path) -> None:
    ana = signed_in("ana", "Ana Ferreira", "support")
    thread = services.start_thread(AGENT, bazaar(tmp_path), "u-9")
    address = f"/conversations/{thread.pk}/"
    refused = ana.post(address, {"text": TURN, "fault_tool": "close", "fault": "down"})
    assert refused.status_code == 422
    assert f"{TURN}</textarea>" in html(refused)
    shown = words(refused)
    assert "Which of these is meant?" in shown
    assert "Close order 7 close(order=7)" in shown
    assert 'Shut order 7 shut(number="7")' in shown
    assert stored() == (0, 0)
    forms = refused.context["readings"]
    assert [form["text"] for form in forms] == TEXTS
    assert html(refused).count('<input type="hidden" name="fault" value="down">') == 2
    assert ana.post(address, {"text": forms[1]["text"]}).status_code == 302
    assert [step.tool for step in Run.objects.get().steps.order_by("number")] == ["get_order", "shut"]


def test_a_page_without_readings_offers_none(tmp_path: Path) -> None:
    ana = signed_in("ana", "Ana Ferreira", "support")
    thread = services.start_thread(AGENT, bazaar(tmp_path), "u-9")
    refused = ana.post(f"/conversations/{thread.pk}/", {"text": "sing"})
    assert "Which of these is meant?" not in words(refused)


def test_the_page_says_what_can_be_said(tmp_path: Path) -> None:
    ana: Client = signed_in("ana", "Ana Ferreira", "support")
    thread = services.start_thread(AGENT, bazaar(tmp_path, languages=BOTH_LANGUAGES), "u-9")
    shown = words(ana.get(f"/conversations/{thread.pk}/"))
    assert "price of order <order> is <amount>" in shown
    assert "preço do pedido <order> é <amount>" in shown


def test_python_gets_the_readings_with_the_refusal(tmp_path: Path) -> None:
    agent = Agent.from_file(written(tmp_path, {}))
    with pytest.raises(TurnAmbiguous) as refusal:
        agent.chat(TURN, user="u-1")
    assert [reading["text"] for reading in refusal.value.extra["readings"]] == TEXTS
    assert not Thread.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("services")
def test_the_command_lists_the_readings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    agent = bazaar(tmp_path)
    for as_json in (False, True):
        with pytest.raises(SystemExit) as refused:
            call_command("chat", TURN, agent=agent, user="u-1", json=as_json)
        said = capsys.readouterr()
        assert refused.value.code == 1
        assert said.err.startswith('I can read "close order 7" in more than one way: close(order=7) or ')
        if as_json:
            assert [reading["text"] for reading in json.loads(said.out)["readings"]] == TEXTS
        else:
            assert said.out.splitlines() == TEXTS
    assert not Thread.objects.exists()
    call_command("chat", TEXTS[0], agent=agent, user="u-1")
    assert capsys.readouterr().out.startswith("Done: ")
