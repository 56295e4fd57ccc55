"""Questions for the tests of a shared console: each is really asked, and withdrawn where it was not answered."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from approvals.models import Answer
from runs import services
from runs.access import Actor
from runs.errors import RunClosed
from runs.models import Step
from tests.processes import until

AGENT = Actor("the test", frozenset(), "agent")
OPERATOR = Actor("the test", frozenset({"operator"}))


@contextmanager
def asked(turn: str, agent: str = "desk") -> Iterator[Step]:
    """The first question of this turn. Afterwards it does not wait."""
    thread = services.start_thread(AGENT, agent, "u-21")
    run = services.start(AGENT, thread, services.RunRequest(text=turn))
    until(lambda: run.steps.filter(state="needs_approval").exists(), "the question")
    yield run.steps.get(state="needs_approval")
    with suppress(RunClosed):
        services.cancel(OPERATOR, run)


def answers(step: Step) -> list[tuple[str, str]]:
    """What was answered, and by whom."""
    return list(Answer.objects.filter(step=step).values_list("answer", "by"))
