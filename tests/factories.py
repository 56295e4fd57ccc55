"""What the tests make: agents over the small world, runs, people."""

import textwrap
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.db.models.functions import Now

from runs import agentfile, calls, services
from runs.access import Actor
from runs.engine import advance
from runs.models import Run, Step
from runs.states import PARKED
from runs.tools.dispatch import dispatch

AGENT = Actor("worker-agent", frozenset(), "agent")
PERSON = Actor("Ana Ferreira", frozenset({"support", "lead", "operator"}))
TOOLS = ["read", "charge", "refund", "tag", "untag", "mail", "pay", "odd"]


def make_agent(
    folder: Path,
    name: str = "tester",
    tools: list[str] | None = None,
    module: str = "tests.world",
    reconcile: str | None = None,
    rules: str = "",
    section: dict[str, Any] | None = None,
    **policy: Any,
) -> str:
    """An agent over the tools of a module, with this policy (runs, rollback …) and these rules. Returns its name.

    `section` is more of the agent's own section: model, on_unread …
    """
    path = folder / f"{name}.yaml"
    if rules:
        (folder / f"{name}.rules.yaml").write_text(f"rules:\n{textwrap.indent(textwrap.dedent(rules), '  ')}")
        policy["rulebook"] = f"./{name}.rules.yaml"
    mine = {"tools": tools or TOOLS, **(section or {})} | ({"reconcile": reconcile} if reconcile else {})
    document = {"agents": {name: mine}, "tools": [{"python": module}], **policy}
    path.write_text(yaml.safe_dump(document))
    agentfile._known.pop(name, None)
    agentfile.register(path)
    return name


def start(agent: str, turn: str, user: str = "u-1", **request: Any) -> Run:
    """Start a run by a turn, and carry it as far as it goes."""
    thread = services.start_thread(AGENT, agent, user)
    run = services.start(AGENT, thread, services.RunRequest(text=turn, **request))
    advance(run.pk)
    run.refresh_from_db()
    return run


def question(run: Run) -> Step:
    """The one open question of a run."""
    return run.steps.get(state__in=PARKED, answer="")


def answer(run: Run, said: str, **data: Any) -> Run:
    """Answer what the run waits for, and carry it on."""
    step = question(run)
    services.resolve(PERSON, step.pk, said, step.digest, data)
    advance(run.pk)
    run.refresh_from_db()
    return run


def until(run: Run, *wanted: str) -> Run:
    """Carry a run on, as the workers and the sweep would, until it is in one of these states."""
    for _ in range(400):
        run.refresh_from_db()
        if run.state in wanted:
            return run
        advance(run.pk)
        time.sleep(0.01)
    raise AssertionError(f"{run} is {run.state}, not {' or '.join(wanted)}")


def approve_all(run: Run) -> Run:
    """Approve every confirmation as it comes."""
    while (step := run.steps.filter(state__in=PARKED, answer="").first()) and step.asks == "confirm":
        answer(run, "approve")
    return run


def reply(run: Run) -> str:
    """The run's one reply."""
    return run.messages.get(role="agent").text


def states(run: Run) -> dict[str, str]:
    """tool -> state, for the steps of a run; an undo's name is its own."""
    return {step.tool: step.state for step in run.steps.order_by("number")}


def die(monkeypatch: pytest.MonkeyPatch, run: Run) -> Run:
    """The worker dies in the call that the open question is about, and its lease runs out."""
    with monkeypatch.context() as patch:
        patch.setattr(calls, "dispatch", then_die)
        with pytest.raises(KeyboardInterrupt):
            answer(run, "approve")
    return expire(run)


def expire(run: Run) -> Run:
    """Its lease ran out a moment ago. Its holder was another process than this one, whose heartbeat goes on."""
    gone = {"lease_owner": "elsewhere:1:dead", "lease_expires_at": Now() - timedelta(milliseconds=1)}
    Run.objects.filter(pk=run.pk).update(**gone)
    return run


def then_die(*args: Any) -> None:
    """In place of the engine's dispatch: the call takes place, and the process dies before it knows."""
    dispatch(*args)
    raise KeyboardInterrupt
