"""The failed order, by the API alone: an agent starts it, a person answers, and the reply is word for word."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.integration.api.caller import ORDER, Caller, changes
from tests.integration.api.conftest import carry_out

pytestmark = pytest.mark.django_db
UNDONE = (
    "This run stopped: provision_account failed (RuntimeError). "
    "Undone, latest first: update_crm (by restore_crm), charge_card (by refund_card)."
)


def test_an_order_whose_last_step_fails_is_undone_and_says_so(bot: Caller, ana: Caller, world: str) -> None:
    thread = bot.post("/threads", {"agent": "desk", "user": "u-17"}).body
    turn = {"text": ORDER, "faults": {"provision_account": "down"}}
    started = bot.post(f"/threads/{thread['id']}/turns", turn)
    assert started.status == 202
    run = started.body
    assert started.response["Location"] == f"/api/v1/runs/{run['id']}"

    for tool in ("charge_card", "update_crm", "provision_account"):
        run = carry_out(bot, run)
        assert (run["state"], run["reply"]) == ("waiting", None)
        [question] = ana.get("/questions").body["items"]
        assert (question["tool"], question["kind"], question["run"]) == (tool, "confirm", run["id"])
        assert bot.answer(question).problem == (403, "not-allowed")
        assert ana.answer(question).status == 200
    run = carry_out(bot, run)

    assert (run["state"], run["reply"], run["waiting"]) == ("rolled_back", UNDONE, [])
    assert run["stop"] == {
        "kind": "failed",
        "step": 3,
        "tool": "provision_account",
        "cause": "RuntimeError",
        "by": None,
        "detail": None,
    }
    assert [(step["tool"], step["state"], step["undoes"]) for step in run["steps"]] == [
        ("charge_card", "undone", None),
        ("update_crm", "undone", None),
        ("provision_account", "failed", None),
        ("restore_crm", "performed", 2),
        ("refund_card", "performed", 1),
    ]
    assert changes(world) == ["charge_card", "update_crm", "restore_crm", "refund_card"]
    assert bot.get(f"/threads/{thread['id']}").body["messages"][-1]["text"] == UNDONE


def test_a_question_says_what_the_person_needs(parked: Callable[..., dict[str, Any]], ana: Caller) -> None:
    run = parked({"tool": "charge_card", "args": {"order": 4411, "amount": "40.00"}}, ticket="T-1")
    [short] = run["waiting"]
    question = ana.get(f"/questions/{short['id']}").body
    assert {name: question[name] for name in short} == short
    assert question["text"] == "Charge 40.00 to order 4411"
    assert question["args"] == {"order": 4411, "amount": "40.00"}
    assert question["answers"] == ["approve", "skip", "cancel_all"]
    assert (question["approver"], question["undone_by"], question["open"]) == ("support", "refund_card", True)
    assert question["links"]["answer"] == f"/api/v1/questions/{short['id']}/answer"


def test_what_is_done_already_stands_beside_the_next_question(
    parked: Callable[..., dict[str, Any]], bot: Caller, ana: Caller, world: str
) -> None:
    receipt = {"tool": "send_receipt", "args": {"order": 4411}}
    run = parked({"tool": "charge_card", "args": {"order": 4411, "amount": "40.00"}}, receipt)
    ana.answer(run["waiting"][0])
    run = carry_out(bot, run)
    question = ana.get(f"/questions/{run['waiting'][0]['id']}").body
    assert question["already_done"] == [
        {
            "step": 1,
            "tool": "charge_card",
            "summary": "40.00 charged to order 4411",
            "undone_by": "refund_card",
        }
    ]
    assert question["warnings"] == [
        "Nothing can undo this step once it runs.",
        "Nothing undoes this step, and the steps after it cannot undo it.",
    ]
