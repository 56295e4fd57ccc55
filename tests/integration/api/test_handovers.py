"""Handovers over the API, an operator's verbs, and the record as JSON Lines."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from approvals.models import Claim
from runs import tokens
from runs.models import Event, Run
from tests.handed_over import TICKET, rows
from tests.integration.api.caller import CHARGE, Caller, changes
from tests.integration.api.conftest import carry_out, person, row_of

pytestmark = pytest.mark.django_db
Parked = Callable[..., dict[str, Any]]


@pytest.fixture
def bench(db: None) -> str:
    """The address of the garden bench's handover."""
    return f"/runs/{rows().name}/handover"


def test_the_ticket_comes_out_field_by_field(bench: str, ana: Caller, other_bot: Caller) -> None:
    for caller in (ana, other_bot):
        said = caller.get(bench).body
        assert {name: said[name] for name in TICKET} == TICKET
        assert (said["state"], said["claim"], said["resolution"], said["notes"]) == ("open", None, None, [])


def test_a_run_that_was_not_handed_over_has_none(parked: Parked, ana: Caller) -> None:
    run = parked(CHARGE)["id"]
    assert ana.get(f"/runs/{run}/handover").problem == (404, "not-found")
    assert ana.post(f"/runs/{run}/handover/claim").problem == (404, "not-found")


def test_an_agent_sees_the_handovers_of_its_runs_alone_and_takes_none(
    bench: str, bot: Caller, other_bot: Caller
) -> None:
    assert bot.get(bench).problem == (404, "not-found")
    assert bot.get("/handovers").body["items"] == []
    assert [item["ticket_id"] for item in other_bot.get("/handovers").body["items"]] == ["T-40912"]
    for verb, body in _verbs():
        assert other_bot.post(f"{bench}/{verb}", body).problem == (403, "not-allowed")
    assert not Claim.objects.exists()


def _verbs() -> list[tuple[str, dict[str, str]]]:
    return [("claim", {}), ("notes", {"text": "x"}), ("release", {}), ("resolve", {"done": "x"})]


def test_a_token_without_a_role_takes_none(bench: str) -> None:
    nobody = Caller(tokens.make("nobody", "approver", user=person("nobody", "No Body"))[1])
    for verb, body in _verbs():
        assert nobody.post(f"{bench}/{verb}", body).problem == (403, "not-allowed")


def test_claimed_noted_and_resolved_by_one(bench: str, ana: Caller, tom: Caller) -> None:
    assert ana.post(f"{bench}/resolve", {"done": "x"}).problem == (409, "not-claimed")
    claimed = ana.post(f"{bench}/claim").body
    assert (claimed["state"], claimed["claim"]["by"]) == ("claimed", "Ana Ferreira")
    late = tom.post(f"{bench}/claim")
    assert late.problem == (409, "already-claimed")
    assert late.body["claimed_by"] == "Ana Ferreira"
    assert late.body["claimed_at"]
    assert ana.post(f"{bench}/claim").body == claimed
    assert [note["by"] for note in tom.post(f"{bench}/notes", {"text": "hello"}).body["notes"]] == [
        "Tom Baker"
    ]
    assert tom.post(f"{bench}/resolve", {"done": "x"}).problem == (409, "already-claimed")
    first, again = (ana.post(f"{bench}/resolve", {"done": "refunded"}) for _ in range(2))
    assert first.body == again.body
    assert (first.body["state"], first.body["resolution"]["done"]) == ("resolved", "refunded")
    for verb, body in (("claim", {}), ("release", {}), ("resolve", {"done": "another"})):
        reply = tom.post(f"{bench}/{verb}", body)
        assert reply.problem == (409, "already-resolved")
        assert reply.body["resolved_by"] == "Ana Ferreira"


def test_an_operator_releases_anybodys(bench: str, ana: Caller, tom: Caller, olga: Caller) -> None:
    assert ana.post(f"{bench}/release").problem == (409, "not-claimed")
    ana.post(f"{bench}/claim")
    assert tom.post(f"{bench}/release").problem == (409, "already-claimed")
    assert olga.post(f"{bench}/release").body["state"] == "open"
    assert tom.post(f"{bench}/claim").body["claim"]["by"] == "Tom Baker"


@pytest.mark.parametrize(
    ("verb", "body", "field"),
    [
        ("notes", {}, "/text"),
        ("notes", {"text": " "}, "/text"),
        ("notes", {"text": "x" * 5001}, "/text"),
        ("resolve", {"done": ""}, "/done"),
        ("resolve", {"done": "\n"}, "/done"),
        ("claim", {"by": "Tom"}, "/by"),
    ],
)
def test_what_cannot_be_kept_is_refused(
    bench: str, ana: Caller, verb: str, body: dict[str, str], field: str
) -> None:
    if verb != "claim":
        ana.post(f"{bench}/claim")
    before = Event.objects.count()
    reply = ana.post(f"{bench}/{verb}", body)
    assert reply.problem == (422, "bad-input")
    assert reply.body["field"] == field
    assert Event.objects.count() == before


def test_the_list_has_the_open_ones_first_and_pages_through_all(ana: Caller) -> None:
    runs = [rows(f"T-{number}").name for number in range(6)]
    for run in runs[:4]:
        ana.post(f"/runs/{run}/handover/claim")
    for run in runs[:2]:
        ana.post(f"/runs/{run}/handover/resolve", {"done": "refunded"})
    seen, cursor = [], None
    while True:
        page = ana.get("/handovers", limit=2, **({"cursor": cursor} if cursor else {})).body
        seen += [(item["run"], item["state"]) for item in page["items"]]
        cursor = page["next"]
        if not cursor:
            break
    states = ["open", "open", "claimed", "claimed", "resolved", "resolved"]
    assert seen == list(zip(runs[4:] + runs[2:4] + runs[:2], states, strict=True))
    [only] = ana.get("/handovers", state="claimed", limit=1, cursor=f"claimed-{runs[2][2:]}").body["items"]
    assert only["run"] == runs[3]


@pytest.mark.parametrize(
    ("name", "value"), [("cursor", "1"), ("cursor", "x-1"), ("state", "done"), ("limit", "0")]
)
def test_a_parameter_that_is_none_is_refused(ana: Caller, name: str, value: str) -> None:
    reply = ana.get("/handovers", **{name: value})
    assert reply.problem == (422, "bad-input")
    assert reply.body["parameter"] == name


# --- An operator's verbs ------------------------------------------------------------------------------


def test_an_operator_undoes_a_run_that_has_ended(
    parked: Parked, bot: Caller, ana: Caller, olga: Caller, world: str
) -> None:
    run = parked(CHARGE)
    assert olga.post(f"/runs/{run['id']}/undo").problem == (409, "run-closed")
    ana.answer(run["waiting"][0])
    assert carry_out(bot, run)["state"] == "succeeded"
    accepted = olga.post(f"/runs/{run['id']}/undo")
    assert accepted.status == 202
    assert accepted.response["Location"] == f"/api/v1/runs/{run['id']}"
    assert olga.post(f"/runs/{run['id']}/undo").problem == (409, "run-closed")
    assert carry_out(bot, run)["state"] == "rolled_back"
    assert changes(world) == ["charge_card", "refund_card"]


def test_an_operator_cancels_a_live_run_and_what_it_did_is_undone(
    parked: Parked, bot: Caller, ana: Caller, olga: Caller, world: str
) -> None:
    run = parked(CHARGE, CHARGE)
    ana.answer(run["waiting"][0])
    assert carry_out(bot, run)["state"] == "waiting"
    assert ana.post(f"/runs/{run['id']}/cancel").problem == (403, "not-allowed")
    accepted = olga.post(f"/runs/{run['id']}/cancel", {"reason": "the customer rang"})
    assert (accepted.status, accepted.response["Location"]) == (202, f"/api/v1/runs/{run['id']}")
    ended = carry_out(bot, run)
    assert (ended["state"], ended["waiting"]) == ("rolled_back", [])
    assert ended["reply"] == (
        "This run stopped: cancelled by Olga Petrova. Undone, latest first: charge_card (by refund_card)."
    )
    assert changes(world) == ["charge_card", "refund_card"]


def test_an_operator_resumes_a_live_run(parked: Parked, ana: Caller, bot: Caller, olga: Caller) -> None:
    run = parked(CHARGE)
    assert olga.post(f"/runs/{run['id']}/resume").status == 202
    Run.objects.filter(pk=row_of(run).pk).update(lease_owner="w", lease_expires_at="2999-01-01T00:00Z")
    assert olga.post(f"/runs/{run['id']}/resume").problem == (409, "run-leased")
    Run.objects.update(lease_owner="", lease_expires_at=None)
    ana.answer(run["waiting"][0], "cancel_all")
    carry_out(bot, run)
    assert olga.post(f"/runs/{run['id']}/resume").problem == (409, "run-closed")


# --- The record ---------------------------------------------------------------------------------------


def test_the_journal_is_every_event_one_a_line(parked: Parked, bot: Caller, other_bot: Caller) -> None:
    run = parked(CHARGE)
    headers = {"Authorization": f"Bearer {bot.token}"}
    response: Any = bot.http.get(f"/api/v1/runs/{run['id']}/journal", headers=headers)
    assert response["Content-Type"] == "application/jsonl"
    assert response["Cache-Control"] == "no-store"
    assert response.streaming
    lines = [json.loads(line) for line in b"".join(response.streaming_content).splitlines()]
    events = bot.get(f"/runs/{run['id']}/events").body["items"]
    assert [line["id"] for line in lines] == [event["id"] for event in events]
    assert {line["run"] for line in lines} == {run["id"]}
    assert other_bot.get(f"/runs/{run['id']}/journal").problem == (404, "not-found")
