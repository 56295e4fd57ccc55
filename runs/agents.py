"""The Python API: an agent from its file, a turn, and the answers to what it waits for.

    desk = Agent.from_file("agent.yaml")
    reply = desk.chat("charge order 4411 40.00", user="u-17")
    while reply.waiting:
        reply = desk.confirm("u-17", "approve")
    print(reply.text)

It runs through the same engine and database as everything else. This process carries the run out: a worker
elsewhere may not know the agent of this file.
"""

from pathlib import Path
from typing import Any, Self

from runs import services
from runs.access import Actor
from runs.agentfile import agent, register
from runs.errors import NotFound
from runs.following import Reply, Waiting, follow, reply_of
from runs.models import Step, Thread

__all__ = ["Agent", "Reply", "Waiting", "reply_of"]


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
        """One turn of this user.

        Raises NotRead, TurnAmbiguous, ModelNotReady, ThreadBusy, BadInput; then nothing was done.
        """
        services.take_turn(agent(self.name), turn)  # a turn that is not read leaves nothing behind
        thread = self._thread(user) or services.start_thread(self._actor(), self.name, user)
        run = services.start(self._actor(), thread, services.RunRequest(text=turn, faults=faults))
        return follow(run.pk, alone=True)

    def confirm(self, user: str, answer: str, *, by: str = "", data: dict[str, Any] | None = None) -> Reply:
        """Answer what this user's conversation waits for. Raises NotFound where it waits for nothing."""
        thread = self._thread(user)
        # The newest run first: what is still asked of one that has ended can wait.
        step = Step.objects.asking().filter(thread=thread).order_by("-run_id", "number").first()
        if thread is None or step is None:
            raise NotFound(f"The conversation of {user} waits for nothing.")
        person = Actor(by or user, frozenset({"support", "lead", "operator"}))
        services.resolve(person, step.pk, answer, step.digest, data)
        return follow(step.run_id, alone=True)

    def _actor(self) -> Actor:
        return Actor(self.name, frozenset(), "agent", agent=self.name)

    def _thread(self, user: str) -> Thread | None:
        return Thread.objects.filter(agent=self.name, user=user).order_by("-created_at").first()
