"""Every state that can be reached, breadth first; the first broken promise comes with its shortest trace."""

import gc
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from runs.actions import Action, Wait
from runs.states import RUN_ENDS
from runs.view import RunView
from tests.model.loop import (
    Core,
    Move,
    Plan,
    State,
    choices,
    engine_moves,
    forgotten,
    modes,
    other_moves,
    rollbacks,
    start,
    undone_apart,
)
from tests.model.normal import normal
from tests.model.promise import broken_at_rest, broken_by_move, broken_by_state

REAL = Core()
NOTHING = Wait("nothing")


class Broken(Exception):
    """The promise does not hold: what is broken, the move that broke it, and the state before it, if known."""

    def __init__(self, said: str, move: str = "", number: int = -1) -> None:
        super().__init__(said)
        self.said, self.move, self.number = said, move, number


@dataclass(frozen=True)
class Next:
    """What can follow: the move's name, the state after it (and the run before it was made normal), and whether
    the engine did it by itself and at once.
    """

    name: str
    state: State
    whole: RunView
    by_engine: bool


@dataclass(frozen=True)
class Model:
    """A plan and the core that carries it out; every move is checked on the way.

    With `only`, nothing else that is broken counts than what begins so.
    """

    plan: Plan
    core: Core = REAL
    only: str = ""

    def start(self) -> State:
        """The run as it was created."""
        return normal(start(self.plan))

    def after(self, state: State) -> Iterator[Next]:
        """Everything that can happen now. Raises Broken."""
        if chosen := choices(self.plan, state):
            for move in chosen:
                yield from self._checked(state, NOTHING, move, by_engine=False)
            return
        action = self.core.next_action(state.run)
        if isinstance(action, Wait):
            state = forgotten(state)
            self._must_not(broken_at_rest(self.core, state, action))
        for before, do in self._decided(state, action):
            for move in engine_moves(self.core, self.plan, before, do):
                yield from self._checked(before, do, move, by_engine=True)
        for move in other_moves(self.core, self.plan, state, action):
            yield from self._checked(state, action, move, by_engine=False)

    def _decided(self, state: State, action: Action) -> list[tuple[State, Action]]:
        """What is next under each policy, where that matters."""
        under = [(one, self.core.next_action(one.run)) for one in modes(self.plan, state)]
        same = all(do == action for _, do in under)
        return [*([(state, action)] if same else under), *undone_apart(self.core, self.plan, state)]

    def _checked(self, before: State, action: Action, whole: Move, *, by_engine: bool) -> Iterator[Next]:
        for move in rollbacks(self.plan, before, whole):
            after = normal(move.after, before, late=self.plan.late)
            self._must_not(broken_by_move(self.plan, before, action, move), move.name)
            at_once = by_engine and "time passes" not in move.name
            yield Next(move.name, after, move.after.run, at_once)

    def check(self, one: Next) -> None:
        """Whether a new state keeps the promise, and is to the core what it was before it was made normal."""
        self._must_not(broken_by_state(self.plan, one.state), one.name)
        run = one.state.run
        if one.whole is not run and self.core.next_action(one.whole) != self.core.next_action(run):
            self._must_not("model: the core reads what tests/model/normal.py leaves out", one.name)

    def _must_not(self, said: str, move: str = "") -> None:
        if said and said.startswith(self.only):
            raise Broken(said, move)


@dataclass
class Found:
    """What the exploration of one plan, or of many, saw."""

    states: int = 0
    moves: int = 0
    seconds: float = 0.0
    ends: Counter[str] = field(default_factory=Counter)
    broken: str = ""
    trace: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        head = f"{self.states} states, {self.moves} moves, {self.seconds:.1f} s"
        if not self.broken:
            return f"{head}; ends: {', '.join(sorted(self.ends))}"
        return "\n".join(
            [f"BROKEN {self.broken}", *(f"  {n:2} {name}" for n, name in enumerate(self.trace, 1)), head]
        )


class Explorer:
    """All states of one plan."""

    def __init__(self, plan: Plan, core: Core = REAL, only: str = "") -> None:
        self.model = Model(plan, core, only)
        self.numbers: dict[State, int] = {}
        self.states: list[State] = []
        self.came: list[tuple[int, str]] = []
        self.by_engine: list[list[int]] = []
        self.by_others: list[list[int]] = []
        self.moves = 0

    def explore(self) -> Found:
        """Visit every state, until the promise is broken."""
        began, found = time.process_time(), Found()
        number = 0
        try:
            self._add(self.model.start(), -1, "start")
            while number < len(self.states):
                self._expand(number)
                number += 1
            self._no_engine_runs_for_ever()
            self._every_run_can_end()
        except Broken as broken:
            found.broken = broken.said
            found.trace = self._trace(number if broken.number < 0 else broken.number)
            found.trace += [broken.move] if broken.move else []
        found.states, found.moves = len(self.states), self.moves
        found.ends.update(state.run.state for state in self.states if state.run.state in RUN_ENDS)
        found.seconds = time.process_time() - began
        return found

    def _expand(self, number: int) -> None:
        for one in self.model.after(self.states[number]):
            self.moves += 1
            reached = self.numbers.get(one.state)
            if reached is None:
                self.model.check(one)
                reached = self._add(one.state, number, one.name)
            (self.by_engine if one.by_engine else self.by_others)[number].append(reached)

    def _add(self, state: State, before: int, name: str) -> int:
        number = self.numbers[state] = len(self.states)
        self.states.append(state)
        self.came.append((before, name))
        self.by_engine.append([])
        self.by_others.append([])
        return number

    def _trace(self, number: int) -> list[str]:
        """How this state was reached."""
        names = []
        while number > 0:
            number, name = self.came[number]
            names.append(name)
        return names[::-1]

    def _no_engine_runs_for_ever(self) -> None:
        """The engine alone goes round in no circle: every one needs a person, or time."""
        before = Counter(after for reached in self.by_engine for after in reached)
        free = [number for number in range(len(self.states)) if not before[number]]
        seen = 0
        while free:
            seen += 1
            for after in self.by_engine[free.pop()]:
                before[after] -= 1
                if not before[after]:
                    free.append(after)
        if seen < len(self.states):
            raise Broken(
                "for ever: the engine goes round in a circle", "", min(n for n, c in before.items() if c)
            )

    def _every_run_can_end(self) -> None:
        """From every state an end can be reached, by somebody's doing."""
        came_from: list[list[int]] = [[] for _ in self.states]
        for reached in (self.by_engine, self.by_others):
            for number, afters in enumerate(reached):
                for after in afters:
                    came_from[after].append(number)
        todo = [number for number, state in enumerate(self.states) if state.run.state in RUN_ENDS]
        alive = set(todo)
        while todo:
            new = [number for number in came_from[todo.pop()] if number not in alive]
            alive.update(new)
            todo += new
        if len(alive) < len(self.states):
            first = next(number for number in range(len(self.states)) if number not in alive)
            raise Broken("stuck: no end can be reached", "", first)


def explore(plan: Plan, core: Core = REAL, only: str = "") -> Found:
    """Explore one plan. The collector of garbage rests meanwhile: there is none, and it would look at every state."""
    gc.disable()
    try:
        return Explorer(plan, core, only).explore()
    finally:
        gc.enable()


def walk(plan: Plan, picks: Sequence[int], patience: int, core: Core = REAL) -> State:
    """One run: what happens is picked by number, or is the best that can happen (-1). After the picks the best
    happens until the run has ended. Raises Broken.
    """
    model = Model(plan, core)
    state = model.start()
    trace: list[str] = []
    for place, pick in enumerate([*picks, *[-1] * patience]):
        if pick < 0 and state.run.state in RUN_ENDS:
            if place >= len(picks):
                return state
            continue
        try:
            ahead = list(model.after(state))
            one = ahead[pick % len(ahead)] if pick >= 0 else min(ahead, key=_how_good)
            model.check(one)
        except Broken as broken:
            raise Broken("\n".join([broken.said, *trace, broken.move])) from None
        state, trace = one.state, [*trace, one.name]
    raise Broken("\n".join(["stuck: no end was reached", *trace]))


def _how_good(one: Next) -> int:
    """The moves of a good day first: calls are answered, people approve and tell the truth, time passes."""
    good = ("answered", "approve", "happened", "did_not_happen", "done_by_hand", "proposes", "world: ")
    bad = (
        "refused",
        "cannot",
        "failed",
        "crash",
        "timeout",
        "unavailable",
        "raised",
        "lost",
        "nothing",
        "ask",
    )
    if one.by_engine and not any(word in one.name for word in bad):
        return 0
    return 1 if one.by_engine and "ask" in one.name else 2 if any(word in one.name for word in good) else 3
