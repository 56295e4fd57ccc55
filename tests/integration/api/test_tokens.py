"""Who gets in: tokens, and nothing else."""

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from runs import tokens
from runs.errors import BadInput, Problem
from runs.management.commands import token as token_command
from runs.models import Token
from tests.integration.api.caller import CHARGE, Caller
from tests.integration.api.conftest import person

pytestmark = pytest.mark.django_db
NOBODY = Caller()


def stalwart(*arguments: str) -> str:
    """What `stalwart token …` prints. Its errors are raised; the terminal would print them."""
    out = StringIO()
    command = token_command.Command(stdout=out, stderr=StringIO())
    options = vars(command.create_parser("stalwart", "token").parse_args(arguments))
    assert command.run(options) == 0
    return out.getvalue()


# --- At the door --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer ",
        "Bearer stw_" + "A" * 43,
        "Bearer " + "A" * 47,
        "Bearer stw_\x00",
        "Basic YW5hOnByYWN0aWNl",
        "stw_" + "A" * 43,
    ],
)
def test_without_a_valid_token_there_is_a_401(header: str, db: None) -> None:
    response = Client().get("/api/v1/runs", headers={"Authorization": header} if header else {})
    assert (response.status_code, response.json()["type"]) == (401, "/problems/unauthenticated")
    assert response["WWW-Authenticate"] == 'Bearer realm="stalwart"'


def test_the_scheme_is_read_without_regard_to_case(bot: Caller) -> None:
    assert Client().get("/api/v1/runs", headers={"Authorization": f"bEARER {bot.token}"}).status_code == 200


def test_a_session_does_not_open_the_api(db: None) -> None:
    client = Client()
    client.force_login(person("olga", "Olga Petrova", "operator"))
    response = client.get("/api/v1/runs")
    assert response.status_code == 401
    assert client.post("/api/v1/runs/1/cancel", "{}", content_type="application/json").status_code == 401


def test_a_token_in_the_address_is_not_read(bot: Caller) -> None:
    assert NOBODY.get("/runs", access_token=bot.token, token=bot.token).problem == (401, "unauthenticated")


def test_a_revoked_token_is_shut_out_at_once(bot: Caller) -> None:
    assert bot.get("/runs").status == 200
    token = Token.objects.get()
    assert tokens.revoke(token)
    assert not tokens.revoke(token)
    assert bot.get("/runs").problem == (401, "unauthenticated")


def test_the_token_of_somebody_who_left_is_shut_out(ana: Caller) -> None:
    User.objects.filter(username="ana").update(is_active=False)
    assert ana.get("/questions").problem == (401, "unauthenticated")


def test_a_role_that_was_taken_away_is_gone(olga: Caller, bot: Caller) -> None:
    run = bot.post("/runs", {"agent": "desk", "user": "u-17", "steps": [CHARGE]}).body["id"]
    User.objects.get(username="olga").groups.clear()
    assert olga.post(f"/runs/{run}/cancel").problem == (403, "not-allowed")


def test_only_a_hash_is_kept(db: None) -> None:
    token, text = tokens.make("bot", "agent")
    assert text.startswith("stw_")
    assert len(text) == 47
    values = [str(value) for value in Token.objects.values_list().get(pk=token.pk)]
    assert not any(text.removeprefix("stw_") in value for value in values)
    assert tokens.verify(text) == token


def test_its_use_is_noted_at_most_once_a_minute(bot: Caller) -> None:
    bot.get("/runs")
    first = Token.objects.get().last_used_at
    assert first is not None
    bot.get("/runs")
    assert Token.objects.get().last_used_at == first
    Token.objects.update(last_used_at=timezone.now() - timedelta(seconds=61))
    bot.get("/runs")
    assert Token.objects.get().last_used_at != first


# --- The command --------------------------------------------------------------------------------------
def test_a_token_made_by_the_command_opens_the_api(db: None) -> None:
    text = stalwart("create", "--name", "bot", "--scope", "agent", "--agent", "desk").strip()
    assert Caller(text).get("/runs").status == 200
    listed = stalwart("list")
    assert "bot" in listed
    assert text not in listed
    number = Token.objects.get().pk
    assert "revoked" in stalwart("revoke", str(number))
    assert Caller(text).get("/runs").problem == (401, "unauthenticated")
    with pytest.raises(BadInput, match="revoked before"):
        stalwart("revoke", str(number))


def test_the_command_speaks_json(db: None) -> None:
    person("ana", "Ana Ferreira", "support")
    made = json.loads(stalwart("create", "--name", "ana", "--scope", "approver", "--user", "ana", "--json"))
    assert (made["scope"], made["user"]) == ("approver", "ana")
    [listed] = json.loads(stalwart("list", "--json"))
    assert "token" not in listed
    assert listed["name"] == "ana"


@pytest.mark.parametrize(
    "arguments",
    [
        ("--scope", "agent", "--agent", "nobody"),
        ("--scope", "agent", "--user", "ana"),
        ("--scope", "approver"),
        ("--scope", "approver", "--user", "nobody"),
        ("--scope", "approver", "--user", "ana", "--agent", "desk"),
        ("--scope", "operator", "--user", "ana"),
    ],
)
def test_what_makes_no_sense_makes_no_token(arguments: tuple[str, ...], db: None) -> None:
    person("ana", "Ana Ferreira", "support")
    with pytest.raises(Problem):
        stalwart("create", "--name", "x", *arguments)
    assert Token.objects.count() == 0
