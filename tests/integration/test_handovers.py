"""Handovers: what the pages say, who may act, and that of two people one has it."""

import json
import re
import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import ProgrammingError, connection, transaction
from django.test import Client

from approvals import handovers
from approvals.models import Claim, Note
from runs import agentfile, services
from runs.access import Actor, person
from runs.engine import advance
from runs.errors import Conflict, NotAllowed
from runs.models import Event, Run, Step
from tests.factories import AGENT, answer, approve_all, start, states
from tests.flows import AGENT_FILES
from tests.handed_over import TICKET, rows
from tests.integration.pages import html, signed_in, words
from tests.world import WORLD

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _examples(settings: Any) -> None:
    settings.AGENT_FILES = AGENT_FILES


@pytest.fixture
def ana(db: None) -> Client:
    return signed_in("ana", "Ana Ferreira", "support")


@pytest.fixture
def tom(db: None) -> Client:
    return signed_in("tom", "Tom Baker", "support")


@pytest.fixture
def olga(db: None) -> Client:
    return signed_in("olga", "Olga Petrova", "operator")


@pytest.fixture
def bench(db: None) -> Run:
    """The garden bench, handed over."""
    return rows()


def address(run: Run) -> str:
    return f"/handovers/{run.pk}/"


def send(client: Client, run: Run, do: str, *, htmx: str = "", **fields: str) -> Any:
    """Send a form of the page; `htmx` is the part that it stands in."""
    headers = {"HX-Request": "true", "HX-Target": htmx} if htmx else {}
    return client.post(address(run), {"do": do, **fields}, headers=headers)


def actor(login: str) -> Actor:
    return person(User.objects.get(username=login))


# --- What the pages say -------------------------------------------------------------------------------


def test_the_ticket_of_the_bench_is_on_its_page_word_for_word(ana: Client, bench: Run) -> None:
    page = words(ana.get(address(bench)))
    said = [
        "T-40912",
        "Order SU-90317: two done, one not",
        "the run died mid-sequence",
        f"The customer was told {TICKET['customer_told']}",
        f"Next action {TICKET['next_action']}",
        f"Not done {TICKET['not_done'][0]['detail']} issue_refund",
        f"Completed {TICKET['completed'][0]['detail']} start_return",
        "14:03:51 UTC can be undone until collection",
        f"{TICKET['completed'][1]['detail']} offer_replacement",
        "14:03:58 UTC can be undone",
        "Undone None. Unknown None.",
    ]
    places = [page.index(part) for part in said]
    assert places == sorted(places)
    assert f'href="/runs/{bench.pk}/"' in html(ana.get(address(bench)))


def test_what_was_undone_and_what_nobody_knows_is_said_with_the_key_and_the_question(
    ana: Client, bench: Run
) -> None:
    write = bench.steps.get(tool="offer_replacement")
    Step.objects.filter(pk=write.pk).update(state="undone")
    _add(bench, 4, "release_reservation", state="performed", undoes=write, ended_at=bench.ended_at)
    doubt = bench.steps.get(tool="issue_refund")
    words_of_it = "Did issue_refund take effect? The call was sent and no answer came back."
    entry = bench.steps.get(tool="start_return").entry
    Step.objects.filter(pk=doubt.pk).update(
        state="unknown",
        asks="outcome",
        question=words_of_it,
        entry=entry,
        asked_at=bench.ended_at,
        waits=True,
    )
    _add(bench, 5, "message_customer", state="performed", args={"order": "SU-90317", "text": "Sorry."})
    page = words(ana.get(address(bench)))
    assert "Order SU-90317: two done, one undone, one unknown" in page
    assert "Undone offer_replacement, by release_reservation" in page
    assert entry is not None
    assert f"{words_of_it} issue_refund key {entry.key}" in page
    assert f'href="/questions/{doubt.pk}/"' in html(ana.get(address(bench)))
    assert 'customer told "Sorry." message_customer cannot be undone' in page


def _add(run: Run, number: int, tool: str, **fields: Any) -> None:
    Step.objects.create(run=run, thread=run.thread, number=number, tool=tool, **{"args": {}, **fields})


def test_as_text_it_says_all_of_it_on_80_columns(ana: Client, bench: Run) -> None:
    response = ana.get(address(bench) + "?format=text")
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    text = response.content.decode()
    assert max(map(len, text.splitlines())) <= 80
    in_a_line = re.sub(r"\s+", " ", text)
    for part in (
        "HANDOVER T-40912",
        "Open: nobody has claimed it",
        TICKET["customer_told"],
        TICKET["next_action"],
        "[ ] issue_refund: $14.95 expedited delivery fee",
        "14:03:51 UTC start_return: label RL-7734, courier pickup booked Fri 20 Mar (can be undone until collection)",
        "UNDONE none UNKNOWN none NOTES none",
    ):
        assert part in in_a_line


def test_as_json_it_is_the_ticket_field_by_field(ana: Client, bench: Run) -> None:
    send(ana, bench, "claim")
    send(ana, bench, "note", text="called at 15:00")
    said = json.loads(ana.get(address(bench) + "?format=json").content)
    assert {name: said[name] for name in TICKET} == TICKET
    assert (said["state"], said["claim"]["by"], said["resolution"]) == ("claimed", "Ana Ferreira", None)
    assert [note["text"] for note in said["notes"]] == ["called at 15:00"]


def test_a_run_whose_agent_is_gone_can_still_be_taken_over(
    ana: Client, bench: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents = {name: spec for name, spec in agentfile.agents().items() if name != "returns"}
    monkeypatch.setattr(agentfile, "_known", agents)
    assert "order SU-90317, reason split slat" in words(ana.get(address(bench)))
    assert ana.get("/handovers/").status_code == 200


def test_a_run_that_was_not_handed_over_has_no_page(ana: Client, agent: str) -> None:
    assert ana.get(f"/handovers/{start(agent, 'read 1').pk}/").status_code == 404


# --- The list and its counts --------------------------------------------------------------------------


def test_the_list_has_the_open_ones_mine_those_of_others_and_the_resolved(ana: Client, tom: Client) -> None:
    runs = {name: rows(name) for name in ("T-open", "T-mine", "T-theirs", "T-resolved")}
    send(ana, runs["T-mine"], "claim")
    send(tom, runs["T-theirs"], "claim")
    send(tom, runs["T-resolved"], "claim")
    send(tom, runs["T-resolved"], "resolve", done="refunded")
    listed = {
        kind: words(ana.get(f"/handovers/?kind={kind}")) for kind in ("open", "mine", "claimed", "resolved")
    }
    found = {kind: [name for name in runs if name in page] for kind, page in listed.items()}
    assert found == {
        "open": ["T-open"],
        "mine": ["T-mine"],
        "claimed": ["T-mine", "T-theirs"],
        "resolved": ["T-resolved"],
    }
    assert "start_return, offer_replacement done · issue_refund not done" in listed["open"]
    assert "Tom Baker" in listed["claimed"]


def test_needs_you_and_the_rail_count_the_open_ones_and_lead_there(ana: Client) -> None:
    first, second = rows("T-1"), rows("T-2")
    page = html(ana.get("/"))
    assert re.search(
        r'<span class="number">2</span>\s*<a class="name" href="/handovers/">handovers</a>', page
    )
    assert _rail(page) == "2"
    send(ana, first, "claim")
    assert _rail(html(ana.get("/news/"))) == "1"
    send(ana, second, "claim")
    assert _rail(html(ana.get("/handovers/"))) == ""


def _rail(page: str) -> str:
    [count] = re.findall(r'id="rail-handovers"[^>]*>(\d*)</span>', page)
    return str(count)


@pytest.mark.parametrize("kind", ["open", "resolved"])
def test_the_next_page_starts_after_the_last_row(
    ana: Client, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("approvals.handover_list.PAGE", 2)
    for number in range(5):
        run = rows(f"T-{number}")
        if kind == "resolved":
            send(ana, run, "claim")
            send(ana, run, "resolve", done="refunded")
    seen, address = [], f"/handovers/?kind={kind}"
    while address:
        page = html(ana.get(address))
        seen += re.findall(r"T-\d", words(ana.get(address)))
        following = re.findall(r'href="(\?kind=\w+&amp;after=[^"]*)"', page)
        address = "/handovers/" + following[0].replace("&amp;", "&") if following else ""
    names = [f"T-{number}" for number in range(5)]
    assert seen == (names if kind == "open" else names[::-1])


@pytest.mark.parametrize("query", ["kind=x", "after=x", "after=2026-01-01_1", "after=_", "format=x"])
def test_an_address_that_is_not_ours_shows_what_there_is(ana: Client, bench: Run, query: str) -> None:
    assert "T-40912" in words(ana.get(f"/handovers/?{query}"))
    assert ana.get(f"{address(bench)}?{query}&did=x").status_code == 200


# --- Claim, note, release, resolve --------------------------------------------------------------------


def test_claim_note_and_resolve_are_kept_in_the_record(ana: Client, bench: Run) -> None:
    assert send(ana, bench, "claim").status_code == 302
    assert "You have it" in words(ana.get(address(bench)))
    send(ana, bench, "note", text="The buyer keeps the bench.")
    assert "The buyer keeps the bench." in words(ana.get(address(bench)))
    send(ana, bench, "resolve", done="Refunded by hand, rf_22.")
    assert "Resolved Ana Ferreira" in words(ana.get(address(bench)))
    assert "Refunded by hand, rf_22." in words(ana.get(address(bench)))
    record = Event.objects.filter(run=bench, kind__startswith="handover.").order_by("pk")
    assert [(event.kind, event.actor, event.data) for event in record] == [
        ("handover.claimed", "Ana Ferreira", {}),
        ("handover.noted", "Ana Ferreira", {"text": "The buyer keeps the bench."}),
        ("handover.resolved", "Ana Ferreira", {"done": "Refunded by hand, rf_22."}),
    ]


def test_the_second_one_is_told_who_has_it_and_since_when(ana: Client, tom: Client, bench: Run) -> None:
    send(ana, bench, "claim")
    response = send(tom, bench, "claim")
    assert response.status_code == 409
    assert re.search(r"Ana Ferreira has it, since \d\d:\d\d UTC\.", words(response))
    assert Claim.objects.get().by == "Ana Ferreira"


@pytest.mark.django_db(transaction=True)
def test_two_claim_at_once_and_one_has_it(ana: Client, tom: Client) -> None:
    for number in range(5):
        run = rows(f"T-{number}")
        said = _at_once(*[_claim(run, actor(login)) for login in ("ana", "tom")])
        [won] = [claim for claim in said if isinstance(claim, Claim)]
        [lost] = [error for error in said if isinstance(error, handovers.AlreadyClaimed)]
        assert str(lost).startswith(f"{won.by} has it, since ")
        assert Claim.objects.get(run=run) == won
        assert Event.objects.filter(run=run, kind="handover.claimed").count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_double_click_at_once_is_one_claim(ana: Client, bench: Run) -> None:
    said = _at_once(*[_claim(bench, actor("ana"))] * 4)
    assert {claim.pk for claim in said} == {Claim.objects.get().pk}


@pytest.mark.django_db(transaction=True)
def test_however_claims_and_releases_meet_the_open_ones_are_those_that_nobody_has(
    ana: Client, tom: Client, olga: Client, bench: Run
) -> None:
    for _ in range(8):
        _at_once(
            _claim(bench, actor("ana")),
            lambda: handovers.release(actor("olga"), bench),
            _claim(bench, actor("tom")),
        )
        is_held = Claim.objects.filter(run=bench, released_at=None).exists()
        assert handovers.of_state("open").exists() is not is_held
        assert handovers.of_state("claimed").exists() is is_held


def _claim(run: Run, who: Actor) -> Callable[[], Claim]:
    return lambda: handovers.claim(who, run)


def _at_once(*calls: Callable[[], Any]) -> list[Any]:
    """Each in a thread of its own, with a connection of its own; an error is a result too."""
    begin, said = threading.Barrier(len(calls)), [None] * len(calls)

    def run(index: int) -> None:
        try:
            begin.wait()
            said[index] = calls[index]()
        except Conflict as error:
            said[index] = error  # type: ignore[call-overload]
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(index,)) for index in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return said


def test_only_who_has_it_resolves_it_and_says_what_was_done(ana: Client, tom: Client, bench: Run) -> None:
    assert send(ana, bench, "resolve", done="x").status_code == 409  # nobody has it
    send(ana, bench, "claim")
    nothing = send(ana, bench, "resolve", done=" ")
    assert nothing.status_code == 422
    assert "Say what was done" in words(nothing)
    other = send(tom, bench, "resolve", done="I refunded it")
    assert other.status_code == 409
    assert "I refunded it" in words(other)  # what was typed is not lost
    assert Claim.objects.get().resolved_at is None
    assert send(ana, bench, "resolve", done="refunded").status_code == 302
    assert send(ana, bench, "resolve", done="refunded").status_code == 302  # a double click
    again = send(ana, bench, "resolve", done="something else")
    assert again.status_code == 409
    assert re.search(r"Resolved by Ana Ferreira, .*: refunded", words(again))
    for verb in ("claim", "release"):
        assert send(tom, bench, verb).status_code == 409
    assert Event.objects.filter(kind="handover.resolved").count() == 1


def test_who_has_it_gives_it_back_and_an_operator_takes_it_from_them(
    ana: Client, tom: Client, olga: Client, bench: Run
) -> None:
    assert send(ana, bench, "release").status_code == 409
    send(ana, bench, "claim")
    assert "Release it for Ana Ferreira" in words(olga.get(address(bench)))
    assert "Release it for" not in words(tom.get(address(bench)))
    assert send(tom, bench, "release").status_code == 409
    assert send(ana, bench, "release").status_code == 302
    send(tom, bench, "claim")
    assert send(olga, bench, "release").status_code == 302
    assert send(ana, bench, "claim").status_code == 302
    assert list(Claim.objects.order_by("pk").values_list("by", "released_by")) == [
        ("Ana Ferreira", "Ana Ferreira"),
        ("Tom Baker", "Olga Petrova"),
        ("Ana Ferreira", ""),
    ]


@pytest.mark.parametrize("text", ["", "  ", "x" * 5001, "a\x00b"])
def test_a_note_that_cannot_be_kept_says_why(ana: Client, bench: Run, text: str) -> None:
    response = send(ana, bench, "note", text=text)
    assert response.status_code == 422
    assert "Write a note" in words(response)
    assert not Note.objects.exists()


def test_a_note_is_never_rewritten_and_a_claim_never_deleted(ana: Client, bench: Run) -> None:
    send(ana, bench, "claim")
    send(ana, bench, "note", text="first")
    for rewrite in (Note.objects.all().delete, Claim.objects.all().delete):
        with pytest.raises(ProgrammingError), transaction.atomic():
            rewrite()
    with pytest.raises(ProgrammingError), transaction.atomic():
        Note.objects.update(text="second")


def test_a_form_that_is_none_of_ours_does_nothing(ana: Client, bench: Run) -> None:
    assert send(ana, bench, "explode").status_code == 422
    assert not Event.objects.filter(run=bench).exists()


@pytest.mark.parametrize("role", ["support", "lead", "operator", "admin"])
def test_every_role_of_the_console_takes_care_of_handovers(role: str, bench: Run) -> None:
    somebody = signed_in("somebody", "Some Body", role)
    for verb, fields in [("claim", {}), ("note", {"text": "x"}), ("resolve", {"done": "x"})]:
        assert send(somebody, bench, verb, **fields).status_code == 302
    assert handovers.read(bench.pk).state == "resolved"


def test_who_has_no_role_and_an_agent_do_not(bench: Run) -> None:
    nobody = signed_in("nobody", "No Body")
    assert send(nobody, bench, "claim").status_code == 403
    assert send(Client(), bench, "claim")["Location"].startswith("/login/")
    for call in (
        lambda: handovers.claim(AGENT, bench),
        lambda: handovers.release(AGENT, bench),
        lambda: handovers.resolve(AGENT, bench, "x"),
        lambda: handovers.note(AGENT, bench, "x"),
    ):
        with pytest.raises(NotAllowed):
            call()
    assert not Claim.objects.exists()


def test_htmx_gets_the_part_and_what_changed_around_it(ana: Client, bench: Run) -> None:
    response = send(ana, bench, "claim", htmx="handover-panel")
    part = ana.get(response["Location"], headers={"HX-Request": "true", "HX-Target": "handover-panel"})
    assert "<html" not in html(part)
    assert "You have it" in words(part)
    assert 'id="handover-state" hx-swap-oob="true"' in re.sub(r"\s+", " ", html(part))
    assert "You have it now." in words(part)
    noted = send(ana, bench, "note", htmx="handover-notes", text=" ")
    assert noted.status_code == 422
    assert html(noted).lstrip().startswith('<section class="card notes panel"')


# --- What an operator does to a run -------------------------------------------------------------------


@pytest.fixture
def done(agent: str) -> Run:
    """A run that has ended, with two writes that can be undone and a mail that cannot."""
    return approve_all(start(agent, "charge 1 40.00, then tag 1, then mail 1", "u-1"))


def _seen(client: Client, run: Run) -> str:
    [seen] = re.findall(r'name="seen" value="([\d,]*)"', html(client.get(f"/runs/{run.pk}/")))
    return str(seen)


def test_an_operator_is_told_what_an_undo_takes_back_and_what_stays(
    ana: Client, olga: Client, done: Run
) -> None:
    page = words(olga.get(f"/runs/{done.pk}/"))
    said = [
        "This will be undone, latest first:",
        "tag(order 1) by untag(order 1)",
        "Charge 40.00 to order 1 by refund(charge ch_1, amount 40.00)",
        "And this stays: mail(order 1): nothing undoes it",
        "Undo these 2 writes",
    ]
    places = [page.index(part) for part in said]
    assert places == sorted(places)
    assert "Undo this run" not in words(ana.get(f"/runs/{done.pk}/"))


def test_an_operator_undoes_a_run_on_its_page(olga: Client, done: Run) -> None:
    response = olga.post(f"/runs/{done.pk}/", {"do": "undo", "seen": _seen(olga, done)})
    assert response.status_code == 302
    assert "Undo requested By Olga Petrova." in words(olga.get(f"/runs/{done.pk}/"))
    advance(done.pk)
    assert (states(done)["charge"], states(done)["tag"], states(done)["mail"]) == (
        "undone",
        "undone",
        "performed",
    )
    assert WORLD.calls == ["charge", "tag", "mail", "untag", "refund"]
    assert "Undo this run" not in words(olga.get(f"/runs/{done.pk}/"))


def test_an_operator_cancels_a_live_run_on_its_page_and_what_it_did_is_undone(
    olga: Client, agent: str
) -> None:
    run = answer(start(agent, "charge 1 40.00, then tag 1"), "approve")
    assert olga.post(f"/runs/{run.pk}/", {"do": "cancel", "reason": "the customer rang"}).status_code == 302
    advance(run.pk)
    assert (states(run)["charge"], states(run)["tag"], WORLD.calls) == (
        "undone",
        "cancelled",
        ["charge", "refund"],
    )
    page = words(olga.get(f"/runs/{run.pk}/"))
    assert "cancelled by Olga Petrova. Undone, latest first: charge (by refund)." in page
    assert "Cancel this run" not in page


@pytest.mark.parametrize("seen", ["", "1", "x"])
def test_what_the_page_did_not_show_is_not_undone(olga: Client, done: Run, seen: str) -> None:
    response = olga.post(f"/runs/{done.pk}/", {"do": "undo", "seen": seen})
    assert response.status_code == 409
    assert "is not what the page showed" in words(response)
    done.refresh_from_db()
    assert done.undo_requested_at is None


def test_only_an_operator_undoes_and_resumes(ana: Client, olga: Client, done: Run, agent: str) -> None:
    alive = start(agent, "charge 2 40.00", "u-2")
    Run.objects.filter(pk=alive.pk).update(state="ready")
    assert "Resume this run" in words(olga.get(f"/runs/{alive.pk}/"))
    assert "Resume this run" not in words(ana.get(f"/runs/{alive.pk}/"))
    for run, verb in ((done, "undo"), (alive, "resume"), (alive, "cancel")):
        fields = {"do": verb, "seen": _seen(olga, run) if verb == "undo" else "", "reason": "x"}
        assert ana.post(f"/runs/{run.pk}/", fields).status_code == 403
    assert olga.post(f"/runs/{alive.pk}/", {"do": "resume"}).status_code == 302
    assert olga.post(f"/runs/{done.pk}/", {"do": "resume"}).status_code == 409
    assert olga.post(f"/runs/{done.pk}/", {"do": "explode"}).status_code == 422


def test_a_run_that_was_handed_over_leads_to_its_handover(ana: Client, bench: Run, done: Run) -> None:
    assert f'href="/handovers/{bench.pk}/"' in html(ana.get(f"/runs/{bench.pk}/"))
    assert 'href="/handovers/1' not in html(ana.get(f"/runs/{done.pk}/"))


# --- The commands -------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_the_command_prints_the_ticket(bench: Run, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("handover", bench.name)
    text = re.sub(r"\s+", " ", capsys.readouterr().out)
    assert "HANDOVER T-40912" in text
    assert TICKET["next_action"] in text
    call_command("handover", str(bench.pk), json=True)
    said = json.loads(capsys.readouterr().out)
    assert {name: said[name] for name in TICKET} == TICKET


@pytest.mark.django_db(transaction=True)
def test_the_command_says_that_there_is_none(agent: str, capsys: pytest.CaptureFixture[str]) -> None:
    run = start(agent, "read 1")
    with pytest.raises(SystemExit) as refused:
        call_command("handover", run.name)
    assert refused.value.code == 1
    assert capsys.readouterr().err.strip() == f"There is no such handover: {run.name} was not handed over."


@pytest.mark.django_db(transaction=True)
def test_the_command_undoes_a_run_and_says_what_came_of_it(
    olga: Client, done: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("undo", done.name, login="olga")
    said = capsys.readouterr().out
    assert "Undone, latest first: tag (by untag), charge (by refund)." in said
    assert said.endswith("Status: rolled back\n")
    with pytest.raises(SystemExit):
        call_command("resume", done.name, login="olga")
    assert capsys.readouterr().err.strip() == f"{done.name} has ended; there is nothing to resume."


@pytest.mark.django_db(transaction=True)
def test_the_command_cancels_a_live_run_and_says_what_was_undone(
    olga: Client, agent: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = answer(start(agent, "charge 1 40.00, then tag 1"), "approve")
    call_command("cancel", run.name, login="olga", reason="the customer rang")
    said = capsys.readouterr().out
    assert "cancelled by Olga Petrova. Undone, latest first: charge (by refund)." in said
    assert said.endswith("Status: rolled back\n")


@pytest.mark.django_db(transaction=True)
def test_the_command_resumes_a_run_that_nobody_carries_out(
    olga: Client, agent: str, capsys: pytest.CaptureFixture[str]
) -> None:
    thread = services.start_thread(AGENT, agent, "u-1")
    run = services.start(AGENT, thread, services.RunRequest(text="pay 1"))
    call_command("resume", run.name, login="olga")
    assert "Status: done" in capsys.readouterr().out
    assert WORLD.calls == ["pay"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("command", ["cancel", "undo", "resume"])
def test_the_commands_are_for_operators(
    command: str, ana: Client, done: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as refused:
        call_command(command, done.name, login="ana")
    assert refused.value.code == 1
    assert capsys.readouterr().err.startswith("Only an operator may")
