"""What a run's model reads: the conversation as its rows have it, but for what was rewound (runs/rewind.py).

Nothing of it is kept between two requests: what a call came to is read from its step and its ledger entry each time, so
a model that is asked by another process, or after a crash, reads the same.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from runs import redaction
from runs.agentfile import AgentSpec
from runs.model_requests import Called, Remembered, Said
from runs.models import Message, Step
from runs.rewind import memory
from runs.states import IN_FLIGHT, StepState
from runs.transitions import Held

NEWEST = 200  # messages; what is older is left out
NO = "A person said no, so this call did not run. Proposed again unchanged it is refused."


def recall(held: Held, spec: AgentSpec) -> tuple[Remembered, ...]:
    """The conversation of a run that is held, oldest first."""
    messages = memory(held.run.thread)[-NEWEST:]
    calls = _calls(held, messages)
    found = list(_in_order(messages, calls, spec))
    return (*found, *(_called(step, spec) for step in calls.pop(held.run.pk, ())))


def _calls(held: Held, messages: Iterable[Message]) -> dict[int, list[Step]]:
    """The calls of each run that is remembered, by number. Of a run that was rewound its one summary says it all."""
    summed_up = {message.run_id for message in messages if message.summary}
    others = {message.run_id for message in messages} - summed_up - {held.run.pk}
    steps = list(Step.objects.filter(run__in=[run for run in others if run]).select_related("entry"))
    found: dict[int, list[Step]] = {}
    for step in sorted([*steps, *held.steps], key=lambda step: step.number):
        if step.undoes_id is None and step.tool:
            found.setdefault(step.run_id, []).append(step)
    return found


def _in_order(
    messages: Iterable[Message], calls: dict[int, list[Step]], spec: AgentSpec
) -> Iterator[Remembered]:
    """What a run called comes before its reply."""
    for message in messages:
        if message.role == "agent":
            yield from (_called(step, spec) for step in calls.pop(message.run_id or 0, ()))
        yield Said(message.role, message.text)


def _called(step: Step, spec: AgentSpec) -> Called:
    return Called(step.number, step.tool, redaction.args_of(step, spec), _outcome(step, spec))


def _outcome(step: Step, spec: AgentSpec) -> dict[str, Any]:
    """What became of a call. A skipped one says so."""
    result = redaction.result_of(step, spec)
    why = f"{step.error_class}: {step.error}" if step.error else step.error_class
    if step.state in IN_FLIGHT:
        return {"unknown": "Nobody knows yet whether this call took effect."}
    match step.state:
        case StepState.PERFORMED:
            return {"result": result}
        case StepState.UNDONE:
            return {"result": result, "undone": "What this call did was undone since."}
        case StepState.DECLINED:
            reason = (step.answer_data or {}).get("reason")
            return {"declined": NO} | ({"because": reason} if reason else {})
        case StepState.REFUSED:
            return {"refused": why}
        case StepState.FAILED | StepState.NOT_PERFORMED:
            return {"failed": why or "It did not take effect."}
    return {"not_sent": "The run stopped before this call."}
