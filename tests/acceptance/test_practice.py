"""The practice queue: really run, with real workers and real services."""

import httpx

from approvals.models import Claim
from examples.services.process import Services
from runs.models import Run, Step
from stalwart_site import practice
from tests.processes import Processes


def test_a_new_operator_finds_runs_in_every_state(processes: Processes, services: Services) -> None:
    httpx.post(f"{services.url}/reset").raise_for_status()
    processes.worker(), processes.sweep()
    filling = processes.start("practice")
    assert filling.process.wait(120) == 0, filling.said()
    count = len(practice.entries())
    assert filling.said().splitlines()[-1] == f"The practice queue is ready: {count} runs."

    ends = {"succeeded", "rolled_back", "abandoned", "failed", "handed_over"}
    assert set(Run.objects.values_list("state", flat=True)) == ends | {"waiting", "stuck"}
    asking = Step.objects.asking()
    assert set(asking.values_list("asks", flat=True)) == {"confirm", "outcome", "undo"}
    assert asking.exclude(warnings=[]).exists(), "one that nothing can undo"
    assert asking.filter(escalated_to="lead").exists(), "one that nobody answered in time"
    assert Run.objects.exclude(handover_at=None).count() > Claim.objects.count() > 0

    again = processes.start("practice")
    assert (again.process.wait(60), again.said()) == (0, "")
    assert Run.objects.count() == count
