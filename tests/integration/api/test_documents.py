"""The OpenAPI document, the page that shows it, and the errors of the API as a whole."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import OperationalError
from django.test import Client
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from runs import services
from runs.api import threads
from runs.api.problems import as_problem, document
from runs.errors import Problem
from tests.handed_over import rows as handed_over
from tests.integration.api.caller import CHARGE, Caller, Reply
from tests.integration.api.conftest import carry_out

pytestmark = pytest.mark.django_db
NOBODY = Caller()


@pytest.fixture
def schema() -> dict[str, Any]:
    return dict(json.loads(Client().get("/api/v1/schema").content))


# --- The document -------------------------------------------------------------------------------------
def test_the_document_is_valid_and_without_a_warning(tmp_path: Path) -> None:
    call_command("spectacular", "--validate", "--fail-on-warn", "--file", str(tmp_path / "schema.yaml"))
    assert (tmp_path / "schema.yaml").read_text().startswith("openapi: 3.1.0")


def test_the_document_covers_every_endpoint(schema: dict[str, Any]) -> None:
    methods = sorted(f"{method.upper()} {path}" for path, item in schema["paths"].items() for method in item)
    assert methods == [
        "GET /api/v1/agents",
        "GET /api/v1/handovers",
        "GET /api/v1/questions",
        "GET /api/v1/questions/{step}",
        "GET /api/v1/runs",
        "GET /api/v1/runs/{run}",
        "GET /api/v1/runs/{run}/events",
        "GET /api/v1/runs/{run}/handover",
        "GET /api/v1/runs/{run}/journal",
        "GET /api/v1/threads/{thread}",
        "GET /api/v1/tools",
        "GET /api/v1/workers",
        "POST /api/v1/plan",
        "POST /api/v1/questions/{step}/answer",
        "POST /api/v1/questions/{step}/look-up",
        "POST /api/v1/runs",
        "POST /api/v1/runs/{run}/cancel",
        "POST /api/v1/runs/{run}/close",
        "POST /api/v1/runs/{run}/handover/claim",
        "POST /api/v1/runs/{run}/handover/notes",
        "POST /api/v1/runs/{run}/handover/release",
        "POST /api/v1/runs/{run}/handover/resolve",
        "POST /api/v1/runs/{run}/resume",
        "POST /api/v1/runs/{run}/steps",
        "POST /api/v1/runs/{run}/undo",
        "POST /api/v1/threads",
        "POST /api/v1/threads/{thread}/turns",
        "POST /api/v1/workers/{worker}/drain",
        "POST /api/v1/workers/{worker}/pause",
        "POST /api/v1/workers/{worker}/resume",
    ]
    assert schema["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    for item in schema["paths"].values():
        for operation in item.values():
            assert operation["security"] == [{"token": []}]
            assert operation["description"]
            assert "401" in operation["responses"]


def test_the_examples_of_the_document_fit_it(schema: dict[str, Any]) -> None:
    for name, component in schema["components"]["schemas"].items():
        for example in component.get("examples", []):
            _validate(schema, name, example)
        for member in component.get("properties", {}).values():
            for example in member.get("examples", []):
                Draft202012Validator({**member, "components": schema["components"]}).validate(example)


def test_what_is_sent_is_what_the_document_says(
    schema: dict[str, Any], bot: Caller, ana: Caller, olga: Caller, world: str
) -> None:
    run = carry_out(bot, bot.post("/runs", {"agent": "desk", "user": "u-17", "steps": [CHARGE]}).body)
    question = run["waiting"][0]
    replies = {
        "Run": bot.get(f"/runs/{run['id']}"),
        "Runs": bot.get("/runs"),
        "Events": bot.get(f"/runs/{run['id']}/events"),
        "Thread": bot.get(f"/threads/{run['thread']}"),
        "Question": ana.get(f"/questions/{question['id']}"),
        "Questions": ana.get("/questions"),
        "Answer": ana.answer(question),
        "Tools": bot.get("/tools"),
        "Agents": bot.get("/agents"),
        "Plan": bot.post("/plan", {"agent": "desk", "steps": [CHARGE, CHARGE]}),
        "HandoverOut": ana.get(f"/runs/{handed_over().name}/handover"),
        "Handovers": ana.get("/handovers"),
        "Workers": olga.get("/workers"),
        "ProblemDocument": bot.get("/runs/R-99999999"),
    }
    for name, reply in replies.items():
        _validate(schema, name, reply.body)
    _validate(schema, "Run", carry_out(bot, run))


def _validate(schema: dict[str, Any], name: str, value: Any) -> None:
    whole = {"$ref": f"#/components/schemas/{name}", "components": schema["components"]}
    Draft202012Validator(whole).validate(value)


# --- The page -----------------------------------------------------------------------------------------
def test_the_page_obeys_the_sites_policy() -> None:
    page = Client().get("/api/v1/docs")
    assert page.status_code == 200
    policy = page["Content-Security-Policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    text = page.content.decode()
    assert "<style" not in text
    assert text.count("<script ") == text.count("<script") == text.count("<script src=")
    assert "://" not in text
    script = Client().get("/api/v1/docs?script=")
    assert script["Content-Type"].startswith("application/javascript")
    assert b"schema" in script.content


# --- Errors -------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "path", ["/", "/run", "/runs/", "/runs/R-1/", "/threads/1", "/../admin/", "/runs/1/x"]
)
def test_an_address_that_is_none_is_a_problem_document(path: str, bot: Caller) -> None:
    for caller in (NOBODY, bot):
        for method in ("GET", "POST", "DELETE"):
            assert caller.send(method, path).problem == (404, "not-found")


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS"])
def test_a_method_that_is_not_there(method: str, bot: Caller) -> None:
    reply = bot.send(method, "/runs")
    assert reply.problem == (405, "method-not-allowed")
    assert {"GET", "POST"} <= set(reply.response["Allow"].split(", "))


def test_accept_changes_nothing(bot: Caller) -> None:
    headers = {"Authorization": f"Bearer {bot.token}", "Accept": "text/html"}
    response = Client().get("/api/v1/runs", headers=headers)
    assert (response.status_code, response["Content-Type"]) == (200, "application/json")


def test_what_was_not_expected_is_a_500_without_a_trace(
    bot: Caller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*args: Any) -> None:
        raise RuntimeError("the password is swordfish")

    monkeypatch.setattr(services, "start_thread", broken)
    reply = bot.post("/threads", {"agent": "desk", "user": "u-17"})
    assert reply.problem == (500, "internal-error")
    assert "swordfish" not in str(reply.body)
    assert "swordfish" in caplog.text  # it is in the log


def test_a_database_that_is_away_is_a_503(bot: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*args: Any) -> None:
        raise OperationalError("connection refused")

    monkeypatch.setattr(threads, "thread_of", away)
    reply = bot.get("/threads/6f1c7a58-6d8a-4f52-9c5e-0b9f2f4b6a11")
    assert reply.problem == (503, "unavailable")


def _problems(base: type[Problem] = Problem) -> list[type[Problem]]:
    return [base, *(found for child in base.__subclasses__() for found in _problems(child))]


def test_every_problem_has_a_type_of_its_own_and_is_in_the_docs() -> None:
    text = (Path(__file__).parents[3] / "docs" / "api.md").read_text()
    kinds = [problem.type for problem in _problems()]
    assert len(kinds) == len(set(kinds))
    for problem in _problems():
        said = document(as_problem(problem()))
        assert said["title"]
        assert said["detail"]
        if problem not in (Problem,):
            assert f"`{problem.type}`" in text, problem.type


def test_a_reply_knows_its_problem() -> None:
    """The tests' own helper refuses what is no problem document."""
    response = Client().get("/api/v1/schema")
    with pytest.raises(AssertionError):
        _ = Reply(response, {}).problem  # type: ignore[arg-type]
