"""What the core sees of a run: a frozen snapshot of its rows. Standard library only."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from runs.states import STEP_ENDS, RunState, StepState


@dataclass(frozen=True, slots=True)
class StepView:
    """One step as the core sees it.

    `check` is '' (not checked since it last moved), 'allowed', 'ask', 'refused', 'replayed' (this very action of
    its ticket was performed by another run) or 'busy' (another run is at it). `doubt` is sticky: once one
    attempt was in doubt, only a success, a lookup or a person settles it. `said` is what came of asking since
    the last sending: 'happened', 'did_not_happen' (settled), 'not_yet' (not there, but the call can still be on
    the wire), 'cannot_say', 'send_again' (a person's word), 'waiting' (its agent's function looked, and wants a
    person), or ''. `due_at` is when it is tried, or looked up, next. `window` is 'ask' where a tool says until when it
    can be undone, and has not been asked since the run was taken up.
    """

    number: int
    state: StepState
    tool: str = ""
    writes: bool = True
    irreversible: bool = False
    undo: str = ""  # the tool that undoes it; '' where there is none, or it cannot be bound
    undoes: int | None = None
    retry_safe: bool = False
    lookup: bool = False
    check: str = ""
    calls: int = 0
    budget: int = 3
    doubt: str = ""
    said: str = ""
    lookups: int = 0  # that failed since the last sending; of a question: those nobody had asked for
    look_asked_at: datetime | None = None  # somebody asks for a lookup now
    settles_at: datetime | None = None
    resend_until: datetime | None = None
    due_at: datetime | None = None
    answer: str = ""
    replayed: bool = False
    reason: str = ""  # of a failure: raised or refused
    closes_at: datetime | None = None  # from then on nothing undoes it
    window: str = ""

    @property
    def ended(self) -> bool:
        """Nothing more happens to it by itself."""
        return self.state in STEP_ENDS

    @property
    def to_undo(self) -> bool:
        """It changed the world, and something can change it back. An undo is never undone."""
        return (
            self.state is StepState.PERFORMED
            and bool(self.undo)
            and self.undoes is None
            and not self.replayed
        )

    def closed(self, now: datetime) -> bool:
        """The time in which it could be undone is over: it counts as irreversible."""
        return self.closes_at is not None and now >= self.closes_at


@dataclass(frozen=True, slots=True)
class RunView:
    """One run as the core sees it; `steps` in the order of their numbers, undos among them.

    Every forward step before index `settled` has ended: a hint that keeps a long run as cheap as a short one.
    """

    state: RunState
    now: datetime
    steps: tuple[StepView, ...] = ()
    mode: str = "atomic"  # or keep
    rollback: str = "ordered"  # or best_effort
    keys: str = "step"  # or action
    opened: bool = False  # its agent may propose more
    decides: bool = False  # its agent is a model, which the engine asks
    exhausted: bool = False  # that model was asked as often as it may be
    unread: bool = False  # nobody read its turn: a person carries it out
    cancelled: bool = False
    undo_requested: bool = False
    rewound: bool = False
    gave_up: bool = False  # it died, and its task's recovery says undo and hand over
    halted: bool = False  # a conflict, damage or a bug: nothing more is sent, and nothing is undone by itself
    settled: int = 0

    @property
    def forward(self) -> Iterator[StepView]:
        """The agent's own steps."""
        return (step for step in self.steps if step.undoes is None)

    @property
    def undos(self) -> Iterator[StepView]:
        """The steps that undo others."""
        return (step for step in self.steps if step.undoes is not None)

    @property
    def position(self) -> int:
        """The index of the first forward step that has not ended; len(steps) where there is none."""
        for index in range(self.settled, len(self.steps)):
            step = self.steps[index]
            if step.undoes is None and not step.ended:
                return index
        return len(self.steps)

    @property
    def current(self) -> StepView | None:
        """The first forward step that has not ended."""
        position = self.position
        return self.steps[position] if position < len(self.steps) else None

    @property
    def last_ended(self) -> StepView | None:
        """The forward step that ended last."""
        before = (self.steps[index] for index in range(self.position - 1, -1, -1))
        return next((step for step in before if step.undoes is None), None)

    @property
    def has_written(self) -> bool:
        """Some write of this run took effect and is not undone."""
        return any(
            step.writes and step.state is StepState.PERFORMED and not step.replayed for step in self.forward
        )

    @property
    def ever_wrote(self) -> bool:
        """Some write of this run took effect, undone since or not."""
        return self.has_written or any(step.state is StepState.UNDONE for step in self.forward)
