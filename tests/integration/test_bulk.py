"""Approving several calls together: what is ticked, what is shown once more, and what comes of each row."""

import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from approvals import bulk
from approvals import services as answering
from approvals.models import Answer, Bulk
from runs import queue, services
from runs.access import Actor
from runs.engine import advance
from runs.errors import BadInput
from runs.models import Event, Run, Step
from runs.parking import CANNOT_UNDO
from tests.factories import answer, approve_all, make_agent, question, start
from tests.integration.pages import form_of, html, signed_in, words
from tests.world import WORLD

pytestmark = pytest.mark.django_db
NONCE = "n" * 22
ANA = Actor("Ana Ferreira", frozenset({"support"}))
OLGA = Actor("Olga Petrova", frozenset({"operator"}))
HTMX = {"HX-Request": "true"}


@pytest.fixture
def ana(db: None) -> Client:
    """Support."""
    return signed_in("ana", "Ana Ferreira", "support")


@pytest.fixture
def tom(db: None) -> Client:
    """Support as well."""
    return signed_in("tom", "Tom Baker", "support")


@pytest.fixture
def three(agent: str) -> list[Run]:
    """Three runs, each of which asks to charge, and ends after that."""
    return [start(agent, f"charge {order} 40.00", f"u-{order}") for order in (1, 2, 3)]


def picked(*runs: Run) -> list[str]:
    """What the ticks of their questions send."""
    return [f"{(step := question(run)).pk}:{step.digest}" for run in runs]


def came_to(stored: Bulk) -> list[tuple[str, str]]:
    """The word of each row, and why."""
    return [(result.look.word, result.detail) for result in bulk.results(stored)]


def approve(*runs: Run, who: Actor = ANA, nonce: str = NONCE) -> Bulk:
    return bulk.approve(who, nonce, bulk.read(picked(*runs)))


# --- What may be ticked -------------------------------------------------------------------------------
def test_the_list_has_ticks_for_what_can_be_undone_and_this_person_may_answer(
    ana: Client, agent: str, three: list[Run]
) -> None:
    mail = start(agent, "mail 1")
    WORLD.script = {"charge": ["times out before"]}
    doubt = answer(start(agent, "charge 9 40.00"), "approve")
    page = html(ana.get("/?who=all"))
    assert re.findall(r'name="pick"\s+value="([^"]*)"', page) == picked(*three)
    assert all(f'/questions/{question(run).pk}/"' in page for run in (mail, doubt))
    assert "Approve the ticked ones…" in page


def test_an_operator_who_may_answer_none_of_them_has_no_ticks(three: list[Run]) -> None:
    page = html(signed_in("olga", "Olga Petrova", "operator").get("/?who=all"))
    assert "Charge 40.00 to order 1" in page
    assert 'name="pick"' not in page
    assert "Approve the ticked" not in page


def test_a_write_that_nothing_undoes_is_never_ticked_even_without_a_warning(tmp_path: Path) -> None:
    name = make_agent(tmp_path, "half", tools=["charge"])  # refund, which would undo it, is not its tool
    step = question(start(name, "charge 1 40.00"))
    assert step.warnings == []
    stored = bulk.approve(ANA, NONCE, bulk.read([f"{step.pk}:{step.digest}"]))
    assert came_to(stored) == [("not allowed", bulk.ALONE)]


def test_a_plan_is_ticked_only_where_all_of_it_can_be_undone(ana: Client, tmp_path: Path) -> None:
    name = make_agent(tmp_path, "planner", confirm="plan")
    whole = start(name, "charge 1 40.00, then tag 1", "u-1")
    half = start(name, "charge 2 40.00, then mail 2", "u-2")
    assert question(whole).covers
    assert question(half).covers
    page = html(ana.get("/"))
    assert re.findall(r'name="pick"\s+value="([^"]*)"', page) == picked(whole)
    shown = words(ana.post("/questions/together/", {"pick": picked(whole)}))
    assert "charge(order 1, amount 40.00)" in shown
    assert "tag(order 1)" in shown


def test_a_list_with_ticks_costs_no_more_queries_however_long(ana: Client, agent: str) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as counted:
            ana.get("/")
        return len(counted)

    start(agent, "charge 1 40.00", "u-1")
    few = queries()
    for order in range(2, 8):
        start(agent, f"charge {order} 40.00", f"u-{order}")
    assert queries() == few


# --- What is shown once more --------------------------------------------------------------------------
def test_each_call_is_shown_once_more_with_its_id_and_the_digest_of_the_list(
    ana: Client, three: list[Run]
) -> None:
    page = ana.post("/questions/together/", {"pick": picked(*three[:2])})
    said = words(page)
    assert "Approve these 2 calls" in said
    for run in three[:2]:
        step = question(run)
        assert f"question {step.pk} of {run.name}" in said
        assert f"charge(order {step.args['order']}, amount 40.00)" in said
        assert step.digest[:4] in said
    assert three[2].name not in said
    assert "Undone by refund" in said
    sent = re.findall(r'name="pick"\s+value="([^"]*)"', html(page))
    assert sent == picked(*three[:2])
    assert Answer.objects.count() == Bulk.objects.count() == 0


def test_what_changed_or_was_answered_since_the_list_is_left_out_with_the_reason(
    ana: Client, three: list[Run]
) -> None:
    ticked = picked(*three)
    services.resolve(ANA, question(three[0]).pk, "skip", question(three[0]).digest)
    Step.objects.filter(pk=question(three[1]).pk).update(digest="a" * 64)
    page = ana.post("/questions/together/", {"pick": ticked})
    said = words(page)
    assert "Approve this call" in said
    assert "Left out: these are not sent" in said
    assert "It has been answered, or withdrawn, since you ticked it." in said
    assert "The call changed since you ticked it: read the new version." in said
    assert re.findall(r'name="pick"\s+value="([^"]*)"', html(page)) == ticked[2:]


def test_where_nothing_is_left_there_is_no_button(ana: Client, three: list[Run]) -> None:
    ticked = picked(three[0])
    services.resolve(ANA, question(three[0]).pk, "skip", question(three[0]).digest)
    page = ana.post("/questions/together/", {"pick": ticked})
    assert "Nothing is left to approve" in words(page)
    assert 'value="approve"' not in html(page)


# --- What comes of it ---------------------------------------------------------------------------------
def test_each_row_is_an_answer_of_its_own_and_workers_carry_them_out(ana: Client, three: list[Run]) -> None:
    form = form_of(ana.post("/questions/together/", {"pick": picked(*three)}))
    nudges = queue.waiting()
    sent = ana.post(
        "/questions/together/",
        {"pick": picked(*three), "nonce": form["nonce"], "do": "approve", "reason": "all paid in advance"},
    )
    assert sent.status_code == 302
    assert WORLD.calls == []  # recording sends nothing
    assert queue.waiting() == nudges + 3
    stored = [(one.answer, one.by, one.reason) for one in Answer.objects.order_by("pk")]
    assert stored == [("approve", "Ana Ferreira", "all paid in advance")] * 3
    assert len({one.nonce for one in Answer.objects.all()}) == 3
    assert {one.digest for one in Answer.objects.all()} == {
        pick.split(":")[1] for pick in picked_before(three)
    }
    said = words(ana.get(sent["Location"]))
    assert "3 of 3 approved" in said
    for run in three:
        advance(run.pk)
    assert WORLD.landed == ["charge"] * 3
    assert words(ana.get(sent["Location"])).count("approved Charge 40.00") == 3
    assert "performed" in words(ana.get(sent["Location"]))


def picked_before(runs: list[Run]) -> list[str]:
    """The same, once they are answered."""
    return [f"{step.pk}:{step.digest}" for run in runs for step in run.steps.filter(asks="confirm")]


def test_the_record_says_that_they_were_approved_together(ana: Client, three: list[Run]) -> None:
    approve(*three)
    event = Event.objects.filter(run=three[0], kind="question.answered").get()
    assert event.data["together"] == 3
    assert "one of 3 together" in words(ana.get(f"/runs/{three[0].pk}/"))


def test_the_same_form_again_does_nothing_again(ana: Client, three: list[Run]) -> None:
    sent = {"pick": picked(*three), "nonce": NONCE, "do": "approve"}
    first, second = (ana.post("/questions/together/", sent) for _ in range(2))
    assert first["Location"] == second["Location"]
    assert (Answer.objects.count(), Bulk.objects.count()) == (3, 1)


def test_a_row_that_was_refused_is_not_approved_by_sending_the_form_again(
    ana: Client, three: list[Run]
) -> None:
    """What the first sending met stays what came of it, whatever has changed since."""
    sent = {"pick": picked(three[0]), "nonce": NONCE, "do": "approve"}
    Step.objects.filter(pk=question(three[0]).pk).update(approver="lead")
    ana.post("/questions/together/", sent)
    Step.objects.filter(pk=question(three[0]).pk).update(approver="support")
    said = words(ana.get(ana.post("/questions/together/", sent)["Location"]))
    assert "0 of 1 approved" in said
    assert "for the role lead" in said
    assert Answer.objects.count() == 0


def test_a_nonce_of_other_rows_or_of_somebody_else_is_refused(three: list[Run]) -> None:
    first, others = (bulk.read(picked(*runs)) for runs in (three[:1], three[1:]))
    bulk.approve(ANA, NONCE, first)
    somebody_else = Actor("Tom Baker", frozenset({"support"}), user_id=7)
    for who, rows in ((ANA, others), (somebody_else, first)):
        with pytest.raises(BadInput, match="This nonce was used for other rows"):
            bulk.approve(who, NONCE, rows)
    assert Answer.objects.count() == 1


def test_the_second_of_two_people_is_told_who_was_first_and_the_rest_goes_on(
    ana: Client, tom: Client, three: list[Run]
) -> None:
    ticked = picked(*three)
    first = tom.post("/questions/together/", {"pick": ticked[:1], "nonce": "t" * 22, "do": "approve"})
    assert "1 of 1 approved" in words(tom.get(first["Location"]))
    second = ana.post("/questions/together/", {"pick": ticked, "nonce": NONCE, "do": "approve"})
    said = words(ana.get(second["Location"]))
    assert "2 of 3 approved" in said
    assert re.search(
        r"answered meanwhile Charge 40.00 to order 1 .*Answered by Tom Baker, \d\d:\d\d UTC: approve", said
    )


def test_every_way_in_which_a_row_is_not_recorded(agent: str, three: list[Run]) -> None:
    changed, withdrawn, theirs = three
    ticked = picked(*three)
    Step.objects.filter(pk=question(changed).pk).update(digest="a" * 64)
    services.cancel(OLGA, withdrawn, "wrong customer")
    advance(withdrawn.pk)
    Step.objects.filter(pk=question(theirs).pk).update(approver="lead")
    nobody = f"999999:{'b' * 64}"
    fine = start(agent, "charge 4 40.00", "u-4")
    stored = bulk.approve(ANA, NONCE, bulk.read([*ticked, nobody, *picked(fine)]))
    assert came_to(stored) == [
        (
            "the call changed",
            "The call changed since it was shown; nothing was sent. Read the new version and decide again.",
        ),
        ("withdrawn", f"This question was withdrawn: charge is cancelled, and {withdrawn.name} is failed."),
        ("not allowed", "This question is for the role lead; ask somebody who has it."),
        ("approved", ""),
    ]
    assert stored.refused["999999"]["type"] == "not-found"
    assert [one.step_id for one in Answer.objects.all()] == [fine.steps.get().pk]


def test_who_asked_for_the_call_is_not_the_second_pair_of_eyes(ana: Client, three: list[Run]) -> None:
    Step.objects.filter(pk=question(three[0]).pk).update(not_by=["Ana Ferreira"])
    assert "a second pair of eyes" in words(ana.post("/questions/together/", {"pick": picked(three[0])}))
    assert came_to(approve(three[0])) == [
        ("not allowed", "You asked for this call, and a rule wants a second pair of eyes on it.")
    ]


# --- Never the irreversible ---------------------------------------------------------------------------
def test_a_forged_irreversible_row_is_refused(ana: Client, agent: str, three: list[Run]) -> None:
    mail = start(agent, "mail 1")
    forged = {"pick": [*picked(mail), *picked(three[0])], "nonce": NONCE, "do": "approve"}
    said = words(ana.get(ana.post("/questions/together/", forged)["Location"]))
    assert "1 of 2 approved" in said
    assert bulk.ALONE in said
    advance(mail.pk)
    assert (question(mail).answer, WORLD.landed) == ("", [])
    shown = words(ana.post("/questions/together/", {"pick": picked(mail)}))
    assert "Nothing is left to approve" in shown
    assert bulk.ALONE in shown


def test_one_that_became_irreversible_since_it_was_ticked_is_refused(three: list[Run]) -> None:
    ticked = picked(three[0])
    Step.objects.filter(pk=question(three[0]).pk).update(warnings=[CANNOT_UNDO], digest="c" * 64)
    assert came_to(bulk.approve(ANA, NONCE, bulk.read(ticked)))[0][0] == "the call changed"
    assert came_to(approve(three[0], nonce="m" * 22)) == [("not allowed", bulk.ALONE)]


def test_other_questions_are_never_answered_together(agent: str) -> None:
    WORLD.script = {"charge": ["times out before"]}
    doubt = answer(start(agent, "charge 1 40.00"), "approve")
    step = question(doubt)
    assert step.asks == "outcome"
    boss = Actor("Ada", frozenset({"support", "lead", "operator", "admin"}))
    assert came_to(approve(doubt, who=boss)) == [("not allowed", bulk.ALONE)]
    assert question(doubt).answer == ""


# --- What cannot be read ------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "picks",
    [
        [],
        ["1:" + "a" * 63],
        ["x"],
        ["0:" + "a" * 64],
        ["1:" + "A" * 64],
        ["1:" + "a" * 64] * 2,
        [f"{number}:{'a' * 64}" for number in range(1, 52)],
        ["9" * 19 + ":" + "a" * 64],
    ],
    ids=["none", "short digest", "nonsense", "zero", "capitals", "twice", "too many", "too large"],
)
@pytest.mark.parametrize("do", ["", "approve"])
def test_ticks_that_are_none_are_refused_in_words(ana: Client, picks: list[str], do: str) -> None:
    sent = ana.post("/questions/together/", {"pick": picks, "nonce": NONCE, "do": do})
    assert sent.status_code == 422
    assert Bulk.objects.count() == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("nonce", ""),
        ("nonce", "n" * 41),
        ("nonce", "a/b/../../admin"),
        ("reason", "\x00"),
        ("reason", "x" * 2001),
    ],
)
def test_a_form_that_is_not_whole_is_refused(ana: Client, three: list[Run], name: str, value: str) -> None:
    sent = {"pick": picked(*three), "nonce": NONCE, "do": "approve"} | {name: value}
    assert ana.post("/questions/together/", sent).status_code == 422
    assert (Bulk.objects.count(), Answer.objects.count()) == (0, 0)


def test_a_get_never_decides_and_a_lost_answer_can_be_checked(ana: Client, three: list[Run]) -> None:
    query = "&".join(f"pick={pick}" for pick in picked(*three))
    assert ana.get(f"/questions/together/?do=approve&nonce={NONCE}&{query}")["Location"] == "/"
    said = words(ana.get(f"/questions/together/{NONCE}/"))
    assert "Nothing of it was recorded" in said
    assert Answer.objects.count() == 0


def test_signed_out_while_approving_keeps_the_ticks_where_they_are(client: Client, three: list[Run]) -> None:
    sent = {"pick": picked(*three), "nonce": NONCE, "do": "approve"}
    response = client.post("/questions/together/", sent, headers=HTMX)
    assert (response.status_code, response["HX-Retarget"]) == (401, "#banner")
    assert "Your answer was not sent." in words(response)
    assert client.post("/questions/together/", sent)["Location"] == "/login/?next=/questions/together/"
    assert Bulk.objects.count() == 0


def test_a_process_that_died_in_the_middle_leaves_what_was_recorded_and_says_what_was_not(
    three: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    ticked = bulk.read(picked(*three))
    _die_at(2, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        bulk.approve(ANA, NONCE, ticked)
    stored = Bulk.objects.get()
    assert [word for word, _ in came_to(stored)] == ["approved", "not recorded", "not recorded"]
    assert came_to(stored)[1][1] == "It is not recorded yet: look again."
    Bulk.objects.update(at=stored.at - 2 * bulk.PATIENCE)
    assert came_to(Bulk.objects.get())[1][1] == "It was not reached, and nothing was sent."
    bulk.approve(ANA, NONCE, ticked)  # sent again by a browser: nothing happens
    assert Answer.objects.count() == 1


def _die_at(row: int, monkeypatch: pytest.MonkeyPatch) -> None:
    record: Callable[..., Answer] = answering.answer
    seen = 0

    def dying(*args: Any) -> Answer:
        nonlocal seen
        seen += 1
        if seen == row:
            raise KeyboardInterrupt
        return record(*args)

    monkeypatch.setattr(answering, "answer", dying)


@pytest.mark.django_db(transaction=True)
def test_two_people_who_approve_the_same_rows_at_once_give_each_row_one_answer(agent: str) -> None:
    runs = [start(agent, f"charge {order} 40.00", f"u-{order}") for order in range(1, 11)]
    ticked, both = bulk.read(picked(*runs)), threading.Barrier(2)
    people = [Actor(name, frozenset({"support"})) for name in ("Ana Ferreira", "Tom Baker")]

    def send(who: Actor, nonce: str) -> None:
        try:
            both.wait(5)
            bulk.approve(who, nonce, ticked if who is people[0] else tuple(reversed(ticked)))
        finally:
            connection.close()

    threads = [threading.Thread(target=send, args=(who, f"nonce-of-{who.name[:3]}")) for who in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    told = [word for stored in Bulk.objects.all() for word, _ in came_to(stored)]
    assert sorted(told) == ["answered meanwhile"] * 10 + ["approved"] * 10
    assert Answer.objects.count() == 10
    for run in runs:
        approve_all(run)
        advance(run.pk)
    assert WORLD.landed == ["charge"] * 10
