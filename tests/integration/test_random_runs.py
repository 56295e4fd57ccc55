"""Random plans, failures, answers and crashes of the real engine on the real database, against a simple model.

The model knows the world, what every call was answered, and what people said. From that alone it says whether the
run was to stop, and what then is to be on the shelves at the end: each write once, and each of those once undone
that can be, where the run stopped.
"""

import itertools
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, seed, settings
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
from tests.factories import AGENT, PERSON, make_agent
from tests.shelf import SHELF, VERDICTS

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(600)]

UNDO = {"put": "take", "store": "unstore", "enlist": "unlist"}
WRITES = (*UNDO, "send")
KINDS = (*WRITES, "look")
POINTS = ("before-intent", "after-intent", "after-call", "after-outcome", "take-over", "rewind")
POLICIES = [("atomic", "ordered"), ("atomic", "ordered"), ("atomic", "best_effort"), ("keep", "ordered")]
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
        self.stops = False  # something was said or heard after which the run must not succeed
        self.abandoned = False
        faults.reach = self._reach

    # --- The world ----------------------------------------------------------------------------------------

    def _reach(self, point: str, tool: str = "") -> None:
        if self.dies_at != point:
            return
        if self.dies_after:
            self.dies_after -= 1
            return
        self.dies_at = ""
        raise Died

    @initialize(dice=DICE)
    def start(self, dice: Random) -> None:
        self.dice = dice
        plan, policy = dice.choices(KINDS, k=dice.randint(2, 5)), dice.choice(POLICIES)
        self.plan, (self.mode, self.rollback) = plan, policy
        recovery = dice.choice(["resume", "resume", "compensate"])
        SHELF.coming = _coming(dice)
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

    @rule(point=st.sampled_from(POINTS), after=st.integers(0, 3))
    def the_process_will_die(self, point: str, after: int) -> None:
        self.dies_at, self.dies_after = point, after

    @rule()
    def a_worker_goes_on(self) -> None:
        try:
            advance(self.run.pk)
        except Died:
            Run.objects.filter(pk=self.run.pk).update(lease_expires_at=LONG_AGO)

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
        self.stops = self.stops or forward

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
        self.abandoned = self.abandoned or said == "abandon"
        self.stops = self.stops or said == "cancel_all"
        self.stops = self.stops or (said == "did_not_happen" and step.undoes_id is None)

    # --- The end ------------------------------------------------------------------------------------------

    def teardown(self) -> None:
        if not hasattr(self, "run"):
            return
        for place in range(PATIENCE):
            if not self.alive:
                break
            if place == PATIENCE // 2:  # from here on nothing fails any more
                SHELF.coming, self.dies_at = [], ""
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
        state, died = self.run.state, self.run.gave_up
        done = [(tool, n) for n, tool in enumerate(self.plan, 1) if tool in WRITES and self.landed(tool, n)]
        undone = [(tool, n) for tool, n in done if tool in UNDO and self.landed(UNDO[tool], n)]
        # 1. Nothing took effect twice, and nothing was undone that was not done.
        assert max(Counter((tool, n) for tool, n, _ in SHELF.landed).values(), default=0) <= 1, SHELF.landed
        there = {n for _, n in done}
        assert all(n in there for tool, n, _ in SHELF.landed if tool in UNDO.values())
        # 2. The run succeeded if, and only if, nothing stopped it.
        assert (state == "succeeded") == (not self._stopped()), (state, self._stopped())
        # 3. What is on the shelves is what that end promises.
        if state == "succeeded" or self.mode == "keep":
            assert undone == []
        elif not self.abandoned:
            assert undone == [(tool, n) for tool, n in done if tool in UNDO]
        if self.rollback == "ordered":
            undos = [n for tool, n, _ in SHELF.landed if tool in UNDO.values()]
            assert undos == sorted(undos, reverse=True)
        # 4. The record says the same as the world.
        for step in self.run.steps.filter(undoes=None, tool__in=WRITES):
            number = step.args["n"]
            assert (step.state in ("performed", "undone")) == bool(self.landed(step.tool, number)), step
            if step.tool in UNDO:
                assert (step.state == "undone") == bool(self.landed(UNDO[step.tool], number)), step
        # 5. A run that died is handed over; one that did nothing says so.
        if state == "failed":
            assert done == []
        assert state != "handed_over" or self.mode == "keep" or died

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
        suppress_health_check=list(HealthCheck),
    )
    reach = faults.reach
    try:
        # Hypothesis varies what it has drawn, and most of that is alike: many small tests see more than one large.
        for number in range(15):
            run_state_machine_as_test(seed(number)(Model), settings=bounds)
    finally:
        faults.reach = reach
    assert {"succeeded", "rolled_back", "failed", "handed_over"} <= set(Model.ends)
    figures.append(f"Random runs on the real engine: {dict(Model.ends)}")


@pytest.fixture
def settings_of_django(settings: Any) -> Any:
    """Hypothesis has a name of the same kind."""
    return settings
