"""Having an unknown outcome looked up, over the API."""

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from runs.engine import advance
from runs.models import Run
from tests.factories import approve_all, question, start
from tests.integration.api.caller import Caller, stored
from tests.world import WORLD

pytestmark = pytest.mark.django_db


@pytest.fixture
def doubt(agent: str) -> Run:
    """It took effect, no answer came back, and the lookup could not say."""
    WORLD.script = {"tag": ["times out after"], "find": ["cannot say"]}
    return approve_all(start(agent, "tag 1"))


def test_it_is_asked_for_looked_up_by_a_worker_and_settles_the_question(olga: Caller, doubt: Run) -> None:
    address = f"/questions/{question(doubt).pk}"
    asked = olga.get(address).body
    assert asked["lookup"] | {"last": None} == {
        "tool": "find",
        "last": None,
        "requested": False,
        "next_at": asked["lookup"]["next_at"],
    }
    assert (asked["lookup"]["last"]["said"], asked["lookup"]["last"]["error"]) == ("cannot_say", None)
    assert datetime.fromisoformat(asked["lookup"]["next_at"]) > datetime.fromisoformat(asked["asked_at"])
    assert asked["links"]["look_up"] == f"/api/v1{address}/look-up"

    reply = olga.post(f"{address}/look-up")
    assert (reply.status, reply.body["open"], reply.body["lookup"]["requested"]) == (202, True, True)
    assert olga.post(f"{address}/look-up").status == 202
    assert len(WORLD.lookups) == 1  # nothing was looked up by the request itself
    advance(doubt.pk)

    settled = olga.get(address).body
    assert (settled["open"], settled["answer"], settled["state"]) == (False, None, "performed")
    assert settled["settled"].endswith(": it happened.")
    assert settled["lookup"]["last"]["said"] == "happened"
    assert olga.get(f"/runs/{doubt.name}").body["reply"] == "Done: tag. Settled by a lookup: tag."
    before = stored()
    refused = olga.answer({"id": settled["id"], "digest": asked["digest"]}, "did_not_happen")
    assert refused.problem == (410, "gone")
    assert "A lookup settled this question" in refused.body["detail"]
    assert olga.post(f"{address}/look-up").problem == (410, "gone")
    assert stored() == before


def test_what_a_lookup_says_anew_makes_another_question(olga: Caller, agent: str) -> None:
    WORLD.script = {"tag": ["times out before"], "find": ["cannot say"]}
    run = approve_all(start(agent, "tag 1"))
    run.steps.update(settles_at=timezone.now() + timedelta(hours=1))  # it can still arrive
    [waiting] = olga.get(f"/runs/{run.name}").body["waiting"]
    olga.post(f"/questions/{waiting['id']}/look-up")
    advance(run.pk)
    refused = olga.answer(waiting, "happened")
    assert refused.problem == (409, "digest-mismatch")
    now = olga.get(f"/questions/{waiting['id']}").body
    assert (refused.body["digest"], now["open"], now["asked_at"]) == (
        now["digest"],
        True,
        waiting["asked_at"],
    )
    assert olga.answer(now, "happened").status == 200


def test_what_cannot_be_looked_up_is_refused_and_nothing_is_stored(
    olga: Caller, ana: Caller, agent: str, doubt: Run
) -> None:
    WORLD.script = {"charge": ["times out after"]}
    charge = question(approve_all(start(agent, "charge 1 40.00", "u-2")))
    before = stored()
    assert olga.post(f"/questions/{charge.pk}/look-up").problem == (422, "bad-input")
    assert olga.post("/questions/999999/look-up").problem == (404, "not-found")
    assert ana.post(f"/questions/{question(doubt).pk}/look-up").problem == (403, "not-allowed")
    assert olga.post(f"/questions/{question(doubt).pk}/look-up", {"now": True}).problem == (422, "bad-input")
    assert olga.get(f"/questions/{charge.pk}").body["lookup"] is None
    assert stored() == before


def test_an_answered_question_is_not_looked_up(olga: Caller, doubt: Run) -> None:
    [waiting] = olga.get(f"/runs/{doubt.name}").body["waiting"]
    assert olga.answer(waiting, "happened").status == 200
    assert olga.post(f"/questions/{waiting['id']}/look-up").problem == (409, "already-answered")
