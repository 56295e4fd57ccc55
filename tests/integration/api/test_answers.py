"""An answer: bound to what was shown, given once, by somebody who may."""

import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from pytest_django import Settings

from approvals.models import Answer
from runs import agentfile, tokens
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
    assert reply.body["detail"].startswith("Answered by Ana Ferreira, ")
    assert (reply.body["answered_by"], reply.body["answer"]) == ("Ana Ferreira", "skip")
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
        question = run["waiting"][0]
        replies = _at_once(partial(ana.answer, question), partial(tom.answer, question, "cancel_all"))
        won, lost = sorted(replies, key=lambda reply: reply.status)
        assert won.status == 200
        assert lost.problem == (409, "already-answered")
        assert won.body["by"] in lost.body["detail"]
        approved = won.body["answer"] == "approve"
        assert carry_out(bot, run)["state"] == ("succeeded" if approved else "failed")
        assert changes(world) == (["charge_card"] if approved else [])


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


BLIND = """
agents:
  blind:
    tools: [charge_card, refund_card, provision_account]
tools:
  - python: examples.desk.tools
  - charge_card: {lookup: null}
"""


@pytest.fixture
def in_doubt(
    bot: Caller, ana: Caller, world: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[dict[str, Any]]:
    """A run of an agent that cannot look up: its charge took effect, and the answer was lost."""
    monkeypatch.setattr(agentfile, "_known", dict(agentfile.agents()))
    (tmp_path / "agent.yaml").write_text(BLIND)
    agentfile.register(tmp_path / "agent.yaml")
    blind = Caller(tokens.make("blind bot", "agent", agent="blind")[1])
    body = {"agent": "blind", "user": "u-17", "steps": [CHARGE], "faults": {"charge_card": "drop_after"}}
    run = carry_out(blind, blind.post("/runs", body).body)
    ana.answer(run["waiting"][0])
    yield carry_out(blind, run)


def test_a_doubt_is_an_operators_question(
    in_doubt: dict[str, Any], ana: Caller, olga: Caller, world: str
) -> None:
    [question] = olga.get("/questions", kind="outcome").body["items"]
    assert question["text"] == "Did charge_card take effect? The call was sent and no answer came back."
    assert question["answers"] == ["happened", "did_not_happen", "send_again"]
    assert ana.answer(question, "happened").problem == (403, "not-allowed")
    before = stored()
    for early in ("did_not_happen", "send_again"):
        reply = olga.answer(question, early)
        assert reply.problem == (409, "not-settled-yet")
        assert reply.body["settles_at"]
    assert stored() == before
    said = olga.answer(question, "happened", result={"charge": "ch_1", "amount": "40.00"})
    assert (said.status, said.body["result"]) == (200, {"charge": "ch_1", "amount": "40.00"})
    ended = carry_out(olga, in_doubt)
    assert ended["state"] == "succeeded"
    assert ended["steps"][0]["result"] == {"charge": "ch_1", "amount": "40.00"}
    assert changes(world) == ["charge_card"]


def test_an_undo_that_is_stuck_needs_a_reference_or_a_reason(
    parked: Parked, bot: Caller, ana: Caller, olga: Caller, world: str, settings: Settings
) -> None:
    settings.RETRY_SECONDS = 0
    run = parked(CHARGE, RECEIPT, faults={"refund_card": "refused"})
    ana.answer(run["waiting"][0])
    run = carry_out(bot, run)
    ana.answer(run["waiting"][0], "cancel_all")
    run = carry_out(bot, run)
    assert run["state"] == "stuck"
    [question] = olga.get("/questions", kind="undo").body["items"]
    assert question["text"].startswith("Undoing charge_card failed after 4 tries")
    assert (question["tool"], question["undoes"]) == ("refund_card", 1)
    before = stored()
    for word, field in (("done_by_hand", "/reference"), ("abandon", "/reason")):
        reply = olga.answer(question, word)
        assert reply.problem == (422, "bad-input")
        assert reply.body["field"] == field
    assert stored() == before
    said = olga.answer(question, "done_by_hand", reference="bank transfer 77")
    assert said.body["reference"] == "bank transfer 77"
    assert carry_out(bot, run)["state"] == "rolled_back"


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


def test_an_approvers_token_does_no_more_than_answer(parked: Parked, olga: Caller) -> None:
    """Of a person who is an operator too, a token of scope approver does not cancel."""
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
