"""Answering on the page: what is shown, what is stored, and what is said when it is not."""

import re
from typing import Any

import pytest
from django.test import Client

from approvals.models import Answer
from runs.engine import advance
from runs.models import Run, Step
from runs.parking import CANNOT_UNDO, LATER_CANNOT_UNDO
from tests.factories import answer, approve_all, question, start
from tests.integration.pages import answers, form_of, html, send, signed_in, words
from tests.world import WORLD

pytestmark = pytest.mark.django_db
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
def olga(db: None) -> Client:
    """An operator."""
    return signed_in("olga", "Olga Petrova", "operator")


@pytest.fixture
def run(agent: str) -> Run:
    """It asks to charge, and would mail and tag after that."""
    return start(agent, "read 1, then charge 1 40.00, then mail 1, then tag 1")


@pytest.fixture
def step(run: Run) -> Step:
    """Its question."""
    return question(run)


@pytest.fixture
def mail(run: Run) -> Step:
    """The irreversible question after the charge."""
    return question(answer(run, "approve"))


@pytest.fixture
def doubt(agent: str) -> Step:
    """An unknown outcome that can no longer be on the wire."""
    WORLD.script = {"charge": ["times out before"]}
    asked = question(answer(start(agent, "charge 1 40.00, then mail 1"), "approve"))
    Step.objects.filter(pk=asked.pk).update(settles_at=None)
    asked.refresh_from_db()
    return asked


@pytest.fixture
def stuck(agent: str, settings: Any) -> Step:
    """An undo past its tries."""
    settings.RETRY_SECONDS = 0
    WORLD.script = {"mail": ["raises"], "refund": ["refuses"] * 4}
    started = approve_all(start(agent, "charge 1 40.00, then mail 1"))
    for _ in range(6):
        advance(started.pk)
    return question(started)


# --- What is shown ------------------------------------------------------------------------------------


def test_a_confirmation_says_what_would_happen_with_every_argument(ana: Client, step: Step) -> None:
    page = words(ana.get(f"/questions/{step.pk}/"))
    for text in ("Charge 40.00 to order 1", "order 1 amount 40.00", '"amount": "40.00"', "waiting for you"):
        assert text in page
    assert "Undone by refund(charge from its result, amount 40.00)" in page
    assert "If step 3 fails: this step is undone by refund" in page
    assert "“read 1, then charge 1 40.00, then mail 1, then tag 1” · u-1" in page
    assert step.digest[:4] in page


def test_the_warnings_stand_there_word_for_word(ana: Client, mail: Step) -> None:
    page = ana.get(f"/questions/{mail.pk}/")
    banner = re.search(r'<div class="irreversible-banner">(.*?)</div>', html(page), re.DOTALL)
    assert banner
    assert re.findall(r"<p>(.*?)</p>", banner[1]) == [CANNOT_UNDO, LATER_CANNOT_UNDO]
    assert "“Charge 40.00 to order 1” is undone by refund, and this step stays done." in words(page)
    assert "undone by refund(charge ch_1, amount 40.00)" in words(page)


def test_a_reversible_call_carries_no_warning(ana: Client, step: Step) -> None:
    assert "irreversible-banner" not in html(ana.get(f"/questions/{step.pk}/"))


def test_a_call_without_words_of_its_tool_is_shown_as_a_call(ana: Client, mail: Step) -> None:
    assert "<h1>mail(order 1)</h1>" in html(ana.get(f"/questions/{mail.pk}/"))


# --- Answering ----------------------------------------------------------------------------------------


def test_approve_is_one_click_and_then_there_is_a_receipt(ana: Client, run: Run, step: Step) -> None:
    sent = send(ana, step, "approve")
    assert sent.status_code == 302
    receipt = words(ana.get(sent["Location"]))
    assert "Recorded Approve, Ana Ferreira" in receipt
    assert answers() == [("approve", "Ana Ferreira", "")]
    advance(run.pk)
    assert WORLD.landed == ["read", "charge"]
    assert "Next this run asks: mail(order 1)" in words(ana.get(sent["Location"]))


def test_a_get_never_decides(ana: Client, mail: Step) -> None:
    form = form_of(ana.get(f"/questions/{mail.pk}/"))
    for query in ("", "?sure=1", f"?answer=approve&digest={mail.digest}&nonce={form['nonce']}&sure=1"):
        ana.get(f"/questions/{mail.pk}/{query}")
        ana.head(f"/questions/{mail.pk}/{query}")
    mail.refresh_from_db()
    assert (mail.answer, Answer.objects.count()) == ("", 0)


def test_the_irreversible_takes_a_last_look_that_names_its_effect(ana: Client, mail: Step) -> None:
    first = html(ana.get(f"/questions/{mail.pk}/"))
    assert 'value="approve"' not in first
    assert "sure=1" in first
    last = html(ana.get(f"/questions/{mail.pk}/?sure=1"))
    button = re.search(r'<button class="button is-irreversible"[^>]*>(.*?)</button>', last, re.DOTALL)
    assert button
    assert button[1].strip() == "mail(order 1)"
    assert re.search(r"<a class=\"button\"[^>]*autofocus[^>]*>\s*Cancel\s*</a>", last)


@pytest.mark.parametrize("said", ["skip", "cancel_all"])
def test_skip_and_cancel_take_a_reason(ana: Client, step: Step, said: str) -> None:
    refused = send(ana, step, said, reason="  ")
    assert refused.status_code == 422
    assert "a reason is needed" in words(refused)
    assert answers() == []
    assert send(ana, step, said, reason="the customer wrote again").status_code == 302
    assert answers() == [(said, "Ana Ferreira", "the customer wrote again")]


def test_an_answer_that_is_none_is_refused(ana: Client, step: Step) -> None:
    assert send(ana, step, "happened").status_code == 422
    assert send(ana, step, "").status_code == 422
    assert answers() == []


@pytest.mark.parametrize(
    ("field", "value"),
    [("digest", "not hex"), ("digest", ""), ("nonce", ""), ("nonce", "short"), ("reason", "\x00")],
)
def test_a_form_that_is_not_whole_is_refused(ana: Client, step: Step, field: str, value: str) -> None:
    form = form_of(ana.get(f"/questions/{step.pk}/")) | {"reason": "typed", field: value}
    refused = ana.post(f"/questions/{step.pk}/", form | {"answer": "skip"})
    assert refused.status_code == 422
    assert answers() == []


# --- Two people, two clicks, two versions -------------------------------------------------------------


def test_another_digest_is_told_and_nothing_changes(ana: Client, step: Step) -> None:
    form = form_of(ana.get(f"/questions/{step.pk}/")) | {"digest": "0" * 64}
    refused = send(ana, step, "skip", form, reason="I typed this")
    assert refused.status_code == 409
    page = words(refused)
    assert "The call changed" in page
    assert "Your answer was not sent" in page
    assert 'value="skip"' not in html(refused)
    assert 'name="reason"' in html(refused)
    assert "I typed this" in html(ana.get(f"/questions/{step.pk}/?reason=I+typed+this"))
    step.refresh_from_db()
    assert (step.answer, answers()) == ("", [])


def test_what_changed_is_shown(ana: Client, step: Step) -> None:
    seen = step.digest
    Step.objects.filter(pk=step.pk).update(digest="a" * 64, warnings=[CANNOT_UNDO])
    refused = send(ana, step, "skip", {"digest": seen, "nonce": "n" * 16}, reason="no")
    assert refused.status_code == 409
    assert f"Warnings none {CANNOT_UNDO}" in words(refused)


def test_the_last_look_is_refused_where_the_call_changed_under_it(ana: Client, mail: Step) -> None:
    response = ana.get(f"/questions/{mail.pk}/?sure=1&digest={'0' * 64}", headers=HTMX)
    assert response.status_code == 409
    assert "is-irreversible" not in html(response)


def test_a_double_click_is_one_answer(ana: Client, step: Step) -> None:
    form = form_of(ana.get(f"/questions/{step.pk}/"))
    first, second = (send(ana, step, "approve", form) for _ in range(2))
    assert first["Location"] == second["Location"]
    assert answers() == [("approve", "Ana Ferreira", "")]


def test_the_second_of_two_people_is_told_who_answered_what(ana: Client, tom: Client, step: Step) -> None:
    form = form_of(tom.get(f"/questions/{step.pk}/"))
    send(ana, step, "approve")
    refused = send(tom, step, "skip", form, reason="no")
    assert refused.status_code == 409
    assert re.search(r"Answered by Ana Ferreira, \d\d:\d\d:\d\d UTC: approve", words(refused))
    assert "Your answer was not recorded" in words(refused)
    assert len(answers()) == 1


def test_a_question_withdrawn_is_gone(ana: Client, olga: Client, run: Run, step: Step) -> None:
    form = form_of(ana.get(f"/questions/{step.pk}/"))
    olga.post(f"/runs/{run.pk}/", {"reason": "wrong customer"})
    advance(run.pk)
    refused = send(ana, step, "approve", form)
    assert refused.status_code == 410
    assert "The question was withdrawn" in words(refused)
    assert answers() == []


def test_an_answered_question_has_no_buttons(ana: Client, tom: Client, step: Step) -> None:
    send(ana, step, "approve")
    page = html(tom.get(f"/questions/{step.pk}/"))
    assert "Answered by" in page
    assert 'name="answer"' not in page


def test_check_says_whether_an_answer_was_recorded(ana: Client, step: Step) -> None:
    form = form_of(ana.get(f"/questions/{step.pk}/"))
    check = f"/questions/{step.pk}/?receipt={form['nonce']}"
    assert "Your answer was not recorded. The question is still open." in words(ana.get(check))
    send(ana, step, "approve", form)
    assert "Recorded Approve" in words(ana.get(check))


# --- Who may answer -----------------------------------------------------------------------------------


def test_another_role_sees_the_question_and_is_told_whose_it_is(olga: Client, step: Step) -> None:
    page = olga.get(f"/questions/{step.pk}/")
    assert page.status_code == 200
    assert "Charge 40.00 to order 1" in words(page)
    assert "This question is for the role support, which you do not have." in words(page)
    assert 'name="answer"' not in html(page)
    refused = send(olga, step, "skip", {"digest": step.digest, "nonce": "n" * 16}, reason="no")
    assert refused.status_code == 403
    assert "for the role support" in words(refused)
    assert answers() == []


def test_signed_out_while_answering_says_that_nothing_was_sent(client: Client, step: Step) -> None:
    address = f"/questions/{step.pk}/"
    response = client.post(address, {"answer": "approve"}, headers=HTMX)
    assert response.status_code == 401
    assert response["HX-Retarget"] == "#banner"
    assert "Signed out. Your answer was not sent." in words(response)
    without_scripts = client.post(address, {"answer": "approve"})
    assert without_scripts["Location"] == f"/login/?next={address}"


def test_htmx_gets_the_panel_and_others_the_page(ana: Client, step: Step) -> None:
    part = html(ana.get(f"/questions/{step.pk}/", headers=HTMX))
    assert "<html" not in part
    assert f'id="panel-{step.pk}"' in part
    assert "<html" in html(ana.get(f"/questions/{step.pk}/"))


def test_a_form_needs_its_token(step: Step) -> None:
    strict = signed_in("ana", "Ana Ferreira", "support")
    strict.handler.enforce_csrf_checks = True
    refused = send(strict, step, "approve")
    assert refused.status_code == 403
    assert "Nothing was sent" in words(refused)
    assert answers() == []


# --- The other kinds ----------------------------------------------------------------------------------


def test_an_unknown_outcome_shows_its_tries_and_needs_evidence(olga: Client, doubt: Step) -> None:
    page = words(olga.get(f"/questions/{doubt.pk}/"))
    assert "Did charge take effect? The call was sent and no answer came back." in page
    assert doubt.entry
    assert doubt.entry.key in page
    assert "in doubt Timeout: no answer" in page
    assert send(olga, doubt, "did_not_happen").status_code == 422
    assert send(olga, doubt, "did_not_happen", reason="nothing in the books").status_code == 302


def test_what_happened_takes_the_fields_that_the_undo_needs(olga: Client, doubt: Step) -> None:
    assert 'name="result.charge"' in html(olga.get(f"/questions/{doubt.pk}/"))
    sent = send(olga, doubt, "happened", reason="seen in the books", result_fields={"result.charge": "ch_77"})
    assert sent.status_code == 302
    assert Answer.objects.get().data["result"] == {"charge": "ch_77"}
    advance(doubt.run_id)
    doubt.refresh_from_db()
    assert doubt.state == "performed"
    assert doubt.entry
    assert doubt.entry.result == {"charge": "ch_77"}


def test_too_early_to_say_is_told_with_the_time(olga: Client, agent: str) -> None:
    WORLD.script = {"charge": ["times out before"]}
    early = question(answer(start(agent, "charge 1 40.00"), "approve"))
    assert "The call could still arrive until" in words(olga.get(f"/questions/{early.pk}/"))
    refused = send(olga, early, "did_not_happen", reason="I think so")
    assert refused.status_code == 409
    assert "The call can still arrive until" in words(refused)
    assert "I think so</textarea>" in html(refused)
    assert answers() == []


def test_a_stuck_undo_shows_what_is_in_effect_and_the_last_error(olga: Client, stuck: Step) -> None:
    page = words(olga.get(f"/questions/{stuck.pk}/"))
    assert "Undoing charge failed after 4 tries (Refused). 1 step(s) still need undoing." in page
    assert "Still in effect, in the order of undoing 1 Charge 40.00 to order 1" in page
    assert "the service said no" in page


def test_done_by_hand_needs_a_reference(olga: Client, stuck: Step) -> None:
    assert send(olga, stuck, "done_by_hand").status_code == 422
    assert send(olga, stuck, "done_by_hand", reference="bank transfer 4711").status_code == 302
    assert Answer.objects.get().data == {"reference": "bank transfer 4711"}


def test_abandon_needs_a_reason_and_the_name_of_the_run_typed(olga: Client, stuck: Step) -> None:
    name = stuck.run.name
    assert send(olga, stuck, "abandon", reason="settled by phone").status_code == 422
    assert send(olga, stuck, "abandon", typed=name).status_code == 422
    assert send(olga, stuck, "abandon", reason="settled by phone", typed=name).status_code == 302


def test_a_retry_says_requested_until_it_reports(olga: Client, stuck: Step) -> None:
    sent = send(olga, stuck, "retry")
    page = words(olga.get(sent["Location"]))
    assert "Recorded Retry, Olga Petrova" in page
    assert "This step: answered" in page
    assert WORLD.landed == ["charge"]
