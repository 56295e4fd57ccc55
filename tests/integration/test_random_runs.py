"""Random plans, failures, answers and crashes of the real engine on the real database, against a simple model.

The model knows the plan, the world, what every call was answered, and what people said. From that alone it says
whether the run was to stop, where, and what then is to be on the shelves at the end: each write of the plan that
nobody skipped, once; and where the run stopped, none after that, and each of those that can be undone taken away once,
but for what a person gave up: in order that and all before it, with best effort that alone.
"""

import itertools
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from runs import faults, services
from runs.engine import advance
from runs.models import Run, Step
from runs.states import PARKED, RUN_ENDS
from tests.factories import AGENT, PERSON, expire, make_agent
from tests.shelf import SHELF, VERDICTS

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(600)]

UNDO = {"put": "take", "store": "unstore", "enlist": "unlist"}
WRITES = (*UNDO, "send")
KINDS = (*WRITES, "look")
POINTS = ("before-intent", "after-intent", "after-call", "after-outcome", "take-over", "rewind")
BLIND = ("put", "send")  # cannot be looked up, and honour no keys
POLICIES = [*[("atomic", "ordered")] * 2, *[("atomic", "best_effort")] * 2, ("keep", "ordered")]
BEFORE_THE_COMMIT = ("after-call", "before-intent", "rewind")  # that records the last outcome
LOST = "times out for all that is known: the process died with the answer"
PATIENCE = 60  # turns of a worker within which a run ends
# Lists drawn by Hypothesis are mostly short and simple; those of a seed are not.
DICE = st.integers(0, 2**32 - 1).map(Random)


def _coming(dice: Random) -> list[str]:
    """First some calls that work, so that there is something to undo; then any."""
    return ["works"] * dice.randint(0, 4) + dice.choices([*VERDICTS, "works", "works"], k=dice.randint(0, 9))


LONG_AGO = "2020-01-01T00:00:00Z"


class Died(BaseException):
    """The process is gone."""


class Model(RuleBasedStateMachine):
    """One run, from its start to its end."""

    agents: ClassVar[dict[tuple[str, str], str]] = {}
    users = itertools.count()
    ends: ClassVar[Counter[str]] = Counter()

    def __init__(self) -> None:
        super().__init__()
        SHELF.reset()
        self.dies_at, self.dies_after = "", 0
        self.turn_began = 0  # how many calls had been heard when the worker took the run
        self.stops = False  # somebody said something after which the run must not succeed
        self.stopped_at: int | None = None  # how many calls had been heard then
        self.skipped: set[int] = set()
        self.abandoned: set[int] = set()  # the numbers of the writes whose undo was given up
        self.again: Counter[tuple[str, int]] = Counter()  # how often a person had a call sent again
        faults.reach = self._reach

    # --- The world ----------------------------------------------------------------------------------------

    def _reach(self, point: str, tool: str = "") -> None:
        if self.dies_at != point:
            return
        if self.dies_after:
            self.dies_after -= 1
            return
        self.dies_at = ""
        if point in BEFORE_THE_COMMIT and len(SHELF.heard) > self.turn_began:
            self._forget_the_answer("" if point != "after-call" else tool)
        raise Died

    def _forget_the_answer(self, of: str) -> None:
        """The process died with the answer of its last call: nobody knows what it was."""
        tool, number, _ = SHELF.heard[-1]
        if of in ("", tool):
            SHELF.heard[-1] = (tool, number, LOST)

    @initialize(dice=DICE)
    def start(self, dice: Random) -> None:
        self.dice = dice
        plan, policy = dice.choices(KINDS, k=dice.randint(2, 5)), dice.choice(POLICIES)
        self.plan, (self.mode, self.rollback) = plan, policy
        recovery = dice.choice(["resume", "resume", "compensate"])
        SHELF.coming = _coming(dice)
        if dice.randint(0, 2) == 0:  # something is done, the next call fails, some undos are refused
            SHELF.coming = ["works"] * dice.randint(2, 4) + ["refuses"]
            SHELF.broken = set(dice.sample(sorted(UNDO.values()), dice.randint(1, 3)))
        thread = services.start_thread(AGENT, self.agents[policy], f"u-{next(self.users)}")
        steps = [services.Proposal(tool, {"n": number}) for number, tool in enumerate(plan, 1)]
        request = services.RunRequest(steps=steps, task=recovery)
        self.run = services.start(AGENT, thread, request)

    @property
    def alive(self) -> bool:
        self.run.refresh_from_db()
        return self.run.state not in RUN_ENDS

    @property
    def question(self) -> Step | None:
        return self.run.steps.filter(state__in=PARKED, answer="").order_by("number").first()

    def landed(self, tool: str, number: int) -> int:
        return sum((name, at) == (tool, number) for name, at, _ in SHELF.landed)

    # --- What happens -------------------------------------------------------------------------------------

    @rule(dice=DICE)
    def the_next_calls_go_otherwise(self, dice: Random) -> None:
        SHELF.coming = _coming(dice)

    @rule(tools=st.sets(st.sampled_from(sorted(UNDO.values())), min_size=1))
    def undos_are_refused(self, tools: set[str]) -> None:
        SHELF.broken = tools

    @rule(point=st.sampled_from(POINTS), after=st.integers(0, 3))
    def the_process_will_die(self, point: str, after: int) -> None:
        self.dies_at, self.dies_after = point, after

    @rule()
    def a_worker_goes_on(self) -> None:
        self.turn_began = len(SHELF.heard)
        try:
            advance(self.run.pk)
        except Died:
            self.run.refresh_from_db()
            if self.run.lease_owner:  # else its claim was undone with it
                expire(self.run)
        self.run.refresh_from_db()
        if self.run.gave_up:
            self._stops()

    @rule()
    def time_passes(self) -> None:
        """All that was waited for has come; a call that was on the wire has landed, or never will."""
        self.run.steps.update(due_at=None, settles_at=LONG_AGO)
        Run.objects.filter(pk=self.run.pk).update(due_at=None)

    @precondition(lambda self: bool(SHELF.landed) and self.alive and not self.run.cancel_requested_at)
    @rule()
    def an_operator_cancels(self) -> None:
        forward = self.run.state in ("ready", "waiting", "running", "open")
        services.cancel(PERSON, self.run, "enough")
        if forward:
            self._stops()

    @precondition(lambda self: self.question is not None)
    @rule(pick=st.integers(0, 2))
    def a_person_answers(self, pick: int) -> None:
        step = self.question
        assert step is not None
        self._answer(step, services.ANSWERS[step.asks][pick])

    # --- What it means ------------------------------------------------------------------------------------

    def _answer(self, step: Step, said: str) -> None:
        """People tell the truth, and have the call sent again only where it is not there."""
        number = int(step.args["n"])
        there = self.landed(step.tool, number) > 0
        if step.asks == "outcome":
            said = "happened" if there else "did_not_happen" if said == "happened" else said
        if said == "done_by_hand":
            SHELF.landed.append((step.tool, number, "by hand"))
        self.run.steps.filter(pk=step.pk).update(settles_at=LONG_AGO)
        services.resolve(PERSON, step.pk, said, step.digest)
        if said == "skip":
            self.skipped.add(number)
        if said == "abandon":
            self.abandoned.add(number)
        if said in ("send_again", "retry", "did_not_happen"):
            self.again[step.tool, number] += 1
        if said == "cancel_all" or (said == "did_not_happen" and step.undoes_id is None):
            self._stops()

    def _stops(self) -> None:
        self.stops = True
        if self.stopped_at is None:
            self.stopped_at = len(SHELF.heard)

    # --- The end ------------------------------------------------------------------------------------------

    def teardown(self) -> None:
        if not hasattr(self, "run"):
            return
        for place in range(PATIENCE):
            if not self.alive:
                break
            if place == PATIENCE // 2:  # from here on nothing fails any more
                SHELF.coming, SHELF.broken, self.dies_at = [], set(), ""
            self.a_worker_goes_on()
            self.time_passes()
            if step := self.question:
                good = {"confirm": "approve", "outcome": "happened", "undo": "retry"}[step.asks]
                any_answer = self.dice.choice([good, good, *services.ANSWERS[step.asks]])
                self._answer(step, good if place >= PATIENCE // 2 else any_answer)
        assert not self.alive, f"{self.run} is {self.run.state}"
        self.ends[self.run.state] += 1
        self._compare()

    def _compare(self) -> None:
        self._compare_shelves()
        self._compare_calls()
        self._compare_record()

    def _compare_shelves(self) -> None:
        """What is on the shelves, and what was taken from them, is what the model says."""
        done = [(tool, n) for n, tool in enumerate(self.plan, 1) if tool in WRITES and self.landed(tool, n)]
        undone = [(tool, n) for tool, n in done if tool in UNDO and self.landed(UNDO[tool], n)]
        # 1. Nothing took effect twice, and nothing was undone that was not done.
        assert max(Counter((tool, n) for tool, n, _ in SHELF.landed).values(), default=0) <= 1, SHELF.landed
        there = {n for _, n in done}
        assert all(n in there for tool, n, _ in SHELF.landed if tool in UNDO.values())
        # 2. The run succeeded if, and only if, nothing stopped it: then all is there that nobody skipped.
        assert (self.run.state == "succeeded") == (not self._stopped()), (self.run.state, self._stopped())
        wanted = [(tool, n) for n, tool in enumerate(self.plan, 1) if tool in WRITES]
        if self.run.state == "succeeded":
            assert done == [(tool, n) for tool, n in wanted if n not in self.skipped]
        # 3. What was to be undone is, last first where that is asked for.
        assert undone == [(tool, n) for tool, n in done if self._to_undo(tool, n)]
        if self.rollback == "ordered":
            undos = [n for tool, n, _ in SHELF.landed if tool in UNDO.values()]
            assert undos == sorted(undos, reverse=True)
        assert (self.run.state == "abandoned") == bool(self.abandoned)

    def _to_undo(self, tool: str, number: int) -> bool:
        """Whether the end of the run is to find this write undone."""
        if self.run.state == "succeeded" or self.mode == "keep" or tool not in UNDO:
            return False
        if self.rollback == "ordered":
            return number > max(self.abandoned, default=0)
        return number not in self.abandoned

    def _compare_calls(self) -> None:
        """What was called, and how often."""
        undos = UNDO.values()
        calls = Counter((tool, n) for tool, n, _ in SHELF.heard)
        # 4. Nothing was called past the step that failed, nor after somebody stopped the run.
        failed = [n for n, tool in enumerate(self.plan, 1) if self._failed(n, tool)]
        assert all(n <= min(failed, default=n) for tool, n in calls if tool not in undos), SHELF.heard
        later = SHELF.heard[self.stopped_at :] if self.stopped_at is not None else []
        assert all(tool in undos for tool, _, _ in later), later
        # 5. Three calls of a write in all, and four of an undo, unless a person asked for more.
        for call, many in calls.items():
            assert many <= (4 if call[0] in undos else 3) + self.again[call], (call, many)
        # 6. What nobody knows is not sent again by itself.
        for tool, n in calls:
            verdicts = [what for name, number, what in SHELF.heard if (name, number) == (tool, n)]
            unknown = itertools.dropwhile(lambda what: not what.startswith("times out"), verdicts)
            assert tool not in BLIND or len(list(unknown)) <= 1 + self.again[tool, n], verdicts

    def _compare_record(self) -> None:
        """7. The record says the same as the world. A run that died is handed over; one that did nothing says so."""
        for step in self.run.steps.filter(undoes=None, tool__in=WRITES):
            number = step.args["n"]
            assert (step.state in ("performed", "undone")) == bool(self.landed(step.tool, number)), step
            if step.tool in UNDO:
                assert (step.state == "undone") == bool(self.landed(UNDO[step.tool], number)), step
        if self.run.state == "failed":
            assert not any(self.landed(tool, n) for n, tool in enumerate(self.plan, 1))
        assert self.run.state != "handed_over" or self.mode == "keep" or self.run.gave_up

    def _stopped(self) -> bool:
        """Somebody stopped it; or its process died and its task says undo; or a call failed for good."""
        return (
            self.stops
            or self.run.gave_up
            or any(self._failed(n, tool) for n, tool in enumerate(self.plan, 1))
        )

    def _failed(self, number: int, tool: str) -> bool:
        verdicts = [what for name, n, what in SHELF.heard if (name, n) == (tool, number)]
        plain = [
            what for what in itertools.takewhile(lambda what: not what.startswith("times out"), verdicts)
        ]
        if len(plain) == len(verdicts):  # never in doubt
            return verdicts.count("unavailable") >= 3 or any(
                what in ("refuses", "raises") for what in verdicts
            )
        return any(what in ("refuses", "raises") for what in plain)


def test_whatever_happens_the_world_at_the_end_is_what_the_model_says(
    tmp_path: Path, settings_of_django: Any, figures: list[str]
) -> None:
    settings_of_django.RETRY_SECONDS = 0
    settings_of_django.LEASE_SECONDS = 30  # what happens is chosen, and not the machine's doing
    tasks = {"resume": {"recovery": "resume"}, "compensate": {"recovery": "compensate"}}
    for mode, rollback in set(POLICIES):
        Model.agents[mode, rollback] = make_agent(
            tmp_path,
            f"{mode}-{rollback}",
            [*KINDS, *UNDO.values()],
            module="tests.shelf",
            runs=mode,
            rollback=rollback,
            tasks=tasks,
        )
    bounds = settings(
        max_examples=8,
        stateful_step_count=25,
        deadline=None,
        database=None,
        phases=[
            Phase.explicit,
            Phase.generate,
        ],  # to shrink one of these takes minutes, and tells little more
        suppress_health_check=list(HealthCheck),
    )
    reach = faults.reach
    try:
        # Hypothesis varies what it has drawn, and most of that is alike: many small tests see more than one large.
        for number in range(15):
            run_state_machine_as_test(seed(number)(Model), settings=bounds)
    finally:
        faults.reach = reach
    assert {"succeeded", "rolled_back", "failed", "handed_over", "abandoned"} <= set(Model.ends)
    figures.append(f"Random runs on the real engine: {dict(Model.ends)}")


@pytest.fixture
def settings_of_django(settings: Any) -> Any:
    """Hypothesis has a name of the same kind."""
    return settings
