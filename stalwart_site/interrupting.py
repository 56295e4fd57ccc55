"""Practice: a process that really dies at one point of a run's first write, so that a fresh one must go on.

    before-write    its intent is recorded, and the call has not left
    during-call     the service has done it, and the answer is under way
    after-write     the answer is there, and is not recorded

`interrupt` starts a process that answers what the run asks and carries it out. It dies of SIGKILL: before and after
the write by a fault point (runs/faults.py), during the call by our hand, once the service has the change on its
books. Its lease is short, so that whoever is free takes the run over soon.
"""

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

from django.conf import settings

from approvals.services import Reply, answer
from runs import services
from runs.access import Actor
from runs.agentfile import agent
from runs.engine import advance
from runs.errors import NotAllowed
from runs.models import Run
from runs.states import UNSENT, StepState
from stalwart_site.local import LocalError, Machine
from stalwart_site.processes import dying_with_parent

POINTS = {"before-write": "after-intent", "after-write": "after-call"}
WORDS = {
    "before-write": "before {tool} left",
    "during-call": "while {tool} was made, before its answer came",
    "after-write": "after {tool} was made, before that was recorded",
}
NO_ANSWER = "timeout_after_write:30"  # long enough to die in
LEASE_SECONDS = 2.0


@dataclass(frozen=True)
class Interrupted:
    """Where a process died."""

    where: str
    tool: str
    pid: int

    def __str__(self) -> str:
        return f"The process stopped: {self.pid} was killed {WORDS[self.where].format(tool=self.tool)}."


def interrupt(machine: Machine, run: Run, who: Actor, said: str, where: str) -> Interrupted:
    """Answer what the run asks now (`said`, as `who`), and carry it out in a process that dies at `where`.

    Raises NotAllowed outside practice, LocalError where there is no write, or nothing died.
    """
    if not settings.FAULTS_ALLOWED:
        raise NotAllowed("Interrupting is for practice: set STALWART_FAULTS=1 to allow it.")
    tool = _first_write(run)
    machine.services()  # its address goes to the process that dies
    if where == "during-call":
        services.add_faults(run, {tool: NO_ANSWER})
    before = _changes(machine, run)
    words = [str(run.pk), json.dumps(asdict(who) | {"roles": sorted(who.roles)}), said]
    command = [sys.executable, "-m", "stalwart_site.interrupted", *words]
    child = subprocess.Popen(
        command,
        env=_environment(where, tool),
        cwd=settings.BASE_DIR,
        preexec_fn=dying_with_parent(signal.SIGKILL),  # noqa: PLW1509 (it runs C alone)
    )
    if where == "during-call":
        _kill(child, once=lambda: _changes(machine, run) > before)
    if child.wait() >= 0:
        raise LocalError(
            f"nothing was interrupted: {tool} was not sent, or a live worker was faster;"
            f" `stalwart trace {run.name}` shows what was done"
        )
    return Interrupted(where, tool, child.pid)


def _first_write(run: Run) -> str:
    catalogue = agent(run.thread.agent).catalogue
    for step in run.steps.filter(undoes=None, state__in=UNSENT).order_by("number"):
        if step.tool in catalogue and catalogue[step.tool].writes:
            return step.tool
    raise LocalError(f"{run.name} has no write left that could be interrupted: start another run")


def _environment(where: str, tool: str) -> dict[str, str]:
    lease = min(LEASE_SECONDS, settings.LEASE_SECONDS)
    point = {"STALWART_FAULT_POINT": f"{POINTS[where]}:{tool}"} if where in POINTS else {}
    return os.environ | {"STALWART_FAULTS": "1", "STALWART_LEASE_SECONDS": str(lease)} | point


def _changes(machine: Machine, run: Run) -> int:
    return len(machine.ask_services("GET", f"/changes?run={run.name}"))


def _kill(child: subprocess.Popen[bytes], once: Callable[[], bool]) -> None:
    while child.poll() is None:
        if once():
            child.kill()
        time.sleep(0.02)


def carry_out(run_id: int, who: Actor, said: str) -> None:
    """What the process does that dies: answer, and carry out at once, before any worker has heard of it."""
    advance(run_id)  # everything is loaded now
    for step in (
        Run.objects.get(pk=run_id).steps.filter(state=StepState.NEEDS_APPROVAL, answer="").order_by("number")
    ):
        answer(who, step.pk, Reply(said, step.digest, secrets.token_hex(16)))
    advance(run_id)
