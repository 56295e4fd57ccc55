"""`Idempotency-Key`: the same request is the same run, whatever happens on the way."""

import threading
from typing import Any

import pytest
from django.db import connection

from runs import services, tokens
from runs.models import IdempotencyRecord, Run, Thread
from tests.integration.api.caller import CHARGE, LOOK, Caller, Reply, stored
from tests.integration.api.conftest import carry_out

pytestmark = pytest.mark.django_db
BODY = {"agent": "desk", "user": "u-17", "steps": [CHARGE]}


def test_the_same_key_and_body_are_the_same_run(bot: Caller) -> None:
    first = bot.post("/runs", BODY, key="k-1")
    before = stored()
    again = bot.post("/runs", BODY, key="k-1")
    assert (first.status, again.status) == (201, 200)
    assert first.body == again.body
    assert again.response["Idempotency-Replayed"] == "true"
    assert "Idempotency-Replayed" not in first.response
    assert stored() == before


def test_the_order_of_members_does_not_matter(bot: Caller) -> None:
    first = bot.post("/runs", BODY, key="k-1")
    again = bot.post("/runs", dict(reversed(BODY.items())), key="k-1")
    assert again.body["id"] == first.body["id"]


def test_a_replay_shows_the_run_as_it_is_now(bot: Caller) -> None:
    first = bot.post("/runs", BODY, key="k-1").body
    carry_out(bot, first)
    assert bot.post("/runs", BODY, key="k-1").body["state"] == "waiting"


def test_the_same_key_with_another_body_is_refused(bot: Caller) -> None:
    bot.post("/runs", BODY, key="k-1")
    before = stored()
    reply = bot.post("/runs", BODY | {"user": "u-18"}, key="k-1")
    assert reply.problem == (422, "key-reused")
    assert reply.body["parameter"] == "Idempotency-Key"
    assert stored() == before


def test_a_key_belongs_to_its_token(bot: Caller) -> None:
    other = Caller(tokens.make("another bot", "agent")[1])
    assert bot.post("/runs", BODY, key="k-1").body["id"] != other.post("/runs", BODY, key="k-1").body["id"]


def test_without_a_key_there_are_two_runs(bot: Caller) -> None:
    assert bot.post("/runs", BODY).body["id"] != bot.post("/runs", BODY).body["id"]


@pytest.mark.parametrize("key", ["a b", "é", "a" * 201, "\x7f"])
def test_a_key_that_is_not_valid(key: str, bot: Caller) -> None:
    before = stored()
    assert bot.post("/runs", BODY, key=key).problem == (422, "bad-input")
    assert stored() == before


def test_a_refused_request_leaves_its_key_free(bot: Caller) -> None:
    refused = BODY | {"task": "juggle"}
    assert bot.post("/runs", refused, key="k-1").problem == (422, "bad-input")
    assert Thread.objects.count() == 0  # the thread that was made for it went with it
    assert bot.post("/runs", BODY, key="k-1").status == 201


def test_a_turn_sent_again_is_one_run(bot: Caller, world: str) -> None:
    """Even where the first one has ended meanwhile, so that the thread is free."""
    thread = bot.post("/threads", {"agent": "desk", "user": "u-17"}).body["id"]
    turn = {"text": "look up order 4411"}
    first = bot.post(f"/threads/{thread}/turns", turn, key="k-1")
    assert first.status == 202
    assert carry_out(bot, first.body)["state"] == "succeeded"
    again = bot.post(f"/threads/{thread}/turns", turn, key="k-1")
    assert (again.status, again.body["id"]) == (200, first.body["id"])
    other = bot.post("/threads", {"agent": "desk", "user": "u-17"}).body["id"]
    assert bot.post(f"/threads/{other}/turns", turn, key="k-1").problem == (422, "key-reused")


def test_a_step_sent_again_is_one_step(bot: Caller) -> None:
    run = bot.post("/runs", {"agent": "desk", "user": "u-17", "open": True}).body["id"]
    replies = [bot.post(f"/runs/{run}/steps", LOOK, key="k-1") for _ in range(2)]
    assert [reply.status for reply in replies] == [202, 200]
    assert [len(reply.body["steps"]) for reply in replies] == [1, 1]


@pytest.mark.django_db(transaction=True)
def test_many_at_once_are_one_run(bot: Caller) -> None:
    count = 8
    start, replies = threading.Barrier(count), list[Reply]()

    def post() -> None:
        try:
            start.wait()
            replies.append(bot.post("/runs", BODY, key="k-1"))
        finally:
            connection.close()

    threads = [threading.Thread(target=post) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(replies) == count
    assert max(reply.status for reply in replies if reply.status < 300) == 201
    for reply in replies:
        assert reply.status in (200, 201) or reply.problem == (409, "in-progress")
    assert len({reply.body["id"] for reply in replies if reply.status < 300}) == 1
    assert (Run.objects.count(), IdempotencyRecord.objects.count()) == (1, 1)


@pytest.mark.django_db(transaction=True)
def test_the_first_is_still_in_progress(bot: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    inside, go_on = threading.Event(), threading.Event()
    start = services.start

    def slow(*args: Any) -> Run:
        run = start(*args)
        inside.set()
        go_on.wait(10)
        return run

    monkeypatch.setattr(services, "start", slow)
    replies: list[Reply] = []

    def post() -> None:
        replies.append(bot.post("/runs", BODY, key="k-1"))
        connection.close()

    first = threading.Thread(target=post)
    first.start()
    assert inside.wait(10)
    assert bot.post("/runs", BODY, key="k-1").problem == (409, "in-progress")
    go_on.set()
    first.join()
    assert replies[0].status == 201
    assert bot.post("/runs", BODY, key="k-1").body["id"] == replies[0].body["id"]
    assert Run.objects.count() == 1
