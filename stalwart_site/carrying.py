"""The commands that move a run: they see it through until it ends or waits, and say what came of it."""

from collections.abc import Iterator
from typing import Any

from django.utils import timezone

from runs.agentfile import agent
from runs.agents import Reply
from runs.errors import NotFound
from runs.following import follow
from runs.models import Event, Run, Step
from runs.redaction import args_of
from runs.replies import sentence
from runs.services import ANSWERS
from runs.states import PARKED, STEP_ENDS, StepState
from runs.trace import LOOKED_UP, call_of, ended, short
from runs.views.calls import in_order
from stalwart_site.terminal import WAITS, TerminalCommand


class CarryingCommand(TerminalCommand):
    """A command that moves a run, and stays with it."""

    def follow(self, run_id: int) -> Reply:
        """Until the run ends or waits; where no worker is alive, this process carries it out."""
        return follow(run_id, alone=self.machine.alone, before_acting=self.machine.services)

    def conclude(self, run: Run, reply: Reply, after: int, options: dict[str, Any]) -> int:
        """Say what the run did since the event `after`, and how it stands; returns the exit code."""
        if options["json"]:
            self.say_json(as_json(reply))
        else:
            for line in [*_carried_out(run, after), *self._standing(reply)]:
                self.say(line)
        return WAITS if reply.waiting else 0

    def _standing(self, reply: Reply) -> Iterator[str]:
        if reply.text:
            yield reply.text
        for step in questions_of(reply):
            yield from question_lines(step)
        yield f"Status: {ended(reply.state)}"


def last_event(run: Run) -> int:
    """The newest event of a run."""
    return Event.objects.filter(run=run).order_by("-pk").values_list("pk", flat=True).first() or 0


def _carried_out(run: Run, after: int) -> Iterator[str]:
    """One line for each step that ended after this event."""
    moved = Event.objects.filter(run=run, pk__gt=after, after__in=sorted(STEP_ENDS)).values("step")
    for step in Step.objects.filter(pk__in=moved).select_related("entry").order_by("number"):
        yield f"{_subject(step, run)}: {_came_to(step)}"


def _subject(step: Step, run: Run) -> str:
    """`request_refund LK-793996`: the tool, and what it is about: its first argument."""
    return " ".join([step.tool, *(str(value) for value in list(_arguments(step, run).values())[:1])])


def _arguments(step: Step, run: Run) -> dict[str, Any]:
    """In the order in which the tool has them; the database keeps none."""
    spec = agent(run.thread.agent)
    return in_order(args_of(step, spec), spec.catalogue.get(step.tool))


def _came_to(step: Step) -> str:
    state = "done" if step.state == StepState.PERFORMED else step.state.replace("_", " ")
    facts = [step.error_class] if step.error_class and step.state != StepState.PERFORMED else []
    if step.entry:
        facts.append(f"operation {short(step.entry.key)}, {step.calls} call(s)")
    return f"{state} ({', '.join(facts)})" if facts else state


# --- Questions --------------------------------------------------------------------------------------------
def find_question(number: int) -> Step:
    """The question that `stalwart answer` and `lookup` name by this number. Raises NotFound."""
    known = 0 < number < 2**63
    step = Step.objects.select_related("run__thread").filter(pk=number).first() if known else None
    if step is None or not step.asks:
        raise NotFound(f"There is no question {number}; `stalwart trace RUN` shows what a run asks.")
    return step


def looked_up(step: Step, after: int) -> Iterator[str]:
    """`charge_card looked up, 14:02:07 UTC: it cannot say`, for each lookup of this step since an event."""
    for event in step.events.filter(kind="step.looked_up", pk__gt=after).order_by("pk"):
        said, error = LOOKED_UP.get(event.data["said"], event.data["said"]), event.data.get("error", "")
        when = f"{timezone.localtime(event.at):%H:%M:%S %Z}"
        yield f"{step.tool} looked up, {when}: {said}{f' ({error})' if error else ''}"


def questions_of(reply: Reply) -> list[Step]:
    """The steps that this run waits for."""
    waiting = Step.objects.filter(pk__in=[question.id for question in reply.waiting], state__in=PARKED)
    return list(waiting.select_related("run__thread", "undoes").order_by("number"))


def title(step: Step) -> str:
    """What a question is about, in a sentence."""
    if step.asks != "confirm":
        return step.question
    spec = agent(step.run.thread.agent)
    tool = spec.catalogue.get(step.tool)
    return sentence(tool.sentence if tool else "", call_of(step, spec), args_of(step, spec))


def question_lines(step: Step) -> Iterator[str]:
    """A question as a person at a terminal reads it."""
    others = f" (not {' or '.join(step.not_by)})" if step.not_by else ""
    yield f"Question {step.pk} of {step.run.name}, for {step.approver}{others}: {title(step)}"
    arguments = ", ".join(f"{name} = {value}" for name, value in _arguments(step, step.run).items())
    yield f"  {step.tool}({arguments})"
    yield from (f"  {warning}" for warning in step.warnings)
    if step.asks == "outcome":
        yield from (f"  {line}" for line in list(looked_up(step, 0))[-1:])
    yield f"  digest {step.digest}"
    yield f"  answers: {', '.join(ANSWERS[step.asks])}"


def question_json(step: Step) -> dict[str, Any]:
    """A question with all that an answer needs; `id` is what `stalwart answer` takes."""
    return {
        "id": step.pk,
        "run": step.run.name,
        "step": step.number,
        "kind": step.asks,
        "text": title(step),
        "tool": step.tool,
        "args": _arguments(step, step.run),
        "warnings": step.warnings,
        "approver": step.approver,
        "not_by": step.not_by,
        "digest": step.digest,
        "answers": list(ANSWERS[step.asks]),
    }


def as_json(reply: Reply) -> dict[str, Any]:
    """Where a run stands."""
    waiting = [question_json(step) for step in questions_of(reply)]
    return {"run": reply.run, "state": str(reply.state), "reply": reply.text, "waiting": waiting}
