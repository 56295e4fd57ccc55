"""A turn that the selector did not read: a person takes it over, or the model is asked, or it is refused at once."""

import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from approvals import handovers
from approvals.handover_words import as_text, word
from runs import access, agentfile, handover, model_requests, services, tokens
from runs.agents import Agent
from runs.errors import ConfigurationError, ModelNotReady, NotRead
from runs.models import Message, Run, Thread
from tests.factories import AGENT, make_agent, reply, start
from tests.integration.api.caller import Caller
from tests.integration.api.conftest import person
from tests.scripted import SCRIPT, SECTION
from tests.world import WORLD

pytestmark = pytest.mark.django_db(transaction=True)
TURN = "charge 1 40.00, then dance"


# --- ask_person ---------------------------------------------------------------------------------------
@pytest.fixture
def by_hand(tmp_path: Path) -> str:
    """An agent whose unread turns go to a person."""
    return make_agent(tmp_path, section={"on_unread": "ask_person"})


def test_a_turn_that_was_not_read_is_handed_to_a_person_with_what_was_not_read(by_hand: str) -> None:
    run = start(by_hand, TURN, "u-17")
    assert (run.state, run.handover_reason, run.steps.count()) == ("handed_over", "not_read", 0)
    ticket = handover.ticket(run)
    assert ticket["reason"] == "not_read"
    assert ticket["next_action"] == (
        "Carry out what u-17 asked for: “charge 1 40.00, then dance”. Not read: “dance”."
    )
    assert (ticket["completed"], ticket["not_done"], ticket["customer_told"]) == ([], [], "Nothing.")
    assert reply(run) == (
        'This run stopped: its turn was not read ("dance"), and a person takes over. Nothing had been done.'
    )
    assert WORLD.calls == []


def test_the_person_carries_on_from_the_ticket(by_hand: str) -> None:
    run = start(by_hand, TURN, "u-17")
    page = word(handovers.read(run.pk))
    assert page.reason == "nobody read the turn"
    text = as_text(page)
    assert "NEXT ACTION" in text and "Not read: “dance”." in " ".join(text.split())
    ana = access.person(person("ana", "Ana Ferreira", "support"))
    handovers.claim(ana, run)
    handovers.resolve(ana, run, "Charged by hand; nobody dances.")
    assert handovers.read(run.pk).state == "resolved"


def test_the_conversation_goes_on_after_it(by_hand: str) -> None:
    run = start(by_hand, TURN)
    after = services.start(AGENT, run.thread, services.RunRequest(text="read 1"))
    assert after.state == "ready"


def test_a_turn_that_was_read_is_not_handed_to_anybody(by_hand: str) -> None:
    assert start(by_hand, "read 1").state == "succeeded"


# --- The model is not there ---------------------------------------------------------------------------
def _nothing_stored() -> bool:
    return not (Run.objects.exists() or Message.objects.exists() or Thread.objects.exists())


def test_without_the_extra_the_file_is_refused_at_load_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)
    with pytest.raises(ConfigurationError) as refusal:
        make_agent(tmp_path, section=SECTION)
    path = tmp_path / "tester.yaml"
    line = path.read_text().splitlines().index("    on_unread: ask_model") + 1
    assert str(refusal.value) == (
        f"{path}:{line}: agent tester: on_unread: ask_model needs the extra `models`, which is not installed; "
        "install stalwart[models], or write refuse."
    )


def test_without_the_extra_an_agent_may_name_a_model_that_is_never_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)
    agent = make_agent(tmp_path, section={"model": "anthropic:claude-sonnet-5-5"})
    assert start(agent, "read 1").state == "succeeded"


def test_where_the_extra_was_taken_away_since_the_turn_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = make_agent(tmp_path, section=SECTION | {"model": "openai:gpt-7"})
    for name in [name for name in sys.modules if name.split(".")[0] == "pydantic_ai"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ModelNotReady, match="the extra `models` is not installed: stalwart"):
        start(agent, TURN)
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("anthropic:claude-sonnet-5-5", "Set the `ANTHROPIC_API_KEY` environment variable"),
        ("mistral:large", "Please install the `mistral` package"),
        ("nobody:knows", "Unknown model: nobody:knows"),
        ("python:tests.scripted.NOTHING", "module 'tests.scripted' has no attribute 'NOTHING'"),
    ],
)
def test_a_model_that_cannot_be_asked_is_said_when_the_turn_comes_and_nothing_is_stored(
    model: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    agent = make_agent(tmp_path, section={"model": model, "on_unread": "ask_model"})
    with pytest.raises(ModelNotReady) as refusal:
        Agent(agent).chat(TURN, user="u-1")
    assert str(refusal.value).startswith(f"The model {model} cannot be asked: {said}")
    assert _nothing_stored()


def test_the_api_says_503_where_the_model_cannot_be_asked(tmp_path: Path, bot: Caller) -> None:
    section = {"model": "nobody:knows", "on_unread": "ask_model"}
    agent = make_agent(tmp_path, section=section)
    refused = bot.post("/runs", {"agent": agent, "user": "u-1", "text": TURN}, key="k-1")
    assert refused.problem == (503, "model-not-ready")
    assert _nothing_stored()


@pytest.fixture
def bot() -> Caller:
    """An agent's token."""
    return Caller(tokens.make("bot", "agent")[1])


# --- The other ways in --------------------------------------------------------------------------------
def test_the_python_api_and_the_command_line_ask_the_model_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    SCRIPT.reset([("read", {"order": 1})], "It is paid.", "Again: paid.")
    agent = Agent(make_agent(tmp_path, section=SECTION))
    assert agent.chat("how is order 1?", user="u-1").text == "Done: read. The model says: It is paid."
    call_command("chat", "how is it now?", agent=agent.name, user="u-1")
    assert capsys.readouterr().out.strip() == "Nothing had been done. The model says: Again: paid."


def test_what_an_outside_agent_opens_is_its_own_to_decide(tmp_path: Path) -> None:
    SCRIPT.reset()
    agent = make_agent(tmp_path, section=SECTION)
    thread = services.start_thread(AGENT, agent, "u-1")
    with pytest.raises(NotRead):
        services.start(AGENT, thread, services.RunRequest(text=TURN, opened=True))
    run = services.start(AGENT, thread, services.RunRequest(opened=True))
    assert (run.model, SCRIPT.asked) == ("", 0)


def test_a_model_is_known_by_its_name() -> None:
    assert model_requests.is_name("anthropic:claude-sonnet-5-5")
    assert not any(model_requests.is_name(name) for name in ("", "claude", ":x", "a b:c", "anthropic:"))


def test_the_file_of_the_agents_shows_its_model_to_callers(
    tmp_path: Path, bot: Caller, settings: Any
) -> None:
    make_agent(tmp_path, section=SECTION)
    [shown] = [agent for agent in bot.get("/agents").body["items"] if agent["name"] == "tester"]
    assert (shown["model"], shown["on_unread"]) == (SECTION["model"], "ask_model")
    agentfile._known.pop("tester")
