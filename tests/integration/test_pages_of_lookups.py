"""Looking an unknown outcome up on its page: what was said, what it settles, and what becomes of half an answer."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from runs.engine import advance
from runs.models import Event, Run, Step
from tests.factories import approve_all, question, start
from tests.integration.pages import answers, form_of, html, send, signed_in, words
from tests.world import WORLD

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


@pytest.fixture
def olga(db: None) -> Client:
    """An operator."""
    return signed_in("olga", "Olga Petrova", "operator")


@pytest.fixture
def doubt(agent: str) -> Step:
    """It took effect, no answer came back, and the lookup could not say."""
    WORLD.script = {"tag": ["times out after"], "find": ["cannot say"]}
    return question(approve_all(start(agent, "tag 1, then mail 1")))


@pytest.fixture
def missing(agent: str) -> Step:
    """It took no effect so far, no answer came back, and the lookup could not say."""
    WORLD.script = {"tag": ["times out before"], "find": ["cannot say"]}
    run = approve_all(start(agent, "tag 1"))
    run.steps.update(settles_at=timezone.now() + timedelta(hours=1))  # it can still arrive
    return question(run)


def look(client: Client, step: Step, **headers: str) -> str:
    """Press the button; returns where the browser is sent."""
    sent = client.post(f"/questions/{step.pk}/lookup/", {"digest": step.digest}, headers=headers)
    assert sent.status_code == 302
    return str(sent["Location"])


def test_the_page_says_what_the_lookup_said_when_it_is_asked_again_and_what_that_leads_to(
    olga: Client, doubt: Step
) -> None:
    page = words(olga.get(f"/questions/{doubt.pk}/"))
    assert "looked up at" in page
    assert "UTC it cannot say again by itself at" in page
    assert (
        "Where it happened, no answer is needed any more. Where it did not, the same call goes out again"
        in page
    )
    assert "Look it up now" in page


def test_without_scripts_the_button_asks_a_worker_and_the_page_says_so(olga: Client, doubt: Step) -> None:
    address = look(olga, doubt)
    assert address == f"/questions/{doubt.pk}/"
    page = words(olga.get(address))
    assert "Being looked up by find; what it says will stand here." in page
    assert "Look it up now" not in page
    assert (len(WORLD.lookups), Event.objects.get(kind="question.look_up_requested").actor) == (
        1,
        "Olga Petrova",
    )


def test_what_settled_the_question_stands_in_place_of_its_answers(olga: Client, doubt: Step) -> None:
    form = form_of(olga.get(f"/questions/{doubt.pk}/"))
    look(olga, doubt)
    advance(doubt.run_id)
    page = olga.get(f"/questions/{doubt.pk}/")
    assert "Settled by a lookup A lookup settled this question" in words(page)
    assert "it happened. There is nothing left to answer." in words(page)
    assert 'name="answer"' not in html(page)
    refused = send(olga, doubt, "did_not_happen", form, reason="not on the books")
    assert refused.status_code == 410
    assert "Your answer was not recorded. There is nothing left to answer." in words(refused)
    assert "What you wrote, and did not send: “not on the books”" in words(refused)
    assert answers() == []
    run = words(olga.get(f"/runs/{doubt.run_id}/"))
    assert "looked up 2 times, last at" in run
    assert "found: it happened · settled by the lookup; no answer was needed" in run


def test_half_an_answer_is_still_taken_after_a_lookup_that_cannot_say(olga: Client, doubt: Step) -> None:
    form = form_of(olga.get(f"/questions/{doubt.pk}/"))
    WORLD.script = {"find": ["cannot say"]}
    look(olga, doubt)
    advance(doubt.run_id)
    assert send(olga, doubt, "happened", form, reason="the shop sees it").status_code == 302
    assert answers() == [("happened", "Olga Petrova", "the shop sees it")]


def test_half_an_answer_to_what_a_lookup_changed_is_shown_the_change_and_keeps_its_words(
    olga: Client, missing: Step
) -> None:
    form = form_of(olga.get(f"/questions/{missing.pk}/"))
    look(olga, missing)
    advance(missing.run_id)
    refused = send(olga, missing, "happened", form, reason="I see it there")
    assert refused.status_code == 409
    assert "The question changed It is not what you were shown. Your answer was not sent." in words(refused)
    assert "What a lookup says it cannot say it is not there yet" in words(refused)
    assert 'name="answer"' not in html(refused)
    kept = form_of(refused)["reason"]
    review = olga.get(f"/questions/{missing.pk}/", {"reason": kept})
    assert "I see it there</textarea>" in html(review)
    assert send(olga, missing, "happened", form_of(review), reason="I see it there").status_code == 302


def test_the_fields_of_a_result_are_kept_as_well(olga: Client, agent: str) -> None:
    """Of a form that is shown again, and across "the question changed"."""
    WORLD.script = {"charge": ["times out after"]}
    step = question(approve_all(start(agent, "charge 1 40.00")))
    result = {"result.charge": "ch_77"}
    again = send(olga, step, "happened", result_fields=result)  # without its reason
    assert (again.status_code, 'value="ch_77"' in html(again)) == (422, True)
    changed = send(olga, step, "happened", {"digest": "0" * 64, "nonce": "n" * 16}, result, reason="seen")
    assert (changed.status_code, 'name="result.charge" value="ch_77"' in html(changed)) == (409, True)


def test_with_scripts_only_that_part_is_replaced_until_an_answer_is_there(
    olga: Client, missing: Step
) -> None:
    address = look(olga, missing, **HTMX)
    assert address == f"/questions/{missing.pk}/lookup/?digest={missing.digest}"
    part = html(olga.get(address, headers=HTMX))
    assert "data-poll" in part
    assert "<html" not in part
    WORLD.script = {"find": ["cannot say"]}
    advance(missing.run_id)
    part = html(olga.get(address, headers=HTMX))
    assert "data-poll" not in part
    assert "Looked up: it cannot say." in part
    assert 'hx-trigger="load"' not in part  # the answers stand as they are


def test_with_scripts_the_answers_are_drawn_anew_where_the_question_is_another_now(
    olga: Client, missing: Step
) -> None:
    address = look(olga, missing, **HTMX)
    advance(missing.run_id)
    part = html(olga.get(address, headers=HTMX))
    assert f'hx-get="/questions/{missing.pk}/?digest={missing.digest}"' in part
    assert 'hx-trigger="load"' in part
    panel = olga.get(
        f"/questions/{missing.pk}/", {"digest": missing.digest, "reason": "half a"}, headers=HTMX
    )
    assert (panel.status_code, form_of(panel)) == (409, {"reason": "half a"})
    assert "The question changed" in words(panel)


def test_who_is_no_operator_sees_what_was_said_and_cannot_ask(doubt: Step) -> None:
    ana = signed_in("ana", "Ana Ferreira", "support")
    page = words(ana.get(f"/questions/{doubt.pk}/"))
    assert "it cannot say" in page
    assert "Look it up now" not in page
    assert ana.post(f"/questions/{doubt.pk}/lookup/").status_code == 403
    assert not Event.objects.filter(kind="question.look_up_requested").exists()


def test_a_question_that_nothing_can_look_up_has_no_such_part(olga: Client, agent: str) -> None:
    WORLD.script = {"charge": ["times out after"]}
    step = question(approve_all(start(agent, "charge 1 40.00")))
    assert "Look it up" not in words(olga.get(f"/questions/{step.pk}/"))
    assert olga.post(f"/questions/{step.pk}/lookup/").status_code == 422
    assert not Run.objects.with_work().exists()
