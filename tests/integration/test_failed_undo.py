"""An undo that fails (S0): tried again under its own key, then a person is asked. The rest is in test_undoing.py."""

from itertools import pairwise
from pathlib import Path

import pytest

from runs import faults, services
from runs.engine import advance
from runs.models import Attempt, Run
from runs.states import PARKED
from tests.factories import (
    PERSON,
    answer,
    approve_all,
    expire,
    make_agent,
    question,
    reply,
    start,
    states,
    until,
)
from tests.world import WORLD

pytestmark = pytest.mark.django_db(transaction=True)


def test_it_waits_longer_between_its_tries_and_holds_no_worker_meanwhile(agent: str) -> None:
    WORLD.script = {"mail": ["raises"], "refund": ["raises"] * 4}
    run = approve_all(start(agent, "charge 1 40.00, then mail 1"))
    assert (run.state, run.lease_owner) == ("rolling_back", "")
    assert run.due_at is not None
    until(run, "stuck")
    sent = list(
        Attempt.objects.filter(step__tool="refund").order_by("number").values_list("sent_at", flat=True)
    )
    pauses = [(after - before).total_seconds() for before, after in pairwise(sent)]
    assert len(pauses) == 3
    assert pauses[0] >= 0.02 and pauses[1] >= 0.04 and pauses[2] >= 0.08


def test_a_stuck_rollback_undoes_nothing_below_it(agent: str) -> None:
    WORLD.script = {"mail": ["raises"], "untag": ["refuses"] * 4}
    run = until(approve_all(start(agent, "charge 1 40.00, then tag 1, then mail 1")), "stuck")
    assert "refund" not in WORLD.calls
    assert states(run)["charge"] == "performed"
    assert question(run).question == (
        "Undoing tag failed after 4 tries (Refused). 2 step(s) still need undoing."
    )


def test_what_nothing_undoes_is_not_counted_as_still_to_be_undone(agent: str) -> None:
    WORLD.script = {"tag": ["raises"], "refund": ["refuses"] * 4}
    run = until(approve_all(start(agent, "mail 1, then charge 1 40.00, then tag 1")), "stuck")
    assert question(run).question.endswith(" 1 step(s) still need undoing.")


def test_retry_sends_the_undo_again_under_its_key(agent: str) -> None:
    WORLD.script = {"mail": ["raises"], "refund": ["raises"] * 5}
    run = until(approve_all(start(agent, "charge 1 40.00, then mail 1")), "stuck")
    run = until(answer(run, "retry"), "stuck")
    assert question(run).question.startswith("Undoing charge failed after 5 tries")
    assert answer(run, "retry").state == "rolled_back"
    assert len({key for tool, key in WORLD.keys if tool == "refund"}) == 1


def test_done_by_hand_is_on_record_with_its_reference_and_nothing_is_sent(agent: str) -> None:
    WORLD.script = {"mail": ["raises"], "refund": ["raises"] * 4}
    run = until(approve_all(start(agent, "charge 1 40.00, then mail 1")), "stuck")
    run = answer(run, "done_by_hand", reference="bank transfer 17")
    assert (states(run)["charge"], WORLD.calls.count("refund")) == ("undone", 4)
    said = run.events.get(kind="question.answered", data__answer="done_by_hand")
    assert (said.actor, said.data["reference"]) == ("Ana Ferreira", "bank transfer 17")
    assert reply(run).endswith("Undone, latest first: charge (by refund).")


def test_its_tries_are_counted_in_the_row_across_crashes(agent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process dies right after each of the first three tries: the fourth is the last one all the same."""

    def dies(point: str, tool: str = "") -> None:
        if (point, tool) == ("after-outcome", "refund"):
            raise KeyboardInterrupt

    WORLD.script = {"mail": ["raises"], "refund": ["raises"] * 9}
    run = answer(start(agent, "charge 1 40.00, then mail 1"), "approve")
    step = question(run)
    services.resolve(PERSON, step.pk, "approve", step.digest)
    with monkeypatch.context() as patch:
        patch.setattr(faults, "reach", dies)
        for tries in (1, 2, 3):
            with pytest.raises(KeyboardInterrupt):
                until(expire(run), "stuck")
            assert run.steps.get(tool="refund").calls == WORLD.calls.count("refund") == tries
    run = until(expire(run), "stuck")
    assert question(run).question.startswith("Undoing charge failed after 4 tries (RuntimeError).")
    assert WORLD.calls.count("refund") == 4


@pytest.mark.parametrize("said", ["retry", "done_by_hand"])
def test_the_question_counts_what_still_needs_undoing_right_after_each_answer(agent: str, said: str) -> None:
    WORLD.script = {"mail": ["raises"], "refund": ["raises"] * 4, "untag": ["refuses"] * 4}
    run = approve_all(start(agent, "charge 1 40.00, then tag 2, then charge 3 40.00, then mail 4"))
    counts = []
    for _ in range(2):
        run = until(run, "stuck")
        counts.append(question(run).question.partition("). ")[2])
        run = answer(run, said, reference="by hand")
    assert counts == ["3 step(s) still need undoing.", "2 step(s) still need undoing."]
    assert run.state == "rolled_back"


def test_best_effort_counts_on_each_question_what_still_needs_undoing_right_after_each_answer(
    tmp_path: Path,
) -> None:
    agent = make_agent(tmp_path, rollback="best_effort")
    WORLD.script = {"mail": ["raises"], "refund": ["raises"] * 8, "untag": ["refuses"] * 4}
    run = _settled(approve_all(start(agent, "charge 1 40.00, then tag 2, then charge 3 40.00, then mail 4")))
    digests, left = _digests(run), [_counts(run)]
    for said in ("retry", "done_by_hand", "abandon"):
        step = run.steps.filter(state__in=PARKED).order_by("number")[0]
        services.resolve(PERSON, step.pk, said, step.digest, {"reference": "17", "reason": "enough"})
        run = _settled(run)
        left.append(_counts(run))
        assert _digests(run) <= digests  # the others are still the questions that somebody is reading
    assert left == [["3", "3", "3"], ["2", "2"], ["1"], []]
    assert (run.state, reply(run).partition(" Still")[2]) == ("abandoned", " to undo: charge.")


def _settled(run: Run) -> Run:
    """Carried on until nothing happens by itself any more."""
    while True:
        advance(run.pk)
        run.refresh_from_db()
        answered = run.steps.filter(state__in=PARKED).exclude(answer="")
        if run.state in ("stuck", "abandoned") and run.due_at is None and not answered.exists():
            return run


def _digests(run: Run) -> set[str]:
    return set(run.steps.filter(state__in=PARKED).values_list("digest", flat=True))


def _counts(run: Run) -> list[str]:
    """What each open question says still needs undoing."""
    asked = run.steps.filter(state__in=PARKED, answer="").order_by("number")
    return [step.question.rpartition("). ")[2].partition(" ")[0] for step in asked]
