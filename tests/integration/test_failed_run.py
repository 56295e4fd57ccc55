"""What a failed run does, sentence by sentence (S0); the rest of it is in test_undoing.py."""

from pathlib import Path

import pytest

from runs import services
from runs.models import Run
from tests.factories import TOOLS, answer, approve_all, make_agent, question, reply, start, states, until
from tests.world import WORLD

pytestmark = pytest.mark.django_db(transaction=True)


def _without(folder: Path, *tools: str) -> None:
    """The agent loses these tools, as by a deploy in the middle of its run."""
    make_agent(folder, tools=[tool for tool in TOOLS if tool not in tools])


def test_a_run_fails_when_a_tool_raises_past_its_retries(agent: str) -> None:
    WORLD.script = {"charge": ["works", "unavailable", "unavailable", "unavailable"]}
    run = until(approve_all(start(agent, "charge 1 40.00, then charge 2 40.00")), "rolled_back")
    assert WORLD.calls == ["charge"] * 4 + ["refund"]
    assert reply(run).startswith(
        "This run stopped: charge failed (Unavailable). Undone, latest first: charge"
    )


def test_a_run_that_has_written_fails_when_the_check_refuses_a_later_step(agent: str, tmp_path: Path) -> None:
    run = answer(start(agent, "charge 1 40.00, then tag 1"), "approve")
    _without(tmp_path, "tag")
    run = answer(run, "approve")
    assert (WORLD.calls, states(run)["tag"]) == (["charge", "refund"], "refused")
    assert reply(run) == (
        "This run stopped: tag was refused (tool_not_of_agent). Undone, latest first: charge (by refund)."
    )


def test_a_run_fails_when_a_person_says_that_an_unknown_write_did_not_happen(
    agent: str,
) -> None:
    WORLD.script = {"charge": ["works", "times out before"]}
    run = approve_all(start(agent, "charge 1 40.00, then charge 2 40.00, then mail 3"))
    run.steps.filter(number=2).update(settles_at=run.created_at)  # it can no longer be on the wire
    run = answer(run, "did_not_happen")
    assert WORLD.calls == ["charge", "charge", "refund"]
    assert reply(run) == (
        "This run stopped: charge did not take effect. Undone, latest first: charge (by refund)."
    )


def test_a_run_fails_when_a_person_answers_cancel_all(agent: str) -> None:
    run = answer(start(agent, "charge 1 40.00, then tag 1, then mail 1"), "approve")
    run = answer(run, "cancel_all")
    assert (run.state, WORLD.calls) == ("rolled_back", ["charge", "refund"])
    assert run.stop == {"kind": "cancelled", "by": "Ana Ferreira", "step": 2}


def test_nothing_that_was_still_to_come_is_asked_or_sent(agent: str) -> None:
    WORLD.script = {"tag": ["raises"]}
    run = approve_all(start(agent, "charge 1 40.00, then tag 1, then mail 1, then read 1"))
    assert WORLD.calls == ["charge", "tag", "refund"]
    later = run.steps.filter(number__in=[3, 4]).order_by("number")
    assert [(step.state, step.asked, step.calls) for step in later] == [("cancelled", 0, 0)] * 2


def test_an_undo_is_checked_as_the_agent_whose_write_it_undoes_and_stuck_where_that_refuses(
    agent: str, tmp_path: Path
) -> None:
    """Between the first try of the undo and the second its agent lost the tool."""
    WORLD.script = {"mail": ["raises"], "refund": ["raises"]}
    WORLD.watch = lambda call: _without(tmp_path, "refund") if call.tool == "refund" else None
    run = until(approve_all(start(agent, "charge 1 40.00, then mail 1")), "stuck")
    assert WORLD.calls == ["charge", "mail", "refund"]
    assert question(run).question == (
        "Undoing charge failed after 1 tries (tool_not_of_agent). 1 step(s) still need undoing."
    )


def test_an_undo_that_its_agent_does_not_have_is_not_possible_and_is_listed(tmp_path: Path) -> None:
    agent = make_agent(tmp_path, tools=["charge", "mail"])
    WORLD.script = {"mail": ["raises"]}
    run = approve_all(start(agent, "charge 1 40.00, then mail 1"))
    assert (WORLD.calls, run.state) == (["charge", "mail"], "rolled_back")
    assert reply(run).endswith("Not undoable, and left as they are: charge.")


def test_an_undo_is_recorded_and_checked_with_the_step_it_undoes_named(tmp_path: Path) -> None:
    """A rule that says `undos: false` speaks of a call of the tool by itself, and not where a step is named."""
    agent = make_agent(tmp_path, rules="undos_only: {tools: refund, refuse: true, undos: false}")
    WORLD.script = {"mail": ["raises"]}
    run = approve_all(start(agent, "charge 1 40.00, then charge 2 40.00, then mail 1"))
    undos = run.steps.filter(tool="refund").order_by("number")
    assert [(step.undoes.number, step.state) for step in undos if step.undoes] == [
        (2, "performed"),
        (1, "performed"),
    ]
    proposed = run.events.filter(kind="step.proposed", step__in=undos).order_by("pk")
    assert [event.data["undoes"] for event in proposed] == [2, 1]
    steps = [services.Proposal("refund", {"charge": "ch_1", "amount": "40.00"})]
    assert start(agent, "", user="u-2", steps=steps).state == "failed"


def test_what_the_check_allowed_is_recorded_before_the_undo_is_sent(agent: str) -> None:
    seen: list[list[str]] = []

    def look(call: object) -> None:
        undo = Run.objects.get().steps.filter(tool="refund").first()
        if undo:
            seen.append([*undo.events.values_list("kind", flat=True), undo.state])

    WORLD.script, WORLD.watch = {"mail": ["raises"]}, look
    approve_all(start(agent, "charge 1 40.00, then mail 1"))
    assert seen == [["step.proposed", "step.sent", "sent"]]


def test_the_person_gets_one_reply(agent: str) -> None:
    WORLD.script = {"mail": ["raises"], "refund": ["raises"] * 2}
    run = until(approve_all(start(agent, "charge 1 40.00, then mail 1")), "rolled_back")
    assert run.messages.exclude(role="user").count() == 1


def test_in_this_order_it_is_undone_last_first_then_rewound_and_then_the_person_gets_the_reply(
    agent: str,
) -> None:
    WORLD.script = {"mail": ["raises"]}
    run = approve_all(start(agent, "charge 1 40.00, then tag 1, then mail 1"))
    told = run.events.filter(pk__gt=run.events.get(kind="step.failed").pk).order_by("pk")
    kinds = [(event.kind, event.step.tool if event.step else "") for event in told]
    order = [
        ("run.rolling_back", ""),
        ("step.performed", "untag"),
        ("step.performed", "refund"),
        ("run.rewound", ""),
        ("run.rolled_back", ""),
    ]
    assert [line for line in kinds if line in order] == order
