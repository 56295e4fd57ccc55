"""kill -9 of a worker while it carries a run out: the run ends by itself, with each change made once."""

import os
import signal

import httpx
import pytest

from examples.services.process import Services
from runs import services as verbs
from runs.access import Actor
from runs.models import Attempt, Run
from runs.states import PARKED
from tests.processes import Processes, until

AGENT = Actor("the shop", frozenset(), "agent")
PERSON = Actor("Ana Ferreira", frozenset({"support"}))
TURN = "charge order 4411 40.00, then update the crm for order 4411, then send the receipt for order 4411"


@pytest.mark.parametrize("when", ["during the call", "after the effect", "between two writes"])
def test_a_killed_worker_leaves_nothing_lost_and_nothing_doubled(
    processes: Processes, services: Services, when: str
) -> None:
    httpx.post(f"{services.url}/reset").raise_for_status()
    worker, _ = processes.worker(), processes.sweep()
    faults = {"during the call": {"update_crm": "slow_before"}, "after the effect": {"update_crm": "slow"}}
    run = _start(faults.get(when, {}))
    _approve(run, "charge_card")
    if when == "between two writes":
        until(lambda: _performed(run, "charge_card"), "the charge")
        _kill(_worker_of(run, "charge_card"))
        worker.kill()
        _approve(run, "update_crm")
    else:
        _approve(run, "update_crm")
        until(lambda: _sent(run, "update_crm"), "the call to leave")
        _kill(_worker_of(run, "update_crm"))
        worker.kill()
    processes.worker()
    _approve(run, "send_receipt", seconds=40)
    until(lambda: Run.objects.get(pk=run.pk).state == "succeeded", "the run to end", 40)
    changes = [change["operation"] for change in httpx.get(f"{services.url}/changes?run={run.name}").json()]
    assert changes == ["charge_card", "update_crm", "send_message"]


def _start(faults: dict[str, str]) -> Run:
    thread = verbs.start_thread(AGENT, "desk", "u-17")
    return verbs.start(AGENT, thread, verbs.RunRequest(text=TURN, faults=faults))


def _approve(run: Run, tool: str, seconds: float = 20) -> None:
    """Wait until the run asks about this tool, and approve it."""
    parked = run.steps.filter(tool=tool, state__in=PARKED, answer="")
    until(parked.exists, f"the question about {tool}", seconds)
    step = parked.get()
    assert step.asks == "confirm", step.question
    verbs.resolve(PERSON, step.pk, "approve", step.digest)


def _performed(run: Run, tool: str) -> bool:
    return run.steps.filter(tool=tool, state="performed").exists()


def _sent(run: Run, tool: str) -> bool:
    return run.steps.filter(tool=tool, state="sent").exists()


def _worker_of(run: Run, tool: str) -> int:
    """The pid of the process that sent this step: `host:pid:random`."""
    return int(Attempt.objects.get(step__run=run, step__tool=tool).worker.split(":")[1])


def _kill(pid: int) -> None:
    assert pid != os.getpid()
    os.kill(pid, signal.SIGKILL)
