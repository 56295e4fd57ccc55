"""An answer: bound to what was shown, given once, by somebody who may."""

import threading
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import Group, User
from django.db import connection

from approvals.models import Answer
from runs.engine import advance
from tests.integration.api.caller import CHARGE, Caller, Reply, changes, stored
from tests.integration.api.conftest import carry_out, row_of

pytestmark = pytest.mark.django_db
Parked = Callable[..., dict[str, Any]]
RECEIPT = {"tool": "send_receipt", "args": {"order": 4411}}


def test_the_digest_of_another_call_is_not_an_approval(
    parked: Parked, bot: Caller, ana: Caller, world: str
) -> None:
    run = parked(CHARGE)
    question = run["waiting"][0]
    before = stored()
    reply = ana.answer(question | {"digest": "0" * 64})
    assert reply.problem == (409, "digest-mismatch")
    assert reply.body["digest"] == question["digest"]
    assert stored() == before
    assert carry_out(bot, run)["state"] == "waiting"
    assert changes(world) == []


def test_the_digest_of_the_question_before_is_not_an_approval(
    parked: Parked, bot: Caller, ana: Caller, world: str
) -> None:
    run = parked(CHARGE, RECEIPT)
    first = run["waiting"][0]
    ana.answer(first)
    second = carry_out(bot, run)["waiting"][0]
    assert ana.answer(second | {"digest": first["digest"]}, nonce="another-1").problem == (
        409,
        "digest-mismatch",
    )
    assert changes(world) == ["charge_card"]


def test_an_answer_posted_twice_sends_one_call(parked: Parked, bot: Caller, ana: Caller, world: str) -> None:
    run = parked(CHARGE)
    first = ana.answer(run["waiting"][0])
    again = ana.answer(run["waiting"][0])
    carry_out(bot, run)
    later = ana.answer(run["waiting"][0])
    assert [reply.status for reply in (first, again, later)] == [200, 200, 200]
    assert first.body == again.body == later.body
    assert first.body["by"] == "Ana Ferreira"
    assert Answer.objects.count() == 1
    assert changes(world) == ["charge_card"]


def test_the_nonce_of_another_answer_is_refused(parked: Parked, ana: Caller, tom: Caller) -> None:
    question = parked(CHARGE)["waiting"][0]
    assert ana.answer(question, nonce="one-nonce").status == 200
    before = stored()
    for reply in (ana.answer(question, "skip", nonce="one-nonce"), tom.answer(question, nonce="one-nonce")):
        assert reply.problem == (422, "bad-input")
        assert reply.body["field"] == "/nonce"
    assert stored() == before


def test_two_answers_that_differ_say_who_was_first(parked: Parked, ana: Caller, tom: Caller) -> None:
    question = parked(CHARGE)["waiting"][0]
    ana.answer(question, "skip")
    reply = tom.answer(question)
    assert reply.problem == (409, "already-answered")
    assert "answered by Ana Ferreira: skip" in reply.body["detail"]
    seen = tom.get(f"/questions/{question['id']}").body
    assert (seen["open"], seen["answer"], seen["answered_by"]) == (False, "skip", "Ana Ferreira")
    assert tom.get("/questions").body["items"] == []


@pytest.mark.django_db(transaction=True)
def test_two_people_at_once_and_one_wins(
    parked: Parked, bot: Caller, ana: Caller, tom: Caller, world: str
) -> None:
    for _ in range(5):
        httpx.post(f"{world}/reset", trust_env=False)
        run = parked(CHARGE)
        won, lost = _at_once(
            lambda: ana.answer(run["waiting"][0]), lambda: tom.answer(run["waiting"][0], "cancel_all")
        )
        if won.status != 200:
            won, lost = lost, won
        assert won.status == 200
        assert lost.problem == (409, "already-answered")
        assert won.body["by"] in lost.body["detail"]
        ended = carry_out(bot, run)
        assert ended["state"] == ("succeeded" if won.body["answer"] == "approve" else "failed")
        assert changes(world) == (["charge_card"] if won.body["answer"] == "approve" else [])


@pytest.mark.django_db(transaction=True)
def test_a_double_click_at_once_is_one_answer(parked: Parked, bot: Caller, ana: Caller, world: str) -> None:
    run = parked(CHARGE)
    question = run["waiting"][0]
    replies = _at_once(*[lambda: ana.answer(question)] * 4)
    assert [reply.status for reply in replies] == [200] * 4
    assert len({str(reply.body) for reply in replies}) == 1
    carry_out(bot, run)
    assert Answer.objects.count() == 1
    assert changes(world) == ["charge_card"]


def _at_once(*calls: Callable[[], Reply]) -> list[Reply]:
    """Each in a thread of its own, with a connection of its own."""
    start, replies = threading.Barrier(len(calls)), [None] * len(calls)

    def run(index: int) -> None:
        try:
            start.wait()
            replies[index] = calls[index]()  # type: ignore[call-overload]
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(index,)) for index in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(replies)
    return replies  # type: ignore[return-value]


def test_a_doubt_is_an_operators_question(
    parked: Parked, bot: Caller, ana: Caller, olga: Caller, world: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is lost, and the lookup is down: nobody can say, so a person is asked; once it is settled."""
    monkeypatch.setattr(find_operation, "__stalwart_tool__", None, raising=False)
    run = parked(CHARGE, faults={"charge_card": "drop_after"})
    assert olga.answer(run["waiting"][0]).problem == (403, "not-allowed")


def test_skip_goes_on_without_the_call(parked: Parked, bot: Caller, ana: Caller, world: str) -> None:
    run = parked(CHARGE)
    ana.answer(run["waiting"][0], "skip")
    ended = carry_out(bot, run)
    assert (ended["state"], ended["steps"][0]["state"]) == ("succeeded", "declined")
    assert changes(world) == []


def test_cancel_all_undoes_what_was_done(parked: Parked, bot: Caller, ana: Caller, world: str) -> None:
    run = parked(CHARGE, RECEIPT)
    ana.answer(run["waiting"][0])
    run = carry_out(bot, run)
    ana.answer(run["waiting"][0], "cancel_all", reason="wrong order")
    ended = carry_out(bot, run)
    assert ended["reply"] == (
        "This run stopped: cancelled by Ana Ferreira. Undone, latest first: charge_card (by refund_card)."
    )
    assert changes(world) == ["charge_card", "refund_card"]


def test_an_approver_token_has_its_persons_role_and_no_more(parked: Parked, olga: Caller, db: None) -> None:
    """Of a person who is an operator too, a token of scope approver does not cancel."""
    from runs import tokens

    user = User.objects.get(username="olga")
    user.groups.add(Group.objects.get_or_create(name="support")[0])
    limited = Caller(tokens.make("olga answers", "approver", user=user)[1])
    run = parked(CHARGE)
    assert limited.post(f"/runs/{run['id']}/cancel").problem == (403, "not-allowed")
    assert limited.answer(run["waiting"][0]).status == 200


def test_a_get_never_decides(parked: Parked, ana: Caller) -> None:
    run = parked(CHARGE)
    question = run["waiting"][0]
    before = stored()
    for _ in range(2):
        ana.get(f"/questions/{question['id']}")
        ana.get("/questions", kind="confirm")
        ana.get(f"/runs/{run['id']}")
    assert ana.get(f"/questions/{question['id']}/answer").problem == (405, "method-not-allowed")
    assert stored() == before
    assert not advance(row_of(run).pk) or row_of(run).state == "waiting"
