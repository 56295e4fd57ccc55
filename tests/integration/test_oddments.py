"""What authors of tools may write without thinking of everything: it never sends twice, and stops no page."""

from decimal import Decimal
from pathlib import Path
from typing import Optional

import httpx
import pytest

from runs import services
from runs.engine import advance
from runs.errors import BadInput, ConfigurationError, InDoubt, RunClosed, Unavailable
from runs.handover import ticket
from runs.models import Run
from runs.tools import Call, tool
from runs.tools.http import Service, through
from runs.tools.registry import ATTRIBUTE
from runs.tools.windows import Window, ask_until_when
from tests.factories import (
    AGENT,
    PERSON,
    answer,
    approve_all,
    make_agent,
    question,
    reply,
    start,
    states,
    until,
)
from tests.integration.pages import signed_in
from tests.vault import IBAN
from tests.world import WORLD

TOOLS = ["bill", "invoice", "scale", "grow", "drop", "burst"]


@pytest.fixture
def odd(tmp_path: Path) -> str:
    """An agent with those tools."""
    return make_agent(tmp_path, "oddments", TOOLS, "tests.oddments")


def _started(agent: str, *calls: tuple[str, dict[str, object]]) -> Run:
    thread = services.start_thread(AGENT, agent, "u-1")
    steps = [services.Proposal(name, args) for name, args in calls]
    run = services.start(AGENT, thread, services.RunRequest(steps=steps))
    advance(run.pk)
    run.refresh_from_db()
    return run


@pytest.mark.django_db(transaction=True)
def test_a_word_that_no_lookup_knows_is_a_lookup_that_failed_and_nothing_is_sent_again(agent: str) -> None:
    WORLD.script = {"tag": ["times out after"], "find": ["another word"]}
    run = answer(start(agent, "tag 1"), "approve")
    run = until(run, "succeeded", "waiting")
    assert (run.state, WORLD.calls, len(WORLD.lookups)) == ("succeeded", ["tag"], 2)
    said = run.events.filter(kind="step.looked_up").earliest("pk").data
    assert said["said"] == "failed"
    assert "must return happened" in said["error"]


def test_nor_is_a_window_open_by_a_word_that_nobody_knows() -> None:
    @tool
    def collection(call: Call, key: str) -> Window:
        """Says what it likes."""
        return Window("perhaps")

    said = ask_until_when(getattr(collection, ATTRIBUTE), Call("k", "collection"))
    assert (said.said, said.error) == ("failed", "collection must return until(…), still_open() or closed()")


@pytest.mark.django_db(transaction=True)
def test_a_summary_that_cannot_be_written_gives_way_to_the_name_of_the_tool(odd: str) -> None:
    run = start(odd, "bill 1 40.00")
    assert (run.state, reply(run)) == ("succeeded", "Done: bill.")


@pytest.mark.django_db(transaction=True)
def test_a_sentence_that_cannot_be_written_takes_no_page_away(odd: str) -> None:
    run = start(odd, "invoice 1 40.00")
    ana = signed_in("ana", "Ana Ferreira", "support")
    for path in ("/", f"/questions/{question(run).pk}/", "/runs/", f"/runs/{run.pk}/"):
        assert ana.get(path).status_code == 200, path


@pytest.mark.django_db(transaction=True)
def test_a_number_that_does_not_come_back_from_the_database_as_it_was_is_refused(odd: str) -> None:
    with pytest.raises(BadInput, match=r"a number from 2\^53 on; send it as a string"):
        _started(odd, ("scale", {"order": 1, "factor": 1e16}))
    assert not Run.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_large_number_of_a_service_is_kept_as_text_and_its_write_can_be_undone(odd: str) -> None:
    run = until(_started(odd, ("grow", {"order": 1}), ("burst", {"order": 1})), "rolled_back", "failed")
    assert (run.state, WORLD.calls) == ("rolled_back", ["grow", "drop"])
    grown, dropped = (
        run.steps.order_by("number").exclude(tool="burst").values_list("entry__result", flat=True)
    )
    assert grown == {"id": "1234567890123456789", "size": "1e+16"}
    assert dropped == {"dropped": "1234567890123456789"}
    assert states(run)["grow"] == "undone"


@pytest.mark.django_db(transaction=True)
def test_a_write_whose_undo_cannot_be_bound_is_not_offered_for_undoing(tmp_path: Path) -> None:
    WORLD.script = {"mail": ["raises"]}
    run = approve_all(start(make_agent(tmp_path, runs="keep"), "odd 1, then mail 2"))
    assert [done["reversible"] for done in ticket(run)["completed"]] == [False]
    assert reply(run).endswith("Not undoable, and left as they are: odd.")
    with pytest.raises(RunClosed, match="nothing that can be undone"):
        services.undo(PERSON, run)


@pytest.mark.django_db(transaction=True)
def test_a_ticket_says_what_the_customer_was_told_of_a_write_that_was_undone_since(tmp_path: Path) -> None:
    agent = make_agent(tmp_path, "vault", ["transfer", "recall", "stop"], "tests.vault")
    run = _started(agent, ("transfer", {"iban": IBAN, "amount": "40.00"}), ("stop", {"order": 1}))
    WORLD.script = {"stop": ["raises"]}
    run = until(approve_all(run), "rolled_back", "failed")
    assert states(run)["transfer"] == "undone"
    assert ticket(run)["customer_told"].startswith("The transfer to ")


@pytest.mark.parametrize("hint", [set, set[str], frozenset[int], list[set[str]], set[str] | None])
def test_a_set_has_no_order_that_could_be_kept(hint: object) -> None:
    def label(order: int, tags: object) -> None:
        """A tool."""

    label.__annotations__["tags"] = hint
    with pytest.raises(ConfigurationError, match="Tool label: parameter tags: a set comes in another order"):
        tool(label)


def test_money_that_may_be_left_out_is_exact_too() -> None:
    @tool
    def charge(amount: Optional[Decimal] = None) -> None:  # noqa: UP045 (as people write it)
        """A tool."""

    taken = getattr(charge, ATTRIBUTE)
    assert taken.validate({"amount": "0.10"}) == {"amount": "0.10"}
    with pytest.raises(BadInput, match="money is exact"):
        taken.validate({"amount": 0.1})


def test_only_a_request_that_writes_is_in_doubt_when_its_answer_cannot_be_read() -> None:
    call, service = Call("k", "charge"), Service("http://service.test")
    gateway = httpx.MockTransport(lambda request: httpx.Response(200, text="<html>"))
    with through(httpx.Client(transport=gateway)):
        with pytest.raises(Unavailable, match="is not JSON"):
            service.get(call, "/orders/1")
        with pytest.raises(InDoubt, match="is not JSON"):
            service.post(call, "/charges", {"order": 1})
