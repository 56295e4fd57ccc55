"""The Python API: an agent from its file, a turn, and the answers to what it waits for.

    desk = Agent.from_file("agent.yaml")
    reply = desk.chat("charge order 4411 40.00", user="u-17")
    while reply.waiting:
        reply = desk.confirm("u-17", "approve")
    print(reply.text)

It runs through the same engine and database as everything else. The calling process carries the run out
where no worker took it first.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from runs import services
from runs.access import Actor
from runs.agentfile import register
from runs.engine import advance
from runs.errors import NotFound
from runs.models import Run, Step, Thread
from runs.states import PARKED, RUN_ENDS, RunState

POLL_SECONDS = 0.05


@dataclass(frozen=True)
class Waiting:
    """A question: its kind (confirm, outcome, undo), the step's id and number, the digest that binds the answer."""

    kind: str
    step: int
    digest: str
    id: int
    tool: str
    text: str


@dataclass(frozen=True)
class Reply:
    """`text` is the run's one reply, '' while it waits; `waiting` are the questions that it waits for."""

    text: str
    waiting: tuple[Waiting, ...]
    run: str
    state: str


class Agent:
    """One agent of an agent file."""

    def __init__(self, name: str) -> None:
        self.name = name

    @classmethod
    def from_file(cls, path: str | Path, name: str = "") -> Self:
        """The agent of a file; `name` where the file has several. Raises ConfigurationError."""
        specs = {spec.name: spec for spec in register(path)}
        if not name and len(specs) > 1:
            raise NotFound(f"{path} has several agents: {', '.join(sorted(specs))}; say which.")
        if name and name not in specs:
            raise NotFound(f"{path} has no agent called {name!r}; it has: {', '.join(sorted(specs))}.")
        return cls(name or next(iter(specs)))

    def chat(self, turn: str, user: str, *, faults: dict[str, str] | None = None) -> Reply:
        """One turn of this user. Raises NotRead, ThreadBusy, BadInput; then nothing was done."""
        thread = self._thread(user) or services.start_thread(self._actor(), self.name, user)
        run = services.start(self._actor(), thread, services.RunRequest(text=turn, faults=faults))
        return self._carry_out(run)

    def confirm(self, user: str, answer: str, *, by: str = "", data: dict[str, Any] | None = None) -> Reply:
        """Answer what this user's conversation waits for. Raises NotFound where it waits for nothing."""
        thread = self._thread(user)
        step = Step.objects.filter(thread=thread, state__in=PARKED, answer="").order_by("number").first()
        if thread is None or step is None:
            raise NotFound(f"The conversation of {user} waits for nothing.")
        person = Actor(by or user, frozenset({"support", "lead", "operator"}))
        services.resolve(person, step.pk, answer, step.digest, data)
        return self._carry_out(step.run)

    def _actor(self) -> Actor:
        return Actor(self.name, frozenset(), "agent", agent=self.name)

    def _thread(self, user: str) -> Thread | None:
        return Thread.objects.filter(agent=self.name, user=user).order_by("-created_at").first()

    def _carry_out(self, run: Run) -> Reply:
        while True:
            advance(run.pk)
            reply = reply_of(run.pk)
            if reply.waiting or RunState(reply.state) in RUN_ENDS:
                return reply
            time.sleep(POLL_SECONDS)


def reply_of(run_id: int) -> Reply:
    """Where a run stands: its reply where it has ended, and its open questions."""
    run = Run.objects.get(pk=run_id)
    parked = run.steps.filter(state__in=PARKED, answer="").order_by("number")
    waiting = tuple(
        Waiting(step.asks, step.number, step.digest, step.pk, step.tool, step.question) for step in parked
    )
    last = run.messages.filter(role="agent").last() if run.state in RUN_ENDS else None
    return Reply(last.text if last else "", waiting, run.name, run.state)
