"""A run that a model decides: a scripted model of pydantic-ai's proposes the calls, and the engine does the rest."""

import asyncio
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse

from runs import services
from runs.api import showing
from runs.engine import advance
from runs.errors import RunClosed, ThreadBusy
from runs.models import Event, Run, Step
from runs.trace import Trace
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
from tests.integration.pages import signed_in, words
from tests.scripted import SCRIPT, SECTION
from tests.world import WORLD

pytestmark = pytest.mark.django_db(transaction=True)
TURN = "settle what is open with order 1, would you"
CHARGE = ("charge", {"order": 1, "amount": "40.00"})
TAG = ("tag", {"order": 1})
MAIL = ("mail", {"order": 1})
PAY = ("pay", {"order": 1, "amount": "1.00"})
READ = ("read", {"order": 1})


@pytest.fixture
def agent(tmp_path: Path) -> str:
    """The tester, whose unread turns go to the scripted model."""
    SCRIPT.reset()
    return make_agent(tmp_path, section=SECTION)


def requests(run: Run) -> list[dict[str, Any]]:
    """What the record says of the model's answers."""
    return [event.data for event in Event.objects.filter(run=run, kind="model.answered").order_by("pk")]


def test_a_turn_that_was_read_never_reaches_the_model(agent: str) -> None:
    run = approve_all(start(agent, "charge 1 40.00, then tag 1"))
    assert (run.state, run.model, SCRIPT.asked) == ("succeeded", "", 0)


def test_a_turn_that_was_not_read_is_decided_call_by_call(agent: str) -> None:
    SCRIPT.reset([READ], [CHARGE], "Order 1 is settled.")
    run = approve_all(start(agent, TURN))
    assert run.state == "succeeded"
    assert WORLD.calls == ["read", "charge"]
    assert reply(run) == "Done: read; charge. The model says: Order 1 is settled."
    assert SCRIPT.asked == 3
    assert SCRIPT.heard() == [
        ("user", TURN),
        ("read", {"result": {"order": 1}}),
        ("charge", {"result": {"charge": "ch_1"}}),
    ]
    assert [step.state for step in run.steps.order_by("number")] == ["performed", "performed", "cancelled"]


def test_a_process_with_an_event_loop_of_its_own_may_ask_a_model(
    agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    SCRIPT.reset([READ], "Order 1 is settled.")

    async def program() -> Run:
        return start(agent, TURN)

    assert (asyncio.run(program()).state, SCRIPT.asked) == ("succeeded", 2)


def test_what_each_request_cost_is_in_the_record_and_summed_up_on_the_run(agent: str) -> None:
    SCRIPT.reset([READ], "It is paid.")
    run = start(agent, TURN)
    first, last = requests(run)
    assert (first["request"], first["calls"], last["request"], last["text"]) == (
        1,
        ["read"],
        2,
        "It is paid.",
    )
    assert run.input_tokens == first["input_tokens"] + last["input_tokens"] > 0
    assert run.output_tokens == first["output_tokens"] + last["output_tokens"] > 0
    assert (run.requests, run.cost, run.unpriced) == (2, Decimal(0), 2)  # a scripted model has no price


def test_its_calls_are_confirmed_and_wait_for_a_person_as_any_other(agent: str) -> None:
    SCRIPT.reset([CHARGE], "Done.")
    run = start(agent, TURN)
    assert (run.state, question(run).tool, WORLD.calls, SCRIPT.asked) == ("waiting", "charge", [], 1)
    with pytest.raises(ThreadBusy, match="it waits for an answer about charge"):
        services.start(AGENT, run.thread, services.RunRequest(text="read 1"))
    assert answer(run, "approve").state == "succeeded"
    assert SCRIPT.asked == 2


def test_the_result_of_a_skipped_call_tells_the_model_so(agent: str) -> None:
    SCRIPT.reset([CHARGE], "Nothing was charged.")
    run = answer(start(agent, TURN), "skip", reason="paid in cash")
    assert run.state == "succeeded"
    [(_, outcome)] = [heard for heard in SCRIPT.heard() if heard[0] == "charge"]
    assert outcome["declined"].startswith("A person said no, so this call did not run.")
    assert outcome["because"] == "paid in cash"
    assert reply(run) == "Nothing had been done. Skipped: charge. The model says: Nothing was charged."


def test_a_skipped_call_that_is_proposed_again_unchanged_is_refused(agent: str) -> None:
    SCRIPT.reset([CHARGE], [CHARGE], [("charge", {"order": 1, "amount": "30.00"})], "Done.")
    run = answer(start(agent, TURN), "skip")
    again = run.steps.get(number=2)
    assert (again.state, again.error_class) == ("refused", "proposed_again")
    assert again.error == "a person said no to this very call: step 1"
    assert question(run).args == {"order": 1, "amount": "30.00"}  # another amount is another call
    assert approve_all(run).state == "succeeded"
    assert WORLD.calls == ["charge"]


def test_a_refused_call_that_is_proposed_again_unchanged_is_refused_for_that(tmp_path: Path) -> None:
    rules = """
        no_large_ones:
          tools: charge
          when: above(args.amount, '100.00')
          refuse: true
          because: ask the owner
    """
    large = ("charge", {"order": 1, "amount": "200.00"})
    agent = make_agent(tmp_path, section=SECTION, rules=rules)
    SCRIPT.reset([large], [large], "I could not.")
    run = start(agent, TURN)
    assert [(step.state, step.error_class) for step in run.steps.order_by("number")] == [
        ("refused", "no_large_ones"),
        ("refused", "proposed_again"),
        ("cancelled", ""),
    ]
    assert SCRIPT.heard()[1:] == [
        ("charge", {"refused": "no_large_ones: ask the owner"}),
        ("charge", {"refused": "proposed_again: no_large_ones refused this very call: step 1"}),
    ]
    assert run.state == "succeeded" and WORLD.calls == []


def test_the_same_call_in_the_next_turn_is_another_wish(agent: str) -> None:
    SCRIPT.reset([CHARGE], "Nothing was charged.", [CHARGE], "Charged.")
    run = answer(start(agent, TURN), "skip")
    after = services.start(AGENT, run.thread, services.RunRequest(text="now do it, as I said"))
    advance(after.pk)
    after.refresh_from_db()
    assert approve_all(after).state == "succeeded"
    assert WORLD.calls == ["charge"]


def test_calls_in_parallel_are_written_and_confirmed_one_at_a_time(agent: str) -> None:
    SCRIPT.reset([CHARGE, READ, TAG], "Done.")
    run = start(agent, TURN)
    assert states(run) == {"charge": "needs_approval", "read": "proposed", "tag": "proposed"}
    run = answer(run, "approve")
    assert states(run) == {"charge": "performed", "read": "performed", "tag": "needs_approval"}
    assert SCRIPT.asked == 1
    assert answer(run, "approve").state == "succeeded"
    assert WORLD.calls == ["charge", "read", "tag"]
    assert SCRIPT.asked == 2


def test_after_a_failure_the_model_is_not_called_again(agent: str) -> None:
    WORLD.script = {"mail": ["raises"]}
    SCRIPT.reset([CHARGE], [MAIL])
    run = approve_all(start(agent, TURN))
    assert run.state == "rolled_back"
    assert WORLD.calls == ["charge", "mail", "refund"]
    assert SCRIPT.asked == 2
    assert (
        reply(run)
        == "This run stopped: mail failed (RuntimeError). Undone, latest first: charge (by refund)."
    )


def test_the_record_of_a_failed_run_is_that_of_the_selector(agent: str) -> None:
    def story(run: Run) -> list[tuple[Any, ...]]:
        kept = (
            "number",
            "tool",
            "args",
            "state",
            "calls",
            "error_class",
            "error",
            "asked",
            "warnings",
            "undoes__number",
        )
        rows = list(run.steps.order_by("number").values_list(*kept, "entry__state", "entry__result"))
        return [*rows, reply(run), run.state, run.stop]

    def failed(turn: str, user: str) -> Run:
        WORLD.reset()
        WORLD.script = {"mail": ["raises"]}
        return approve_all(start(agent, turn, user))

    read = failed("charge 1 40.00, then tag 1, then mail 1", "u-1")
    SCRIPT.reset([CHARGE], [TAG], [MAIL])
    decided = failed(TURN, "u-2")
    assert story(decided) == story(read)
    assert SCRIPT.asked == 3


def test_a_rewound_run_is_not_read_again(agent: str) -> None:
    WORLD.script = {"mail": ["raises"]}
    SCRIPT.reset([CHARGE], [MAIL], "Nothing is left of it.")
    run = approve_all(start(agent, TURN))
    after = services.start(AGENT, run.thread, services.RunRequest(text="and what is left of it?"))
    advance(after.pk)
    assert SCRIPT.heard() == [("user", TURN), ("user", "and what is left of it?")]
    words = str(SCRIPT.read[-1])
    assert "This run stopped: mail failed (RuntimeError)." in words
    assert "a bug in the tool" not in words and "ch_1" not in words


def test_a_run_that_went_through_is_read_with_its_results(agent: str) -> None:
    run = approve_all(start(agent, "charge 1 40.00"))  # by the selector
    SCRIPT.reset("It was ch_1.")
    services.start(AGENT, run.thread, services.RunRequest(text="which charge was that?"))
    advance(Run.objects.latest("pk").pk)
    assert SCRIPT.heard() == [
        ("user", "charge 1 40.00"),
        ("user", "which charge was that?"),
        ("charge", {"result": {"charge": "ch_1"}}),
    ]


def test_what_an_outside_agent_called_in_the_conversation_is_read_too(agent: str) -> None:
    thread = services.start_thread(AGENT, agent, "u-1")
    first = services.start(AGENT, thread, services.RunRequest(steps=[services.Proposal(*PAY)]))
    advance(first.pk)
    SCRIPT.reset("It was pay_1.")
    advance(services.start(AGENT, thread, services.RunRequest(text="which payment was that?")).pk)
    assert SCRIPT.heard() == [
        ("user", "What was called before in this conversation:"),
        ("user", "which payment was that?"),
        ("pay", {"result": {"charge": "pay_1"}}),
    ]


def test_the_model_is_told_who_it_is_and_what_it_may_call(tmp_path: Path) -> None:
    agent = make_agent(tmp_path, tools=["read"], section=SECTION | {"instructions": "Answer in French."})
    SCRIPT.reset("Voilà.")
    start(agent, TURN)
    told = SCRIPT.told[0]
    assert told.instructions is not None
    assert told.instructions.startswith("You are the agent tester.")
    assert told.instructions.endswith("Answer in French.")
    [tool] = told.function_tools
    assert (tool.name, tool.description) == ("read", "A read.")
    assert tool.parameters_json_schema["required"] == ["order"]


# --- Answers that cannot be used ----------------------------------------------------------------------
@pytest.mark.parametrize(
    ("call", "said"),
    [
        (("fly", {}), "tester has no tool called 'fly'; it has: charge, mail"),
        (("charge", {"order": "many"}), "charge: order: Input should be a valid integer"),
        (("charge", {"order": 1, "amount": 40.0}), "money is exact: send it as a string"),
        (("charge", '{"order": '), "The arguments of charge must be an object."),
        (("charge", "[1]"), "The arguments of charge must be an object."),
        (("charge", {"order": 2**60}), "a number from 2^53 on; send it as a string"),
    ],
)
def test_a_proposal_that_is_not_valid_is_told_to_the_model_and_becomes_no_step(
    agent: str, call: tuple[str, Any], said: str
) -> None:
    SCRIPT.reset([READ, call], [READ], "Done.")
    run = start(agent, TURN)
    assert (run.state, states(run)) == ("succeeded", {"read": "performed", "": "cancelled"})
    [_, (who, feedback)] = SCRIPT.heard(1)
    assert who == "user" and said in feedback
    assert WORLD.calls == ["read"]
    assert said in requests(run)[0]["error"]


def test_a_model_that_proposes_nothing_valid_three_times_fails_and_the_run_is_undone(agent: str) -> None:
    SCRIPT.reset([PAY], *[[("fly", {})]] * 3)
    run = start(agent, TURN)
    assert run.state == "rolled_back"
    assert (
        reply(run)
        == "This run stopped: its model failed (BadProposal). Undone, latest first: pay (by refund)."
    )
    assert SCRIPT.asked == 4


def test_a_provider_that_is_down_is_asked_again_after_a_pause(agent: str) -> None:
    SCRIPT.reset(ConnectionError("nobody there"), [READ], "Done.")
    run = until(start(agent, TURN), "succeeded")
    assert SCRIPT.asked == 3
    assert requests(run)[0]["error_class"] == "ConnectionError"


def test_a_provider_that_stays_down_ends_the_run_with_its_error(agent: str) -> None:
    SCRIPT.reset(*[ConnectionError("nobody there")] * 3)
    run = until(start(agent, TURN), "failed")
    assert reply(run) == "This run stopped: its model failed (ConnectionError). Nothing had been done."
    assert run.steps.get().error == "nobody there"


def test_a_model_that_is_never_done_is_stopped_with_a_reason(agent: str, settings: Any) -> None:
    settings.MODEL_REQUESTS = 3
    SCRIPT.reset([PAY], [READ], [READ], [READ])
    run = start(agent, TURN)
    assert SCRIPT.asked == 3
    assert reply(run) == (
        "This run stopped: its model was asked 3 times and was not done. Undone, latest first: pay (by refund)."
    )


# --- People, crashes ----------------------------------------------------------------------------------
def test_a_cancel_while_the_model_thinks_stops_the_run_and_its_cost_is_recorded(agent: str) -> None:
    SCRIPT.reset([PAY], [MAIL])
    thread = services.start_thread(AGENT, agent, "u-1")
    run = services.start(AGENT, thread, services.RunRequest(text=TURN))

    def cancel() -> None:
        SCRIPT.meanwhile = lambda: services.cancel(PERSON, run)

    SCRIPT.meanwhile = cancel
    with pytest.MonkeyPatch.context() as patch:  # the scripted model runs in an event loop
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        advance(run.pk)
    run.refresh_from_db()
    assert run.state == "rolled_back"
    assert WORLD.calls == ["pay", "refund"]
    assert states(run)["mail"] == "cancelled"
    assert len(requests(run)) == SCRIPT.asked == 2
    assert reply(run).startswith("This run stopped: cancelled by Ana Ferreira.")


def test_a_crash_while_deciding_decides_again(agent: str) -> None:
    SCRIPT.reset([READ], [CHARGE], "Done.")

    def die() -> None:
        raise KeyboardInterrupt

    SCRIPT.meanwhile = die
    with pytest.raises(KeyboardInterrupt):
        start(agent, TURN)
    run = Run.objects.get()
    assert [step.state for step in run.steps.all()] == ["deciding"]
    until(run, "waiting")
    assert approve_all(run).state == "succeeded"
    assert [(step.number, step.tool) for step in run.steps.order_by("number")] == [
        (1, "read"),
        (2, "charge"),
        (3, ""),
    ]
    interrupted = Event.objects.get(run=run, kind="step.interrupted")
    assert interrupted.data["found"] == "deciding"
    assert (run.requests, SCRIPT.asked) == (4, 4)


def test_a_worker_that_lost_its_run_while_the_model_thought_writes_down_what_it_cost(agent: str) -> None:
    SCRIPT.reset([READ], "Done.")

    def lose() -> None:
        Run.objects.update(lease_owner="elsewhere", lease_epoch=99, lease_expires_at=None)

    SCRIPT.meanwhile = lose
    thread = services.start_thread(AGENT, agent, "u-1")
    run = services.start(AGENT, thread, services.RunRequest(text=TURN))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        assert not advance(run.pk)
    [late] = requests(run)
    assert late["late"] is True and late["calls"] == ["read"]
    run.refresh_from_db()
    assert (run.input_tokens, run.steps.get().state) == (late["input_tokens"], "deciding")


def test_nobody_else_proposes_calls_of_a_run_that_a_model_decides(agent: str) -> None:
    SCRIPT.reset([CHARGE])
    run = start(agent, TURN)
    for refused in (
        lambda: services.propose(AGENT, run, services.Proposal(*READ)),
        lambda: services.close(AGENT, run),
    ):
        with pytest.raises(RunClosed, match="is decided by python:tests.scripted.MODEL"):
            refused()
    assert Step.objects.count() == 1


def test_a_model_of_pydantic_ais_own_decides_as_well(tmp_path: Path) -> None:
    agent = make_agent(tmp_path, section=SECTION | {"model": "python:tests.scripted.TEST"})
    run = start(agent, TURN)
    assert (run.state, run.requests, WORLD.calls) == ("succeeded", 2, ["read"])
    assert reply(run).startswith("Done: read. The model says: ")


# --- What people see ----------------------------------------------------------------------------------
def test_the_page_of_the_run_says_who_decided_and_what_it_took(agent: str) -> None:
    SCRIPT.reset([READ], "It is paid.")
    run = start(agent, TURN)
    ana = signed_in("ana", "Ana Ferreira", "support")
    page = words(ana.get(reverse("run", args=[run.pk])))
    assert f"Started; {SECTION['model']} decides not read: “{TURN}”" in page
    assert "Done: 1 step performed" in page
    assert f"asked 2 times: {run.input_tokens} tokens in, {run.output_tokens} out" in page
    assert "cost2 without a known price" in page
    assert "2. No further call" in page
    conversation = words(ana.get(reverse("conversation", args=[run.thread_id])))
    assert "1. read(order 1)" in conversation and "No further call" not in conversation


def test_the_trace_says_what_the_model_decided(agent: str) -> None:
    SCRIPT.reset([("fly", {})], [READ, CHARGE])
    run = start(agent, TURN)
    lines = [str(line) for line in Trace(run).lines()]
    assert lines[0].startswith(
        "  1  decide    request 1 -> BadProposal: tester has no tool called 'fly'; it has: "
    )
    assert lines[1].startswith("  1  decide    request 2 -> read, charge (")
    answer(run, "cancel_all")
    assert not any("was not sent" in str(line) and "charge" not in str(line) for line in Trace(run).lines())


def test_the_export_of_a_run_that_a_model_decides_has_what_it_took(agent: str) -> None:
    SCRIPT.reset([READ], "It is paid.")
    run = start(agent, TURN)
    shown = showing.summary(showing.short_runs(Run.objects.filter(pk=run.pk)).get())
    assert shown.model is not None and not shown.open
    assert (shown.model.name, shown.model.requests, shown.model.cost) == (SECTION["model"], 2, "0")
