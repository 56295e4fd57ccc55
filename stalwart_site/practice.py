"""The practice queue: runs in every state, made by really running the examples with faults, never by writing rows.

Read from examples/practice.yaml. Whatever workers are alive carry the runs out; this only starts them, and says what
people say to their questions.
"""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import yaml
from django.conf import settings
from pydantic import BaseModel, ConfigDict

from approvals import handovers
from approvals.services import Reply, answer
from examples.resolver.tickets import ticket
from runs import services
from runs.access import Actor
from runs.errors import NotFound, NotSettledYet
from runs.models import Run
from runs.services import Proposal, RunRequest
from runs.states import RUN_ENDS, RunState
from stalwart_site.terminal import find_person

SHOP = Actor("the shop", frozenset(), "agent")
RESTS = RUN_ENDS | {RunState.WAITING, RunState.STUCK}  # nothing moves until a person says something
PATIENCE = 180.0  # seconds for the whole queue


class Entry(BaseModel):
    """One run of the file; its fields are explained there."""

    model_config = ConfigDict(extra="forbid")

    agent: str = ""
    user: str = ""
    ticket: str = ""
    turn: str = ""
    task: str = ""
    escalates: bool = False
    faults: dict[str, str] = {}
    answers: list[str] = []
    then: list[str] = []


@dataclass
class Playing:
    """A run that was started, and what is still to be said about it."""

    run: Run
    answers: list[str]
    then: list[str]
    escalates: bool = False

    def go_on(self) -> bool:
        """Say what comes next, if it is time; True once there is nothing left to say and nothing moves."""
        self.run.refresh_from_db()
        if self.run.state not in RESTS:
            return False
        step = self.run.steps.asking().order_by("number").first()
        if self.escalates and step and not step.escalated_at:
            return False
        if self.answers and step:
            self._answer(step.pk, step.digest)
            return False
        if step is None and self.run.state not in RUN_ENDS:
            return False  # its answer has not been read yet
        if self.then:
            _do(self.run, self.then.pop(0))
            return False
        return True

    def _answer(self, step: int, digest: str) -> None:
        login, said, *more = self.answers[0].split(" ", 2)
        words = "".join(more)
        reply = Reply(said, digest, secrets.token_hex(16), reason=words)
        if said == "done_by_hand":
            reply = replace(reply, reason="", reference=words)
        try:
            answer(find_person(login), step, reply)
        except NotSettledYet:
            return  # the call may still arrive: said again later, as a person would
        self.answers.pop(0)


def entries() -> list[Entry]:
    """What the file says."""
    path = settings.BASE_DIR / "examples" / "practice.yaml"
    return [Entry.model_validate(entry) for entry in yaml.safe_load(path.read_text())]


def fill(say: Callable[[str], object]) -> int:
    """Start every run of the file and carry its story to where it rests. Returns how many rest.

    `say` is given a line now and then. What takes longer than three minutes is left to itself.
    """
    playing = [_start(entry) for entry in entries()]
    count, said, deadline = len(playing), 0, time.monotonic() + PATIENCE
    while playing and time.monotonic() < deadline:
        playing = [one for one in playing if not one.go_on()]
        done = count - len(playing)
        if playing and done >= said + 10:
            said = done
            say(f"The practice queue: {done} of {count} runs")
        time.sleep(0.2)
    return count - len(playing)


def _start(entry: Entry) -> Playing:
    if entry.ticket:
        run = propose_ticket(entry.ticket, entry.faults)
    else:
        request = RunRequest(text=entry.turn, task=entry.task, faults=entry.faults)
        run = services.start(SHOP, services.start_thread(SHOP, entry.agent, entry.user), request)
    return Playing(run, list(entry.answers), list(entry.then), entry.escalates)


def propose_ticket(name: str, faults: dict[str, str]) -> Run:
    """Start a run of what is proposed for a practice ticket, in a new conversation. Raises NotFound, BadInput …"""
    try:
        found = ticket(name)
    except KeyError as error:
        raise NotFound(str(error.args[0])) from None
    request = RunRequest(
        steps=[Proposal(action.tool, action.args) for action in found.proposal],
        task=found.task,
        ticket=name,
        faults=dict(found.faults) | faults,
    )
    return services.start(SHOP, services.start_thread(SHOP, found.agent, found.customer), request)


def _do(run: Run, what: str) -> None:
    login, verb = what.split(" ", 1)
    verbs: dict[str, Callable[[Actor, Run], Any]] = {
        "cancel": services.cancel,
        "undo": services.undo,
        "claim": handovers.claim,
    }
    verbs[verb](find_person(login), run)
