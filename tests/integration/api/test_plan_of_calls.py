"""POST /plan: what calls would ask, what undoes them, what a failure leaves; and that nothing comes of it."""

from typing import Any

import pytest

from tests.integration.api.caller import CHARGE, ORDER, Caller, changes, stored

pytestmark = pytest.mark.django_db
RECEIPT = {"tool": "send_receipt", "args": {"order": 4411}}
STAYS = "“Send the receipt for order 4411” stays done."
PROVISION = {"tool": "provision_account", "args": {"order": 4411}}


def test_each_call_says_what_would_be_asked_of_whom_what_undoes_it_and_what_would_be_left(
    bot: Caller,
) -> None:
    steps = bot.post("/plan", {"agent": "desk", "steps": [CHARGE, RECEIPT, PROVISION]}).body["steps"]
    assert [step["text"] for step in steps] == [
        "Charge 40.00 to order 4411",
        "Send the receipt for order 4411",
        "Provision the account for order 4411",
    ]
    assert [step["asks"]["approver"] for step in steps] == ["support"] * 3
    assert [step["asks"]["warnings"] for step in steps] == [
        [],
        [
            "Nothing can undo this step once it runs.",
            "Nothing undoes this step, and the steps after it cannot undo it.",
        ],
        [],
    ]
    assert steps[0]["undo"] == {
        "tool": "refund_card",
        "args": {"charge": "$result.charge", "amount": "40.00"},
    }
    assert [step["not_undoable"] for step in steps] == [None, "nothing undoes it", "nothing undoes it"]
    assert [step["if_it_fails"]["text"] for step in steps] == [
        "If this step fails: nothing is left, as nothing was changed.",
        "If this step fails: “Charge 40.00 to order 4411” is undone by refund_card.",
        "If this step fails: “Charge 40.00 to order 4411” is undone by refund_card, and " + STAYS,
    ]
    assert steps[2]["if_it_fails"]["undone"] == [
        {"step": 1, "text": "Charge 40.00 to order 4411", "undone_by": "refund_card"}
    ]
    assert steps[2]["if_it_fails"]["stays"] == [
        {"step": 2, "text": "Send the receipt for order 4411", "undone_by": None}
    ]


def test_a_turn_is_read_as_a_run_would_read_it(bot: Caller) -> None:
    steps = bot.post("/plan", {"agent": "desk", "text": ORDER}).body["steps"]
    assert [step["tool"] for step in steps] == ["charge_card", "update_crm", "provision_account"]


def test_nothing_is_stored_and_nothing_is_sent(bot: Caller, world: str) -> None:
    before = stored()
    assert bot.post("/plan", {"agent": "desk", "text": ORDER}, key="a-key").status == 200
    assert (stored(), changes(world)) == (before, [])


# --- Who may, and what is refused ---------------------------------------------------------------------
BODIES = {
    "no agent": ({"steps": [CHARGE]}, "bad-input", None),
    "an agent and a thread": (
        {"agent": "desk", "thread": "6f1c7a58-6d8a-4f52-9c5e-0b9f2f4b6a11"},
        "bad-input",
        None,
    ),
    "nothing to try": ({"agent": "desk"}, "bad-input", "/steps"),
    "an unknown tool": ({"agent": "desk", "steps": [{"tool": "launch"}]}, "bad-input", "/steps/0/tool"),
    "money as a float": (
        {"agent": "desk", "steps": [CHARGE, {"tool": "charge_card", "args": {"order": 1, "amount": 4.5}}]},
        "bad-input",
        "/steps/1/args/amount",
    ),
    "an unknown task": ({"agent": "desk", "steps": [CHARGE], "task": "juggle"}, "bad-input", "/task"),
    "a turn that is not read": ({"agent": "desk", "text": "sing a song"}, "turn-not-read", "/text"),
    "too many calls": ({"agent": "desk", "steps": [CHARGE] * 101}, "bad-input", "/steps"),
    "faults": (
        {"agent": "desk", "steps": [CHARGE], "faults": {"charge_card": "down"}},
        "bad-input",
        "/faults",
    ),
}


@pytest.mark.parametrize(("body", "kind", "field"), BODIES.values(), ids=BODIES.keys())
def test_a_plan_that_is_not_valid_is_refused_as_its_run_would_be(
    body: dict[str, Any], kind: str, field: str | None, bot: Caller
) -> None:
    reply = bot.post("/plan", body)
    assert reply.problem == (422, kind)
    assert reply.body.get("field") == field


def test_a_plan_is_for_whoever_sees_the_agent(bot: Caller, other_bot: Caller, ana: Caller) -> None:
    body = {"agent": "desk", "steps": [CHARGE]}
    assert ana.post("/plan", body).status == 200
    assert other_bot.post("/plan", body).problem == (404, "not-found")
    assert bot.post("/plan", body | {"agent": "nobody"}).problem == (404, "not-found")
    assert Caller().post("/plan", body).problem == (401, "unauthenticated")
    thread = bot.post("/threads", {"agent": "desk", "user": "u-17"}).body["id"]
    assert bot.post("/plan", {"thread": thread, "steps": [CHARGE]}).status == 200
    assert other_bot.post("/plan", {"thread": thread, "steps": [CHARGE]}).problem == (404, "not-found")


def test_tools_and_agents_say_what_the_contract_asks_for(ana: Caller) -> None:
    tools = {item["name"]: item for item in ana.get("/tools").body["items"]}
    charge, label = tools["charge_card"], tools["start_return"]
    assert charge["arguments"]["properties"]["amount"]["type"] == "string"
    assert charge["arguments"]["required"] == ["order", "amount"]
    assert (charge["undo"]["tool"], charge["irreversible"], charge["retry_safe"]) == (
        "refund_card",
        False,
        False,
    )
    assert (label["undo"], label["reversible_until"]) == (
        {"tool": "cancel_return", "args": {"label": "$result.label"}},
        "collection",
    )
    assert tools["send_receipt"]["irreversible"]
    agents = {item["name"]: item for item in ana.get("/agents").body["items"]}
    assert set(agents["desk"]["tools"]) <= set(tools)
