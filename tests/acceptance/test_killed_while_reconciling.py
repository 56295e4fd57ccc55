"""kill -9 of a worker that asked an agent's `reconcile` function, before its answer is recorded: it is asked again."""

from pathlib import Path
from typing import Any

import httpx

from examples.services.process import Services
from runs import agentfile
from runs import services as verbs
from runs.engine import advance
from runs.models import Run
from runs.workers import lives
from tests.factories import AGENT, PERSON
from tests.processes import Processes, until

FILE = """agents:
  reconciled:
    tools: [charge_card, refund_card, send_receipt]
    reconcile: tests.reconciling.keeps_a_log
tools:
  - python: examples.desk.tools
"""


def test_a_worker_killed_right_after_the_function_ran_leaves_it_to_the_next(
    processes: Processes, services: Services, tmp_path: Path, monkeypatch: Any
) -> None:
    httpx.post(f"{services.url}/reset").raise_for_status()
    file, log = tmp_path / "agent.yaml", tmp_path / "log"
    file.write_text(FILE)
    log.touch()
    monkeypatch.setattr(agentfile, "_known", dict(agentfile._known))
    agentfile.register(file)
    known = {"STALWART_AGENTS": str(file), "RECONCILE_LOG": str(log)}
    run = _approved_charge()
    processes.sweep(**known)
    dies_in_the_call = processes.worker(**known, STALWART_FAULT_POINT="after-call:charge_card")
    until(lambda: run.steps.filter(tool="charge_card", state="sent").exists(), "the call to leave")
    until(lambda: not lives(_owner(run)), "it to die")
    dies_in_the_call.kill()
    assert log.read_text() == ""
    dies_of_the_answer = processes.worker(**known, STALWART_FAULT_POINT="after-call:reconcile")
    until(log.read_text, "the function to be asked")
    dies_of_the_answer.kill()
    assert not run.events.filter(kind="run.reconciled").exists()
    asked = len(log.read_text().splitlines())
    processes.worker(**known)
    until(lambda: Run.objects.get(pk=run.pk).state == "succeeded", "the run to end")
    assert run.events.filter(kind="run.reconciled").count() == 1
    lines = log.read_text().splitlines()
    assert len(lines) == asked + 1 and set(lines) == {f"{run.name} killed charge_card"}
    assert httpx.get(f"{services.url}/changes?run={run.name}").json()[0]["operation"] == "charge_card"
    assert run.steps.get(tool="send_receipt").state == "cancelled"


def _owner(run: Run) -> str:
    """The pid of the process that holds the run: `host:pid:random`."""
    return Run.objects.get(pk=run.pk).lease_owner.split(":")[1]


def _approved_charge() -> Run:
    """Its confirmation is asked for here, and answered: the workers find it approved."""
    thread = verbs.start_thread(AGENT, "reconciled", "u-17")
    turn = "charge order 4411 40.00, then send the receipt for order 4411"
    run = verbs.start(AGENT, thread, verbs.RunRequest(text=turn))
    advance(run.pk)
    step = run.steps.get(tool="charge_card")
    verbs.resolve(PERSON, step.pk, "approve", step.digest)
    return run
