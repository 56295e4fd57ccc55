"""The engine's loop as the model has it. runs/engine.py conforms to this page.

The loop takes a run, asks the core what is next, does it, and asks again, until the answer is `Wait`:

    view = load(run)                                       # under the lease, at the database's time
    while not isinstance(action := next_action(view), Wait):
        apply(action)                                      # below; the view is kept current
    release(run, action)

What each action does. "Commits" is one transaction; a step's changes are those of runs/outcomes.py.

    Check(n)      asks the rulebook. The verdict goes to the step's `check`: allowed, refused, or ask. It is ask
                  where the tool wants a confirmation and the step is `proposed` (never for an undo), or where
                  the call is no longer the one that was approved. It stays in memory: a crash forgets it.
    Ask(n, kind)  commits `outcomes.asked(...)`: the step is `needs_approval` (confirm), `unknown` (outcome) or
                  `undo_stuck` (undo). The person's answer is written to the step's `answer`, and their wish that
                  it be looked up now to `look_asked_at`; the engine reads both when it is nudged.
    Settle(n, s)  commits `outcomes.settled(step, s)`.
    Decide(n)     1. commits a new step that is `deciding`, where there is none (n is None);
                  2. asks the model, outside any transaction;
                  3. commits what it said: the step becomes the call, `proposed`, and each further call a step after it;
                     nothing more: the step is `cancelled`, and the run takes no more; no answer, or none that can
                     be used: `outcomes.not_decided(...)`. A crash leaves the step as it is.
    Send(n)       1. commits `outcomes.sending(...)`, the outcome before it in the same commit; that commit reads
                     a cancel back and does not commit the intent if there is one. A step that was `proposed`
                     goes through `approved`;
                  2. calls the tool, outside any transaction, at once;
                  3. `outcomes.called(...)`, committed with the next thing that is committed.
    LookUp(n)     asks the lookup tool, then commits `outcomes.looked_up(...)`, with the time at which it was asked:
                  what it said is of then, and a call may have landed since. A person may answer meanwhile: the
                  commit reads that back, and their answer is on the step when the lookup's is recorded.
                  Of a step that is `performed` it asks until when it can be undone, and commits `closes_at`; that it
                  was asked (`window`) stays in memory until the run is released.
    Undo(n)       binds the undo. Bound: commits a new step, `undoes` n, `proposed`, with the next number and a
                  budget of 4. It cannot be bound: commits n's `undo` as ''.
    RollBack      commits the run as `rolling_back`, not rewound, and every forward step that has neither ended nor
                  is in flight as `cancelled`. Where an operator asked for it: his request is used up, and an undo
                  that was abandoned (`cancelled`) is `proposed` again, with four more calls and without
                  the doubt, which was settled when it got stuck.
    HandOver      commits the run as `handed_over` and its steps as RollBack does.
    Rewind        commits `rewound`.
    Finish(s)     commits the run as s, and an undo that is still stuck as `cancelled`; of a halted run also what was
                  proposed and never sent.
    Wait(on)      releases the run: `waiting` or `stuck` for a person, `open` for the agent, `ready` or
                  `rolling_back` for a time; with `due_at`, where it is to be claimed at a time. Claimed again it
                  is `running` or `rolling_back`. The state at rest makes no difference to the core (asserted), so
                  the model leaves it out.

Whenever an undo becomes `performed`, its write becomes `undone` in the same commit.

A crash is followed by a take-over, which commits `outcomes.interrupted(step)` for each step that is `sent` and
has no `doubt`, and `gave_up` where `gives_up` says so of a run that goes forward. A lost lease is a crash; its
worker, if it lives, may write down later what its call did, and the engine applies `outcomes.late` to the step
before anything else it commits, also after the end. A crash anywhere else than around a call changes nothing
but `gave_up`, since nothing else is held in memory only.

Where the agent has a `reconcile` function, it sees a run that goes forward before `gives_up` does, with S the step
that was interrupted: `sent`, or a read that is `approved` and was called. A crash while it runs is a crash before it.

    continue      nothing; then `gives_up`.
    waiting       S is asked about: outcome, or confirm of a read; then `gives_up`. Without an S: conflict.
    completed     commits S as `performed`; where the run then `may_be_completed`, with it the forward steps that
                  have not ended as `cancelled`, and the run as `succeeded`.
    conflict      (and whatever is no answer) commits the run as `halted`, and every forward step that has neither
                  ended nor is in flight as `cancelled`. An operator's undo takes `halted` back.

A commit that fails leaves the rows as they were, so it is a crash before the commit; that it is tried again after
a while, and ended after so many tries, is outside the core (runs/mishaps.py). A run that is ended like that is
`halted` too, and what it had in flight is `unknown`: an answer to it is read after the end.

Apart from the loop, at any moment: time passes; a call on the wire lands; a person answers a parked step, or
asks that an unknown one be looked up; the run is cancelled; its agent proposes a step, or closes the run; an
operator undoes a run that has ended. The first word of a move's name says whose it is.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple

from runs import next_action as _next_action
from runs import outcomes
from runs.actions import (
    Action,
    Ask,
    Check,
    Decide,
    Finish,
    HandOver,
    LookUp,
    Rewind,
    RollBack,
    Send,
    Settle,
    Undo,
    Wait,
)
from runs.states import IN_FLIGHT, PARKED, RUN_BACKWARD, RUN_ENDS, RunState, StepState
from runs.view import RunView, StepView
from tests.model import world
from tests.model.world import NOW, PAUSE, SETTLE, TICK, UNDO_TOOLS, Key, Tool

ABSENT = frozenset(StepState) - IN_FLIGHT - {StepState.PERFORMED, StepState.UNDONE}
ONCE_BACKWARD = frozenset({RunState.ROLLED_BACK, RunState.ABANDONED, RunState.FAILED})
BUDGET, UNDO_BUDGET = 3, 4
UNREACHED = "?"
_RUN_FIELDS = [field.name for field in fields(RunView)]
_RUN_VALUES, _STEPS = attrgetter(*_RUN_FIELDS), _RUN_FIELDS.index("steps")


@dataclass(frozen=True)
class Core:
    """The functions under test: the real ones, or the same with one rule taken out."""

    next_action: Callable[[RunView], Action] = _next_action.next_action
    gives_up: Callable[..., bool] = _next_action.gives_up
    may_be_completed: Callable[[RunView], bool] = _next_action.may_be_completed
    asked: Callable[..., dict[str, Any]] = outcomes.asked
    not_decided: Callable[..., dict[str, Any]] = outcomes.not_decided
    sending: Callable[..., dict[str, Any]] = outcomes.sending
    called: Callable[..., dict[str, Any]] = outcomes.called
    looked_up: Callable[..., dict[str, Any]] = outcomes.looked_up
    interrupted: Callable[..., dict[str, Any]] = outcomes.interrupted
    settled: Callable[..., dict[str, Any]] = outcomes.settled
    late: Callable[..., dict[str, Any]] = outcomes.late


@dataclass(frozen=True)
class Plan:
    """What a run is to do, and what may happen to it: each step by any of its tools, under any of the policies.

    A choice is made when it first matters, so that plans share what they have in common until then: the tool of
    a step when the run has come to it, `mode` when the core acts differently for it, `rollback` when the run
    rolls back, the tool that undoes when the undo is bound. `explorer` asserts that the core did not look before.
    """

    tools: tuple[tuple[Tool, ...], ...]
    modes: tuple[str, ...] = ("atomic", "keep")
    rollbacks: tuple[str, ...] = ("ordered", "best_effort")
    keys: str = "step"  # or action: another run of the ticket may have done it, or be at it
    opened: bool = False  # its agent proposes the steps one by one
    decides: bool = False  # the same, and the engine asks it
    recoveries: tuple[str, ...] = ("resume", "compensate")
    reconciles: tuple[str, ...] = ()  # what its agent's reconcile function may answer
    lookup_time: str = "asked"  # or recorded: the time that counts for what a lookup said
    late: bool = False  # a worker that lost the run may still write down what its call did
    faults: int = -1  # how many may happen; -1: any number
    best_effort_faults: int = -1  # how many may happen from a best-effort rollback on
    truthful: bool = True
    looks_asked: bool = False  # a person may have it looked up at any moment, not only when that is due
    tries: int = UNDO_BUDGET  # calls of an undo, in all
    undos: tuple[Tool, ...] = tuple(world.undo_tools())

    def __str__(self) -> str:
        return ", ".join(f"any of {len(one)}" if len(one) > 1 else one[0].name for one in self.tools)


class State(NamedTuple):
    """All there is at one moment: the rows, the world, and what is left of the faults."""

    run: RunView
    keys: tuple[Key, ...]
    faults: int = -1
    mode_open: bool = False  # `runs: atomic` or keep: it has not mattered yet

    def spend(self, faults: int) -> "State":
        """The same, with fewer faults left; any number stays any number."""
        return self._replace(faults=self.faults - faults) if faults and self.faults > 0 else self


class Move(NamedTuple):
    """One thing that happens. `changes` are the states that steps went through, by number."""

    name: str
    after: State
    changes: tuple[tuple[int, StepState, StepState], ...] = ()
    sent: int = 0


def start(plan: Plan) -> State:
    """The run as it was created: with all its steps, or open and with none."""
    steps = (
        ()
        if plan.opened or plan.decides
        else tuple(_unreached(index + 1) for index in range(len(plan.tools)))
    )
    run = RunView(
        state=RunState.RUNNING,
        now=NOW,
        steps=steps,
        mode=plan.modes[0],
        rollback=plan.rollbacks[0],
        keys=plan.keys,
        opened=plan.opened or plan.decides,
        decides=plan.decides,
    )
    return State(run, tuple(Key() for _ in steps), plan.faults, mode_open=len(plan.modes) > 1)


def _unreached(number: int) -> StepView:
    """A step that the run has not come to: which tool it calls has not mattered yet."""
    return StepView(number, StepState.PROPOSED, UNREACHED)


def proposed(number: int, tool: Tool) -> StepView:
    """A forward step as it is proposed."""
    return StepView(
        number,
        StepState.PROPOSED,
        tool.name,
        writes=tool.writes,
        irreversible=tool.irreversible,
        undo="undo" if tool.undo else "",
        retry_safe=tool.retry_safe,
        lookup=tool.lookup,
        budget=BUDGET,
        window="ask" if tool.asked else "",
    )


def tool_of(plan: Plan, step: StepView) -> Tool:
    """The tool that a step calls."""
    if step.undoes:
        return UNDO_TOOLS[step.tool]
    return next(tool for tool in plan.tools[step.number - 1] if tool.name == step.tool)


def choices(plan: Plan, state: State) -> list[Move]:
    """The run has come to a step: which tool it calls."""
    step = state.run.current
    if not step or step.tool != UNREACHED:
        return []
    index = step.number - 1
    return [
        Move(f"(step {step.number} is {tool.name})", _with_step(state, index, proposed(step.number, tool)))
        for tool in plan.tools[index]
    ]


def _with_step(state: State, index: int, step: StepView) -> State:
    steps = state.run.steps
    return state._replace(run=with_steps(state.run, (*steps[:index], step, *steps[index + 1 :])))


def modes(plan: Plan, state: State) -> list[State]:
    """The policies that the run may be under."""
    if not state.mode_open:
        return [state]
    return [state._replace(run=replace(state.run, mode=mode), mode_open=False) for mode in plan.modes]


def undone_apart(core: Core, plan: Plan, state: State) -> list[tuple[State, Action]]:
    """A run that stops with a call in doubt, where its rollback is best effort and that makes a difference now."""
    step = state.run.current
    stops = step and step.state in IN_FLIGHT and (state.run.cancelled or state.run.gave_up)
    if len(plan.rollbacks) == 1 or not stops:
        return []
    under = [
        one._replace(run=replace(one.run, rollback="best_effort"))
        for one in modes(plan, state)
        if one.run.rollback == "ordered"
    ]
    pairs = [(one, core.next_action(one.run)) for one in under]
    return [(one, do) for one, do in pairs if do != core.next_action(replace(one.run, rollback="ordered"))]


def rollbacks(plan: Plan, before: State, move: Move) -> list[Move]:
    """The run begins to roll back: in which way."""
    run, was = move.after.run, before.run.state
    if run.state is not RunState.ROLLING_BACK or was in RUN_BACKWARD or was in ONCE_BACKWARD:
        return [move]
    best_effort = [rollback for rollback in plan.rollbacks if rollback == "best_effort"]
    in_flight = before.run.current is not None and before.run.current.state in IN_FLIGHT
    return [
        move._replace(
            name=move.name if len(plan.rollbacks) == 1 else f"{move.name}, {rollback}",
            after=move.after._replace(
                run=replace(run, rollback=rollback),
                faults=plan.best_effort_faults
                if rollback == "best_effort" and plan.faults < 0
                else move.after.faults,
            ),
        )
        for rollback in (best_effort if in_flight else plan.rollbacks)
    ]


def forgotten(state: State) -> State:
    """The run is released, or its worker is gone: what was held in memory is forgotten."""
    if not any(step.window == "seen" for step in state.run.steps):
        return state
    steps = (become(step, (("window", "ask" if step.window else ""),)) for step in state.run.steps)
    return state._replace(run=with_steps(state.run, tuple(steps)))


# The engine ---------------------------------------------------------------------------------------------------


def engine_moves(core: Core, plan: Plan, state: State, action: Action) -> Iterator[Move]:
    """Everything that can come of doing this action."""
    run = state.run
    match action:
        case Check(number):
            yield from _check(plan, state, run.steps[number - 1])
        case Ask(number, kind):
            changes = core.asked(run.steps[number - 1], kind, NOW, PAUSE * TICK)
            yield _step(f"engine asks {kind} of {number}", state, number, changes)
        case Decide(number):
            yield from _decide(core, plan, state, number)
        case Send(number):
            yield from _send(core, plan, state, run.steps[number - 1])
        case LookUp(number) if run.steps[number - 1].state is StepState.PERFORMED:
            yield from _ask_until_when(state, run.steps[number - 1])
        case LookUp(number):
            yield from _look_up(core, plan, state, run.steps[number - 1])
        case Settle(number, to):
            yield _settle(core, state, run.steps[number - 1], to)
        case Undo(number):
            yield from _undo(plan, state, run.steps[number - 1])
        case RollBack(kind):
            yield _end_forward(f"engine rolls back ({kind})", state, RunState.ROLLING_BACK)
        case HandOver(kind):
            yield _end_forward(f"engine hands over ({kind})", state, RunState.HANDED_OVER)
        case Rewind():
            yield Move("engine rewinds", state._replace(run=replace(run, rewound=True)))
        case Finish(end):
            yield _finish(state, end)
        case Wait():
            return


def with_steps(run: RunView, steps: tuple[StepView, ...]) -> RunView:
    """The run with these steps: `dataclasses.replace`, at a third of its price."""
    values = list(_RUN_VALUES(run))
    values[_STEPS] = steps
    return RunView(*values)


@cache
def become(step: StepView, changes: tuple[tuple[str, Any], ...]) -> StepView:
    """The step with these changes; the same object for the same ones."""
    return replace(step, **dict(changes))


def _step(name: str, state: State, number: int, changes: dict[str, Any], faults: int = 0) -> Move:
    """Commit changes of one step; with an undo that is performed, its write is undone."""
    steps = list(state.run.steps)
    before = steps[number - 1]
    after = steps[number - 1] = become(before, tuple(changes.items()))
    moved = [] if before.state is after.state else [(number, before.state, after.state)]
    if after.undoes and moved and after.state is StepState.PERFORMED:
        write = steps[after.undoes - 1]
        steps[after.undoes - 1] = replace(write, state=StepState.UNDONE)
        moved.append((write.number, write.state, StepState.UNDONE))
    run = with_steps(state.run, tuple(steps))
    return Move(name, state._replace(run=run).spend(faults), tuple(moved))


def _then(first: Move, second: Move) -> Move:
    return Move(second.name, second.after, first.changes + second.changes, first.sent or second.sent)


def _key(state: State, number: int, key: Key) -> State:
    return state._replace(keys=(*state.keys[: number - 1], key, *state.keys[number:]))


def _check(plan: Plan, state: State, step: StepView) -> Iterator[Move]:
    tool, number = tool_of(plan, step), step.number
    confirm = tool.confirm and not step.undoes
    key = state.keys[number - 1]
    verdict = "ask" if confirm and not key.approved else "allowed"
    yield _checked(state, number, verdict)
    if state.faults:
        yield _checked(state, number, "refused", faults=1)
        if confirm and key.approved:
            changed = _key(state, number, key._replace(approved=False))
            yield _checked(changed, number, "ask", "the call is not the one that was approved", faults=1)
    if plan.keys == "action" and tool.writes and not step.undoes and not step.calls:
        yield _checked(state, number, "replayed", "another run did it", replayed=True)
        yield _checked(state, number, "busy", "another run is at it")


def _checked(state: State, number: int, verdict: str, why: str = "", faults: int = 0, **more: Any) -> Move:
    name = f"engine checks {number}: {verdict}{f' ({why})' if why else ''}"
    return _step(name, state, number, {"check": verdict} | more, faults)


def _decide(core: Core, plan: Plan, state: State, number: int | None) -> Iterator[Move]:
    """The model answers in one way or another; any time may be the last that it may be asked."""
    run = state.run
    if number is None:
        number = len(run.steps) + 1
        step = StepView(number, StepState.DECIDING, writes=False, budget=BUDGET)
        state = state._replace(run=with_steps(run, (*run.steps, step)), keys=(*state.keys, Key()))
    for last in (False, True) if state.faults and not run.exhausted else (False,):
        asked = state._replace(run=replace(state.run, exhausted=run.exhausted or last)).spend(int(last))
        yield from _decided(core, plan, asked, number, " for the last time" if last else "")


def _decided(core: Core, plan: Plan, state: State, number: int, last: str) -> Iterator[Move]:
    name, run = f"engine asks the model{last}", state.run
    step, before = run.steps[number - 1], run.steps[: number - 1]
    for calls in range(1, min(2, len(plan.tools) - len(before)) + 1):
        steps = (*before, *(_unreached(number + index) for index in range(calls)))
        keys = (*state.keys, *(Key() for _ in range(calls - 1)))
        moved = ((number, StepState.DECIDING, StepState.PROPOSED),)
        yield Move(f"{name}: {calls} calls", state._replace(run=with_steps(run, steps), keys=keys), moved)
    done = _step(f"{name}: nothing more", state, number, {"state": StepState.CANCELLED})
    closed = replace(done.after.run, opened=False, decides=False)
    yield done._replace(after=done.after._replace(run=closed))
    if state.faults:
        for why, pause in (("no answer", PAUSE * TICK), ("no call", timedelta(0)), ("never again", None)):
            yield _step(f"{name}: {why}", state, number, core.not_decided(step, NOW, pause), faults=1)
        yield from taken_over(core, plan, Move(f"{name}: crash", state.spend(1)))


def _send(core: Core, plan: Plan, state: State, step: StepView) -> Iterator[Move]:
    """The intent is committed; then the call, in every way it can go; then what the engine makes of it."""
    tool, number = tool_of(plan, step), step.number
    retention = tool.retention * TICK if tool.retention else None
    name = f"engine sends {number}"
    sending = core.sending(step, NOW, SETTLE * TICK, retention)
    if tool.window:
        sending["closes_at"] = step.closes_at or NOW + tool.window * TICK
    intent = _step(name, state, number, sending)._replace(sent=number)
    for way in world.ways_of_a_call(tool, step.undoes is not None, state.keys[number - 1]):
        if (way.faults and not state.faults) or (way.key.theirs and not plan.late):
            continue
        there, name = _key(intent.after, number, way.key), f"engine sends {number}: {way.name}"
        if way.verdict:
            for meanwhile in _meanwhile(core, Move(name, there), number):
                learnt = meanwhile.after.run.steps[number - 1]
                changes = core.called(learnt, way.verdict, NOW, PAUSE * TICK)
                changes["reason"] = way.verdict if way.verdict in ("refused", "raised") else ""
                ended = _step(meanwhile.name, meanwhile.after, number, changes, way.faults)
                yield _then(intent, _then(meanwhile, ended))
        else:
            after = _then(intent, _step(name, there, number, {}, way.faults))
            yield from (_then(after, over) for over in taken_over(core, plan, after))


def taken_over(core: Core, plan: Plan, crash: Move) -> Iterator[Move]:
    """Another worker finds the run, and its task says how it is to be recovered."""
    move = crash._replace(after=forgotten(crash.after))
    for step in move.after.run.steps:
        if step.state is StepState.SENT and not step.doubt:
            move = _then(move, _step(crash.name, move.after, step.number, core.interrupted(step)))
    if move.after.run.state in RUN_BACKWARD or move.after.run.halted:
        yield move
        return
    for seen in _seen_by_its_agent(core, plan, move):
        if seen.after.run.state is RunState.RUNNING and not seen.after.run.halted:
            yield from _recovered(core, plan, seen)
        else:
            yield seen


def _recovered(core: Core, plan: Plan, move: Move) -> Iterator[Move]:
    run = move.after.run
    for recovery in plan.recoveries:
        if core.gives_up(run, recovery, overdue=False):
            gave_up = move.after._replace(run=replace(run, gave_up=True))
            yield Move(f"{move.name} (recovery: {recovery})", gave_up, move.changes)
        else:
            yield move


def _seen_by_its_agent(core: Core, plan: Plan, crash: Move) -> Iterator[Move]:
    """What the agent's reconcile function says, where it has one; it says `completed` of what took effect."""
    if not plan.reconciles:
        yield crash
    step = crash.after.run.current
    under_way = step and (step.state is StepState.SENT or (step.state is StepState.APPROVED and step.calls))
    for answer in plan.reconciles:
        number = step.number if step and under_way else 0
        yield from _reconciled(
            core, plan, crash._replace(name=f"{crash.name}, reconcile: {answer}"), answer, number
        )


def _reconciled(core: Core, plan: Plan, move: Move, answer: str, number: int) -> Iterator[Move]:
    state = move.after
    if answer == "continue":
        yield move
    elif answer == "conflict" or (answer == "waiting" and not number):
        yield _then(move, _halted(move.name, state, RunState.RUNNING))
    elif answer == "waiting":
        kind = "outcome" if state.run.steps[number - 1].state is StepState.SENT else "confirm"
        key = state.keys[number - 1]._replace(approved=False)
        asked = core.asked(state.run.steps[number - 1], kind, NOW, PAUSE * TICK, by_agent=True)
        yield _then(move, _step(move.name, _key(state, number, key), number, asked))
    elif not number or state.keys[number - 1].landed or not state.run.steps[number - 1].writes:
        yield _then(move, _completed(core, move.name, state, number))


def _completed(core: Core, name: str, state: State, number: int) -> Move:
    done = Move(name, state)
    if number:
        done = _step(name, state, number, {"state": StepState.PERFORMED, "answer": ""})
    if not core.may_be_completed(done.after.run):
        return done
    return _then(done, _end_forward(name, done.after, RunState.SUCCEEDED))


def _halted(name: str, state: State, to: RunState) -> Move:
    move = _end_forward(name, state, to)
    return move._replace(after=move.after._replace(run=replace(move.after.run, halted=True)))


def _look_up(core: Core, plan: Plan, state: State, step: StepView) -> Iterator[Move]:
    """The answer is of the world as it is when it is asked; time may pass, and a call land, before it is recorded."""
    number = step.number
    for answer, faults in world.what_a_lookup_says(state.keys[number - 1]):
        again = step.state is StepState.UNKNOWN and step.said == "cannot_say" and answer == "failed"
        if (
            faults and not state.faults
        ) or again:  # of a question, a lookup that fails is one that cannot say
            continue
        name = f"engine looks {number} up: {answer}"
        at_once = Move(name, state)
        ways = [(NOW, at_once), *_slowly(plan, state, number, name)]
        ways += [] if faults else [(NOW, answered) for answered in _answered_meanwhile(plan, at_once, number)]
        for asked, later in ways:
            when = asked if plan.lookup_time == "asked" else NOW
            for meanwhile in _meanwhile(core, later, number):
                learnt = meanwhile.after.run.steps[number - 1]
                changes = core.looked_up(learnt, answer, when, PAUSE * TICK)
                yield _then(meanwhile, _step(meanwhile.name, meanwhile.after, number, changes, faults))


def _ask_until_when(state: State, step: StepView) -> Iterator[Move]:
    """The tool of its window is asked: it says what is so, or fails."""
    number, shut = step.number, state.keys[step.number - 1].shut
    changes = {"window": "seen", "closes_at": NOW if shut else None}
    yield _step(f"engine asks until when {number}: {'closed' if shut else 'open'}", state, number, changes)
    if state.faults:
        yield _step(f"engine asks until when {number}: failed", state, number, {"window": "seen"}, faults=1)


def _slowly(plan: Plan, state: State, number: int, name: str) -> Iterator[tuple[datetime, Move]]:
    """The same, where a tick passes before the answer is recorded, and a call on the wire may land before that.

    With none on the wire it may as well pass afterwards.
    """
    key, tool = state.keys[number - 1], tool_of(plan, state.run.steps[number - 1])
    if not key.wire:
        return
    for landed in (key, *world.landings(key, tool)):
        lands = ", the call lands" if landed is not key else ""
        yield NOW - TICK, Move(f"{name}{lands}, time passes", _tick_all(_key(state, number, landed)))


def _answered_meanwhile(plan: Plan, move: Move, number: int) -> Iterator[Move]:
    """A person answers a question while it is looked up.

    It stands whatever the lookup says, but for "it happened": so a lookup that says nothing adds nothing, and time
    may as well pass afterwards.
    """
    step, key = move.after.run.steps[number - 1], move.after.keys[number - 1]
    if step.state is StepState.UNKNOWN and not step.answer:
        for answer, told in _answers(plan, step, key):
            name = f"{move.name} (meanwhile a person says {answer} of {number})"
            yield _step(name, _key(move.after, number, told), number, {"answer": answer})


def _meanwhile(core: Core, move: Move, number: int) -> Iterator[Move]:
    """While the engine waits for an answer: nothing else, or a late outcome of the same step is read first."""
    yield move
    key, step = move.after.keys[number - 1], move.after.run.steps[number - 1]
    for verdict in key.reports:
        read = _key(move.after, number, key._replace(reports=()))
        name = f"{move.name} (after a late outcome: {verdict})"
        yield _then(move, _step(name, read, number, core.late(step, verdict)))


def _settle(core: Core, state: State, step: StepView, to: StepState) -> Move:
    key = state.keys[step.number - 1]
    if step.answer == "approve":
        key = key._replace(approved=True)
    if step.answer == "send_again":
        key = key._replace(again=True)
    if step.replayed and to is StepState.PERFORMED:
        key = key._replace(landed=1)
    answer = f" ({step.answer})" if step.answer else ""
    changes = core.settled(step, to)
    return _step(
        f"engine settles {step.number} as {to}{answer}", _key(state, step.number, key), step.number, changes
    )


def _undo(plan: Plan, state: State, write: StepView) -> Iterator[Move]:
    run = state.run
    for tool in plan.undos:
        step = StepView(
            len(run.steps) + 1,
            StepState.PROPOSED,
            tool.name,
            undo="redo",  # the tool that undoes may itself be a write with an undo
            undoes=write.number,
            retry_safe=tool.retry_safe,
            lookup=tool.lookup,
            budget=plan.tries,
        )
        after = state._replace(run=with_steps(run, (*run.steps, step)), keys=(*state.keys, Key()))
        yield Move(f"engine undoes {write.number} by {tool.name} as {step.number}", after)
    if state.faults:
        yield _step(f"engine cannot bind the undo of {write.number}", state, write.number, {"undo": ""}, 1)


def _end_forward(name: str, state: State, to: RunState) -> Move:
    """RollBack and HandOver: what was not sent never will be; an undo that was abandoned is tried anew."""
    run = state.run
    steps = [_stopped(step) for step in run.steps]
    moved = _moved(run.steps, steps)
    run = replace(run, state=to, steps=tuple(steps), undo_requested=False, rewound=False, halted=False)
    return Move(name, state._replace(run=run), moved)


def _stopped(step: StepView) -> StepView:
    if step.undoes is None and not step.ended and step.state not in IN_FLIGHT:
        return become(step, (("state", StepState.CANCELLED), ("answer", "")))
    if step.undoes and step.state is StepState.CANCELLED:
        fresh = {"state": StepState.PROPOSED, "budget": step.calls + UNDO_BUDGET, "due_at": None, "doubt": ""}
        return become(step, tuple(fresh.items()))
    return step


def _finish(state: State, end: RunState) -> Move:
    run = state.run
    steps = [
        become(step, (("state", StepState.CANCELLED), ("answer", "")))
        if step.state is StepState.UNDO_STUCK
        else _stopped(step)
        if run.halted
        else step
        for step in run.steps
    ]
    run = replace(run, state=end, steps=tuple(steps), undo_requested=False)
    return Move(f"engine finishes {end}", state._replace(run=run), _moved(state.run.steps, steps))


def _moved(
    before: Iterable[StepView], after: Iterable[StepView]
) -> tuple[tuple[int, StepState, StepState], ...]:
    pairs = zip(before, after, strict=True)
    return tuple((old.number, old.state, new.state) for old, new in pairs if old.state is not new.state)


# Everything else ----------------------------------------------------------------------------------------------


def other_moves(core: Core, plan: Plan, state: State, action: Action) -> Iterator[Move]:
    """What may happen at any moment, whoever holds the run; nobody does while it waits."""
    yield from _the_world(plan, state)
    yield from _late_outcomes(core, plan, state)
    yield from _people(plan, state)
    yield from _the_agent(plan, state)
    run = state.run
    if run.state is RunState.RUNNING and not run.cancelled and state.faults:
        cancelled = state._replace(run=replace(run, cancelled=True)).spend(1)
        yield Move("person cancels the run", cancelled)
    if run.state is RunState.RUNNING and state.faults and not isinstance(action, Wait):
        yield from taken_over(core, plan, Move("crash", state.spend(1)))
    if run.state in RUN_ENDS and not run.undo_requested:
        asked = state._replace(run=replace(run, undo_requested=True))
        yield Move("person asks to undo the run", asked)


def _the_world(plan: Plan, state: State) -> Iterator[Move]:
    for step, key in zip(state.run.steps, state.keys, strict=True):
        if key.wire:
            for landed in world.landings(key, tool_of(plan, step)):
                yield Move(f"world: the call of {step.number} lands", _key(state, step.number, landed))
        if step.window and step.to_undo and not key.shut:
            yield Move(
                f"world: nothing undoes {step.number} any more",
                _key(state, step.number, key._replace(shut=True)),
            )
    if _something_lies_ahead(state):
        yield Move("world: time passes", _tick_all(state))


def _late_outcomes(core: Core, plan: Plan, state: State) -> Iterator[Move]:
    """What a worker that has lost the run hears, and what it writes down; the engine reads that at once."""
    for step, key in zip(state.run.steps, state.keys, strict=True):
        if key.theirs:
            for verdict, heard in world.late_answers(key, tool_of(plan, step), step.undoes is not None):
                name = f"world: the call of {step.number} ends, {verdict}, and its worker has lost the run"
                yield Move(name, _key(state, step.number, heard))
        for verdict in key.reports:
            read = _key(state, step.number, key._replace(reports=()))
            name = f"late outcome of {step.number}: {verdict}"
            yield _step(name, read, step.number, core.late(step, verdict))


def _something_lies_ahead(state: State) -> bool:
    times = ((step.due_at, step.settles_at, step.resend_until, step.closes_at) for step in state.run.steps)
    if any(step.check == "busy" for step in state.run.steps):
        return True
    return any(at and at > NOW for four in times for at in four) or any(
        key.wire or key.theirs or key.memory > 0 for key in state.keys
    )


def _nearer(at: datetime | None) -> datetime | None:
    return at - TICK if at else None


def _tick_all(state: State) -> State:
    steps = tuple(_tick(step) for step in state.run.steps)
    keys = tuple(world.tick(key) for key in state.keys)
    return state._replace(run=with_steps(state.run, steps), keys=keys)


@cache
def _tick(step: StepView) -> StepView:
    if step.check == "busy":
        return replace(step, check="")  # released, and checked again when it is claimed again
    times = (step.due_at, step.settles_at, step.resend_until, step.closes_at, step.look_asked_at)
    if not any(times):
        return step
    return replace(
        step,
        due_at=_nearer(step.due_at),
        look_asked_at=_nearer(step.look_asked_at),
        settles_at=_nearer(step.settles_at),
        resend_until=_nearer(step.resend_until),
        closes_at=_nearer(step.closes_at),
    )


def _people(plan: Plan, state: State) -> Iterator[Move]:
    for step, key in zip(state.run.steps, state.keys, strict=True):
        if step.state in PARKED and not step.answer and state.run.state not in RUN_ENDS:
            for answer, said in _answers(plan, step, key):
                move = _step(f"person says {answer} of {step.number}", state, step.number, {"answer": answer})
                yield move._replace(after=_key(move.after, step.number, said))
            if (
                plan.looks_asked
                and step.state is StepState.UNKNOWN
                and step.lookup
                and not step.look_asked_at
            ):
                yield _step(f"person has {step.number} looked up", state, step.number, {"look_asked_at": NOW})


def _answers(plan: Plan, step: StepView, key: Key) -> Iterator[tuple[str, Key]]:
    """What a person may say; before the call has settled the API takes only 'happened'."""
    if step.state is StepState.NEEDS_APPROVAL:
        yield from ((answer, key) for answer in ("approve", "skip", "cancel_all"))
    elif step.state is StepState.UNKNOWN:
        truth = "happened" if key.landed else "did_not_happen"
        settled = step.settles_at is None or step.settles_at <= NOW
        for answer in ("happened", "did_not_happen"):
            if (settled or answer == "happened") and (answer == truth or not plan.truthful):
                yield answer, key._replace(lied=key.lied or answer != truth)
        if settled:
            yield "send_again", key
    else:
        yield "retry", key
        yield "done_by_hand", key._replace(landed=key.landed or 1)
        yield "abandon", key


def _the_agent(plan: Plan, state: State) -> Iterator[Move]:
    """It proposes when it has seen the outcome of its last call, or says that it is done."""
    run = state.run
    if not run.opened or run.decides or run.cancelled or run.state is not RunState.RUNNING or run.current:
        return
    if len(run.steps) < len(plan.tools):
        steps = (*run.steps, _unreached(len(run.steps) + 1))
        after = state._replace(run=with_steps(run, steps), keys=(*state.keys, Key()))
        yield Move(f"agent proposes {len(steps)}", after)
    yield Move("agent closes the run", state._replace(run=replace(run, opened=False)))
