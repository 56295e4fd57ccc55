"""Whatever is wrong with a request: one clear error, nothing stored, nothing sent."""

import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from runs.engine import advance
from tests.integration.api.caller import CHARGE, LOOK, ORDER, Caller, changes, stored
from tests.integration.api.conftest import carry_out

pytestmark = pytest.mark.django_db
DIGEST = "0" * 64


def nested(levels: int) -> Any:
    """An object that is this many levels deep."""
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


def a_run(**changes: Any) -> dict[str, Any]:
    """The body of a run, with something changed."""
    return {"agent": "desk", "user": "u-17", "steps": [CHARGE]} | changes


def a_call(tool: str = "charge_card", **args: Any) -> dict[str, Any]:
    """The body of a run of one call."""
    return a_run(steps=[{"tool": tool, "args": args}])


BODIES = {
    "unknown tool": (a_call("launch_rocket"), "bad-input", "/steps/0/tool"),
    "an argument that is not there": (a_call(order=4411), "bad-input", "/steps/0/args/amount"),
    "an argument too many": (a_call(order=1, amount="1", tip="1"), "bad-input", "/steps/0/args/tip"),
    "an argument of another type": (a_call(order="x", amount="40"), "bad-input", "/steps/0/args/order"),
    "money as a float": (a_call(order=4411, amount=40.5), "bad-input", "/steps/0/args/amount"),
    "money that is not finite": (a_call(order=4411, amount="NaN"), "bad-input", "/steps/0/args/amount"),
    "true for a number": (a_call(order=True, amount="40"), "bad-input", "/steps/0/args/order"),
    "arguments that are a list": (
        a_run(steps=[{"tool": "charge_card", "args": [1]}]),
        "bad-input",
        "/steps/0/args",
    ),
    "an unknown member": (a_run(colour="red"), "bad-input", "/colour"),
    "an unknown member of a step": (a_run(steps=[CHARGE | {"key": "k"}]), "bad-input", "/steps/0/key"),
    "a wrong type": (a_run(open="yes"), "bad-input", "/open"),
    "no step and no turn": (a_run(steps=[]), "bad-input", "/steps"),
    "no user": ({"agent": "desk", "steps": [CHARGE]}, "bad-input", None),
    "thread and agent": (a_run(thread=str(uuid4())), "bad-input", None),
    "a thread that is no UUID": ({"thread": "17", "steps": [CHARGE]}, "bad-input", "/thread"),
    "an unknown task": (a_run(task="juggle"), "bad-input", "/task"),
    "an unknown fault": (a_run(faults={"charge_card": "gremlins"}), "bad-input", "/faults"),
    "a fault of an unknown tool": (a_run(faults={"launch": "down"}), "bad-input", "/faults"),
    "a NUL": (a_run(user="u\x0017"), "bad-input", "/user"),
    "a NUL in a name": (a_run(**{"a\x00b": 1}), "bad-input", None),
    "a lone surrogate": (a_run(user="\ud800"), "bad-input", "/user"),
    "2^53": (a_call(order=2**53, amount="1"), "bad-input", "/steps/0/args/order"),
    "-2^53": (a_call(order=-(2**53), amount="1"), "bad-input", "/steps/0/args/order"),
    "21 levels": (
        a_run(steps=[{"tool": "charge_card", "args": nested(18)}]),
        "bad-input",
        "/steps/0/args" + "/a" * 17,
    ),
    "a list": ([1], "bad-input", None),
    "a text": ("x", "bad-input", None),
    "a turn misspelt": (a_run(steps=[], text="chrage order 4411 40.00"), "turn-not-read", "/text"),
    "a turn half read": (
        a_run(steps=[], text="charge order 4411 40.00, then sing a song"),
        "turn-not-read",
        "/text",
    ),
    "a turn in Portuguese": (
        a_run(steps=[], text="cobrar 40,00 da encomenda 4411"),
        "turn-not-read",
        "/text",
    ),
}


@pytest.mark.parametrize(("body", "kind", "field"), BODIES.values(), ids=BODIES.keys())
def test_a_body_that_is_not_valid(body: Any, kind: str, field: str | None, bot: Caller) -> None:
    before = stored()
    reply = bot.post("/runs", body, key="a-key")
    assert reply.problem == (422, kind)
    assert reply.body.get("field") == field
    assert stored() == before
    if isinstance(body, dict):
        assert bot.post("/runs", a_run(), key="a-key").status == 201  # the key was not used up


TEXTS = {
    "NaN": ('{"agent": "desk", "user": NaN}', "bad-input", "/user"),
    "Infinity": ('{"agent": "desk", "user": "u", "steps": [{"tool": "x", "args": {"a": Infinity}}]}',
                 "bad-input", "/steps/0/args/a"),
    "-Infinity": ('{"user": -Infinity}', "bad-input", "/user"),
    "a float that overflows": ('{"user": 1e999}', "bad-input", "/user"),
    "ten thousand digits": (f'{{"user": {"9" * 10_000}}}', "bad-input", "/user"),
    "a member twice": ('{"agent": "desk", "user": "a", "user": "b"}', "bad-input", None),
    "half an object": ('{"agent": "desk", "user": "u"', "not-json", None),
    "two objects": ("{} {}", "not-json", None),
    "a trailing comma": ('{"agent": "desk",}', "not-json", None),
    "a comment": ('{} // no', "not-json", None),
    "UTF-16": ('{"agent": "desk"}'.encode("utf-16"), "not-json", None),
    "latin-1": ('{"agent": "desk", "user": "Inês"}'.encode("latin-1"), "not-json", None),
    "a byte order mark": ('{"agent": "desk"}'.encode("utf-8-sig"), "not-json", None),
    "an overlong NUL": (b'{"user": "\xc0\x80"}', "not-json", None),
    "thousands of levels": ("[" * 60_000, "bad-input", None),
    "over 64 KiB": (json.dumps(a_run(text="a" * 65_536)), "body-too-large", None),
    "over 64 KiB of spaces": (json.dumps(a_run()) + " " * 65_536, "body-too-large", None),
    "nothing": ("", "bad-input", None),
}  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "field"), TEXTS.values(), ids=TEXTS.keys())
def test_a_text_that_is_not_strict_json(text: str | bytes, kind: str, field: str | None, bot: Caller) -> None:
    before = stored()
    reply = bot.post_raw("/runs", text)
    assert reply.problem == (422, kind)
    assert reply.body.get("field") == field
    assert stored() == before


def test_the_limits_themselves_are_accepted(bot: Caller) -> None:
    edge = a_call(order=2**53 - 1, amount="40.00")
    text = json.dumps(edge)
    assert bot.post_raw("/runs", text + " " * (65_536 - len(text))).status == 201


def test_a_form_is_not_json(bot: Caller) -> None:
    before = stored()
    form = bot.post_raw("/runs", "agent=desk", content_type="application/x-www-form-urlencoded")
    assert form.problem == (415, "unsupported-media-type")
    assert stored() == before


def test_an_unknown_agent(bot: Caller, ana: Caller) -> None:
    before = stored()
    assert bot.post("/threads", {"agent": "returns", "user": "u"}).problem == (404, "not-found")
    assert bot.post("/runs", a_run(agent="nobody")).problem == (404, "not-found")
    assert ana.post("/runs", a_run()).problem == (403, "not-allowed")
    assert stored() == before


def test_the_thread_of_another_agent(bot: Caller, other_bot: Caller) -> None:
    thread = bot.post("/threads", {"agent": "desk", "user": "u-17"}).body["id"]
    run = bot.post("/runs", {"thread": thread, "steps": [LOOK], "open": True}).body["id"]
    before = stored()
    turn = {"text": ORDER}
    assert other_bot.get(f"/threads/{thread}").problem == (404, "not-found")
    assert other_bot.post(f"/threads/{thread}/turns", turn).problem == (404, "not-found")
    assert other_bot.post("/runs", {"thread": thread, "steps": [LOOK]}).problem == (404, "not-found")
    for path in (f"/runs/{run}", f"/runs/{run}/events"):
        assert other_bot.get(path).problem == (404, "not-found")
    for path in (f"/runs/{run}/steps", f"/runs/{run}/close"):
        assert other_bot.post(path, LOOK).problem == (404, "not-found")
    assert other_bot.get("/runs").body == {"items": [], "next": None}
    assert stored() == before


def test_the_question_of_another_agent(parked: Callable[..., dict[str, Any]], other_bot: Caller) -> None:
    question = parked(CHARGE)["waiting"][0]
    assert other_bot.get("/questions").body["items"] == []
    assert other_bot.get(f"/questions/{question['id']}").problem == (404, "not-found")
    assert other_bot.answer(question).problem == (403, "not-allowed")


@pytest.mark.parametrize("digest", ["", "xyz", "0" * 63, "0" * 65, "A" * 64, "g" * 64, " " + "0" * 63])
def test_a_digest_that_is_not_hex(digest: str, parked: Callable[..., dict[str, Any]], ana: Caller) -> None:
    question = parked(CHARGE)["waiting"][0]
    before = stored()
    reply = ana.answer(question | {"digest": digest}, nonce="12345678")
    assert reply.problem == (422, "bad-input")
    assert reply.body["field"] == "/digest"
    assert stored() == before


ANSWERS = {
    "an unknown answer": ({"answer": "maybe"}, "/answer"),
    "the answer of another kind": ({"answer": "happened"}, "/answer"),
    "a short nonce": ({"nonce": "1234567"}, "/nonce"),
    "a nonce with a space": ({"nonce": "1234 5678"}, "/nonce"),
    "an endless reason": ({"reason": "a" * 2001}, "/reason"),
    "an unknown member": ({"as": "lea"}, "/as"),
    "a result that is a list": ({"result": [1]}, "/result"),
}


@pytest.mark.parametrize(("change", "field"), ANSWERS.values(), ids=ANSWERS.keys())
def test_an_answer_that_is_not_valid(
    change: dict[str, Any], field: str, parked: Callable[..., dict[str, Any]], ana: Caller
) -> None:
    question = parked(CHARGE)["waiting"][0]
    before = stored()
    reply = ana.answer(question, **change)
    assert reply.problem == (422, "bad-input")
    assert reply.body["field"] == field
    assert stored() == before


def test_an_answer_without_its_digest(parked: Callable[..., dict[str, Any]], ana: Caller) -> None:
    question = parked(CHARGE)["waiting"][0]
    before = stored()
    reply = ana.post(f"/questions/{question['id']}/answer", {"answer": "approve", "nonce": "12345678"})
    assert reply.problem == (422, "bad-input")
    assert reply.body["field"] == "/digest"
    assert stored() == before


def test_a_question_that_was_never_asked(bot: Caller, ana: Caller, world: str) -> None:
    run = carry_out(bot, bot.post("/runs", a_run(steps=[LOOK])).body)
    assert run["state"] == "succeeded"
    before = stored()
    for step in (run["steps"][0]["id"], 10**17):
        assert ana.get(f"/questions/{step}").problem == (404, "not-found")
        body = {"answer": "approve", "digest": DIGEST, "nonce": "12345678"}
        assert ana.post(f"/questions/{step}/answer", body).problem == (404, "not-found")
    assert stored() == before


def test_a_closed_run(bot: Caller, world: str) -> None:
    closed = bot.post("/runs", a_run(steps=[LOOK])).body["id"]  # its steps were given at its start
    ended = carry_out(bot, bot.post("/runs", a_run(steps=[LOOK])).body)["id"]
    before = stored()
    for run in (closed, ended):
        assert bot.post(f"/runs/{run}/steps", LOOK).problem == (409, "run-closed")
        assert bot.post(f"/runs/{run}/close").problem == (409, "run-closed")
    assert stored() == before


def test_an_ended_run_is_not_cancelled(bot: Caller, olga: Caller, world: str) -> None:
    run = carry_out(bot, bot.post("/runs", a_run(steps=[LOOK])).body)
    before = stored()
    assert olga.post(f"/runs/{run['id']}/cancel").problem == (409, "run-closed")
    assert stored() == before


def test_a_finished_question(
    parked: Callable[..., dict[str, Any]], bot: Caller, ana: Caller, tom: Caller, world: str
) -> None:
    run = parked(CHARGE)
    ana.answer(run["waiting"][0])
    carry_out(bot, run)
    before = stored()
    reply = tom.answer(run["waiting"][0])
    assert reply.problem == (409, "already-answered")
    assert "Ana Ferreira" in reply.body["detail"]
    assert stored() == before
    assert changes(world) == ["charge_card"]


def test_a_question_of_a_cancelled_run_is_gone(
    parked: Callable[..., dict[str, Any]], bot: Caller, ana: Caller, olga: Caller, world: str
) -> None:
    run = parked(CHARGE)
    assert olga.post(f"/runs/{run['id']}/cancel", {"reason": "the customer withdrew"}).status == 202
    run_after = carry_out(bot, run)
    assert (run_after["state"], run_after["waiting"]) == ("failed", [])
    before = stored()
    assert ana.answer(run["waiting"][0]).problem == (410, "gone")
    assert stored() == before
    assert changes(world) == []


def test_a_busy_thread_says_what_it_waits_for(parked: Callable[..., dict[str, Any]], bot: Caller) -> None:
    run = parked(CHARGE)
    before = stored()
    for path, body in (
        (f"/threads/{run['thread']}/turns", {"text": ORDER}),
        ("/runs", {"thread": run["thread"], "steps": [LOOK]}),
    ):
        reply = bot.post(path, body)
        assert reply.problem == (409, "thread-busy")
        assert "it waits for an answer about charge_card" in reply.body["detail"]
        assert (reply.body["run"], reply.body["question"]) == (run["id"], run["waiting"][0]["id"])
    assert stored() == before


@pytest.mark.parametrize(
    "text", ["chrage order 4411 40.00", "cobrar 40,00 da encomenda 4411", " ", "a\u202eb"]
)
def test_a_turn_that_was_not_read(text: str, bot: Caller) -> None:
    thread = bot.post("/threads", {"agent": "desk", "user": "u-17"}).body["id"]
    before = stored()
    reply = bot.post(f"/threads/{thread}/turns", {"text": text})
    assert reply.problem == (422, "turn-not-read")
    assert reply.body["field"] == "/text"
    assert stored() == before


QUERIES = {
    "an unknown parameter": ("/runs", {"sate": "open"}),
    "an unknown state": ("/runs", {"state": "asleep"}),
    "a thread that is no UUID": ("/runs", {"thread": "17"}),
    "a ticket with a NUL": ("/runs", {"ticket": "T\x00"}),
    "a parameter twice": ("/runs", {"ticket": ["a", "b"]}),
    "a cursor that is none": ("/runs", {"cursor": "x"}),
    "a huge cursor": ("/runs", {"cursor": 10**30}),
    "too many": ("/runs", {"limit": 101}),
    "none": ("/questions", {"limit": 0}),
    "an unknown kind": ("/questions", {"kind": "riddle"}),
}


@pytest.mark.parametrize(("path", "query"), QUERIES.values(), ids=QUERIES.keys())
def test_a_query_that_is_not_valid(path: str, query: dict[str, Any], bot: Caller) -> None:
    reply = bot.get(path, **query)
    assert reply.problem == (422, "bad-input")
    assert reply.body["parameter"] == next(iter(query))


@pytest.mark.parametrize("wait", ["-1", "soon", "nan", "inf"])
def test_a_wait_that_is_not_valid(wait: str, bot: Caller) -> None:
    run = bot.post("/runs", a_run()).body["id"]
    assert bot.get(f"/runs/{run}", wait=wait).problem == (422, "bad-input")


@pytest.mark.parametrize("name", ["R-0", "0", "r-1", "-1", "R-", "1.0", "1e3", "9" * 19, "R-1%00", "٣"])
def test_a_run_that_is_none(name: str, bot: Caller) -> None:
    assert bot.get(f"/runs/{name}").problem == (404, "not-found")


def test_what_was_refused_is_never_carried_out(bot: Caller, world: str) -> None:
    run = bot.post("/runs", a_run(steps=[LOOK], open=True)).body
    before = changes(world)
    refused = bot.post(f"/runs/{run['id']}/steps", a_call(order=1)["steps"][0])
    assert refused.problem == (422, "bad-input")
    assert refused.body["field"] == "/args/amount"
    advance(int(run["id"].removeprefix("R-")))
    assert changes(world) == before == []
