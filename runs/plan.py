"""A plan before it runs: for each call what would be asked, of whom, what undoes it, and what a failure there leaves.

The check is the engine's own, over a run that is in memory alone, each call as if those before it had been performed.
It reads the record, as a run would (caps, what the conversation did before); nothing is stored, nothing is sent.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from runs.agentfile import AgentSpec
from runs.errors import BadInput
from runs.left import Left, left_if_it_fails
from runs.models import Run, Step, Thread
from runs.moves import check_step
from runs.parking import warnings
from runs.redaction import args_of
from runs.replies import still_in_effect
from runs.rulebook import Ruling
from runs.services import Proposal, RunRequest, subject_of, valid_steps, valid_text
from runs.states import StepState
from runs.transitions import Held, clock
from runs.views.calls import UndoWords, sentence_of, undo_words

MOST_CALLS = 100
NO_RUN = 0  # the number of the run that there is not


@dataclass(frozen=True)
class PlannedCall:
    """One call of a plan. `undo` is None for a read; `asked_with` is the step whose question is about this one too."""

    number: int
    tool: str
    args: dict[str, Any]
    text: str
    sentence: str
    writes: bool
    ruling: Ruling
    asked_with: int | None
    warnings: tuple[str, ...]
    undo: UndoWords | None
    left: Left

    @property
    def words(self) -> str:
        """What would be asked, and of whom: `support is asked`, or why nobody is."""
        ruling = self.ruling
        if ruling.verdict == "ask":
            return self._asked()
        if ruling.verdict == "refused":
            cause = f": {ruling.cause}" if ruling.cause else ""
            return f"refused by {ruling.rule}{cause}; the run stops here"
        said = {
            "replayed": "done already for this ticket: it is not sent again",
            "busy": "another run is at this very action of the ticket: it waits for that",
        }
        return said.get(ruling.verdict, "nobody is asked" if self.writes else "reads only, nobody is asked")

    def _asked(self) -> str:
        ruling = self.ruling
        others = f", but not {' or '.join(ruling.not_by)}" if ruling.not_by else ""
        why = "" if ruling.rule == "confirm" else f" (by the rule {ruling.rule})"
        once = f", together with step {self.asked_with}" if self.asked_with else ""
        return f"{ruling.approver} is asked{others}{why}{once}"


def plan(spec: AgentSpec, thread: Thread, request: RunRequest) -> tuple[PlannedCall, ...]:
    """What this request would do in this conversation, which need not be stored.

    Raises NotRead and BadInput as the start of a run would, and BadInput for more calls than a person can read.
    """
    proposals = valid_steps(spec, request)
    valid_text(thread.user, "/user", 200, blank=True)
    valid_text(request.subject, "/subject", 100, blank=True)
    if len(proposals) > MOST_CALLS:
        raise BadInput(f"A plan has at most {MOST_CALLS} calls.", field="/steps")
    held = _in_memory(spec, thread, request, proposals)
    asked: dict[Any, int] = {}
    return tuple(_planned(held, step, spec, asked) for step in held.steps)


def _in_memory(spec: AgentSpec, thread: Thread, request: RunRequest, proposals: Sequence[Proposal]) -> Held:
    """A run of these steps, as the engine would hold it."""
    file = spec.file
    run = Run(
        pk=NO_RUN,
        thread=thread,
        mode=file.runs,
        keys=file.keys if request.ticket else "step",
        confirm=file.confirm,
        task=request.task,
        ticket=valid_text(request.ticket, "/ticket", 100, blank=True),
        subject=subject_of(request, spec, proposals),
    )
    held = Held(run, owner="", now=clock())
    held.take(
        Step(run=run, thread=thread, number=number, tool=item.tool, args=item.args, text=item.text)
        for number, item in enumerate(proposals, thread.next_step)
    )
    return held


def _planned(held: Held, step: Step, spec: AgentSpec, asked: dict[Any, int]) -> PlannedCall:
    """One call; then it counts as performed, or refused, for those after it."""
    tool = spec.tools[step.tool]
    check_step(held, step, spec)
    ruling = held.rulings[step.number]
    asks = ruling.verdict == "ask"
    whom = (ruling.approver, ruling.not_by)
    call = PlannedCall(
        number=step.number,
        tool=step.tool,
        args=args_of(step, spec),
        text=step.text,
        sentence=sentence_of(step, spec),
        writes=tool.writes,
        ruling=ruling,
        asked_with=asked.get(whom) if asks and tool.writes else None,
        warnings=tuple(warnings(held, step, spec)) if asks else (),
        undo=undo_words(step, spec) if tool.writes else None,
        left=left_if_it_fails(
            still_in_effect(held.steps, spec), spec, kept=held.run.mode == "keep", this=step.number
        ),
    )
    if asks and tool.writes and held.run.confirm == "plan":
        asked.setdefault(whom, step.number)
    _suppose(held, step, ruling)
    return call


def _suppose(held: Held, step: Step, ruling: Ruling) -> None:
    """It took place now, unless it was refused."""
    step.state = StepState.REFUSED if ruling.verdict == "refused" else StepState.PERFORMED
    step.replayed = ruling.verdict == "replayed"
    if step.state == StepState.PERFORMED and not step.replayed:
        step.calls, step.sent_at = 1, held.now
