"""kill -9 of a worker while the model is asked, and right after it answered: the next worker asks again."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from examples.services.process import Services
from runs import agentfile
from runs import services as verbs
from runs.models import Run
from tests.factories import AGENT
from tests.processes import Processes, until

FILE = """agents:
  decided:
    tools: [get_order]
    model: python:tests.scripted.READS_ONCE
    on_unread: ask_model
tools:
  - python: examples.desk.tools
"""


@pytest.mark.parametrize("point", ["after-intent:model", "after-call:model"])
def test_a_worker_killed_while_deciding_leaves_it_to_the_next(
    point: str, processes: Processes, services: Services, tmp_path: Path, monkeypatch: Any
) -> None:
    httpx.post(f"{services.url}/reset").raise_for_status()
    file = tmp_path / "agent.yaml"
    file.write_text(FILE)
    monkeypatch.setattr(agentfile, "_known", dict(agentfile._known))
    agentfile.register(file)
    thread = verbs.start_thread(AGENT, "decided", "u-17")
    run = verbs.start(AGENT, thread, verbs.RunRequest(text="is order 4411 there?"))
    processes.sweep(STALWART_AGENTS=str(file))
    dies = processes.worker(STALWART_AGENTS=str(file), STALWART_FAULT_POINT=point)
    until(lambda: run.events.filter(kind="model.asked").exists(), "the model to be asked")
    assert not run.events.filter(kind="model.answered").exists()
    dies.kill()
    assert [step.state for step in run.steps.all()] == ["deciding"]
    processes.worker(STALWART_AGENTS=str(file))
    until(lambda: Run.objects.get(pk=run.pk).state == "succeeded", "the run to end")
    interrupted = run.events.filter(kind="step.interrupted").first()
    assert interrupted is not None and interrupted.data["found"] == "deciding"
    assert [(step.number, step.tool, step.state) for step in run.steps.order_by("number")] == [
        (1, "get_order", "performed"),
        (2, "", "cancelled"),
    ]
    assert run.messages.get(role="agent").text.endswith("The model says: It is there.")
