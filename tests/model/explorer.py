"""Every state that can be reached, breadth first; the first broken promise comes with its shortest trace."""

import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from runs.actions import Action, Wait
from runs.states import RUN_ENDS
from tests.model.loop import (
    Core,
    Move,
    Plan,
    State,
    choices,
    engine_moves,
    modes,
    other_moves,
    rollbacks,
    start,
)
from tests.model.normal import normal
from tests.model.promise import broken_at_rest, broken_by_move, broken_by_state

REAL = Core()
WAIT = Wait("nothing")


@dataclass
class Found:
    """What the exploration of one plan, or of many, saw."""

    plans: int = 0
    states: int = 0
    moves: int = 0
    ends: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    broken: str = ""
    plan: Plan | None = None
    trace: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        head = f"{self.plans} plans, {self.states} states, {self.moves} moves, {self.seconds:.1f} s"
        if not self.broken:
            return f"{head}; ends {dict(sorted(self.ends.items()))}"
        steps = "\n".join(f"  {number:2} {name}" for number, name in enumerate(self.trace, 1))
        return f"BROKEN {self.broken}\n  {self.plan}\n{steps}\n  ({head})"


class Broken(Exception):
    """The promise does not hold: what is broken, and the state before it."""

    def __init__(self, said: str, state: int, last: str = "") -> None:
        super().__init__(said)
        self.said, self.state, self.last = said, state, last


class Explorer:
    """All states of one plan."""

    def __init__(self, plan: Plan, core: Core = REAL) -> None:
        self.plan, self.core = plan, core
        self.numbers: dict[State, int] = {}
        self.states: list[State] = []
        self.came: list[tuple[int, str]] = []
        self.by_engine: list[list[int]] = []
        self.edges: list[list[int]] = []
        self.todo: deque[int] = deque()
        self.moves = 0

    def explore(self) -> None:
        """Raise Broken at the first state or move that breaks the promise."""
        self._add(normal(start(self.plan)), -1, "start")
        while self.todo:
            self._expand(self.todo.popleft())
        self._no_engine_runs_for_ever()
        self._every_run_can_end()

    def trace(self, number: int) -> list[str]:
        """How this state was reached."""
        names = []
        while number > 0:
            number, name = self.came[number]
            names.append(name)
        return names[::-1]

    def _expand(self, number: int) -> None:
        state = self.states[number]
        if chosen := choices(self.plan, state):
            for move in chosen:
                self._reach(number, state, WAIT, move)
            return
        action = self.core.next_action(state.run)
        if isinstance(action, Wait) and (said := broken_at_rest(self.core, state, action)):
            raise Broken(said, number)
        for before, do in self._decided(state, action):
            for move in engine_moves(self.core, self.plan, before, do):
                self.by_engine[number] += self._reach(number, before, do, move)
        for move in other_moves(self.core, self.plan, state, action):
            self._reach(number, state, action, move)

    def _decided(self, state: State, action: Action) -> list[tuple[State, Action]]:
        """What is next under each policy, where that matters."""
        under = [(one, self.core.next_action(one.run)) for one in modes(self.plan, state)]
        return [(state, action)] if all(do == action for _, do in under) else under

    def _reach(self, number: int, before: State, action: Action, move: Move) -> list[int]:
        return [self._reach_one(number, before, action, one) for one in rollbacks(self.plan, before, move)]

    def _reach_one(self, number: int, before: State, action: Action, move: Move) -> int:
        self.moves += 1
        said = broken_by_move(self.core, self.plan, before, action, move)
        after = normal(move.after, before, late=self.plan.late)
        reached = self.numbers.get(after)
        if reached is None:
            said = said or broken_by_state(self.plan, after) or self._normal_is_the_same(move.after, after)
        if said:
            raise Broken(said, number, move.name)
        if reached is None:
            reached = self._add(after, number, move.name)
        self.edges[number].append(reached)
        return reached

    def _add(self, state: State, before: int, name: str) -> int:
        number = self.numbers[state] = len(self.states)
        self.states.append(state)
        self.came.append((before, name))
        self.by_engine.append([])
        self.edges.append([])
        self.todo.append(number)
        return number

    def _normal_is_the_same(self, state: State, after: State) -> str:
        if state.run is after.run:
            return ""
        same = self.core.next_action(state.run) == self.core.next_action(after.run)
        return "" if same else "model: the core reads of an ended step what the model leaves out"

    def _no_engine_runs_for_ever(self) -> None:
        """The engine alone goes round in no circle: every one needs a person, or time."""
        before = [0] * len(self.states)
        for reached in self.by_engine:
            for after in reached:
                before[after] += 1
        free = deque(number for number, count in enumerate(before) if not count)
        seen = 0
        while free:
            seen += 1
            for after in self.by_engine[free.popleft()]:
                before[after] -= 1
                if not before[after]:
                    free.append(after)
        if seen < len(self.states):
            raise Broken("for ever: the engine goes round in a circle", next(n for n, c in enumerate(before) if c))

    def _every_run_can_end(self) -> None:
        came_from: list[list[int]] = [[] for _ in self.states]
        for number, reached in enumerate(self.edges):
            for after in reached:
                came_from[after].append(number)
        ends = [
            number
            for number, state in enumerate(self.states)
            if state.run.state in RUN_ENDS and not state.run.undo_requested
        ]
        alive, todo = set(ends), deque(ends)
        while todo:
            for number in came_from[todo.popleft()]:
                if number not in alive:
                    alive.add(number)
                    todo.append(number)
        if len(alive) < len(self.states):
            raise Broken("stuck: no end can be reached", next(n for n in range(len(self.states)) if n not in alive))


def explore(plans: Iterable[Plan], core: Core = REAL) -> Found:
    """Explore these plans, until one is broken."""
    found, began = Found(), time.perf_counter()
    for plan in plans:
        explorer = Explorer(plan, core)
        try:
            explorer.explore()
        except Broken as broken:
            found.broken, found.plan = broken.said, plan
            found.trace = explorer.trace(broken.state) + ([broken.last] if broken.last else [])
        found.plans += 1
        found.states += len(explorer.states)
        found.moves += explorer.moves
        for state in explorer.states:
            if state.run.state in RUN_ENDS:
                found.ends[state.run.state] = found.ends.get(state.run.state, 0) + 1
        if found.broken:
            break
    found.seconds = time.perf_counter() - began
    return found

