"""The points of the kill matrix: every flow x every write, forward and in rollback x every place to die.

A point is one or more deaths, each of a process of its own; then a process that is left alone ends the run.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from django.conf import settings

from runs.agentfile import AgentFile, TaskSection, agent
from runs.tools.windows import asks_tool
from tests.flows import FLOWS, UNDO, Flow

AGENTS = settings.BASE_DIR / "tests/crash/agents"
ONE_BY_ONE = ("before-intent", "after-intent", "after-call", "after-outcome")
# The call is under way: its effect is there and its answer is not; or it is still on the wire.
DURING = {"during-call-landed": "slow:0.4", "during-call-on-the-wire": "slow_before:0.4"}
# The process that dies here holds the run: whoever goes on takes it over.
HELD = ("after-intent", "after-call", *DURING, "take-over")


@dataclass(frozen=True)
class Point:
    """One place of one flow. `deaths` are fault points, each of the next process."""

    case: str
    flow: Flow
    kind: str
    tool: str
    deaths: tuple[str, ...]
    faults: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """desk-charge-crm/after-call/update_crm"""
        return "/".join(part for part in (self.case, self.kind, self.tool) if part)

    @property
    def fails(self) -> str:
        """The write that fails: by a fault, or, of T-90605, by what the warehouse has left."""
        last = self.flow.writes[-1] if self.flow.writes else ""
        failing = self.faults.get(last) in FAILS.values() or self.flow.ticket == OUT_OF_STOCK
        return last if failing else ""

    @property
    def backward(self) -> bool:
        """The run dies while it is undone."""
        return self.tool in UNDO.values() or self.kind == "rewind"

    @property
    def file(self) -> AgentFile:
        """The policy of its agent."""
        return agent(self.flow.agent).file

    @property
    def gives_up(self) -> bool:
        """Its task's recovery says that a run that died here is not resumed."""
        task = self.file.tasks.get(self.flow.task, TaskSection())
        return self._held_forward and task.recovery != "resume"

    @property
    def _held_forward(self) -> bool:
        """It died with the run in its hands, and before the first undo was intended."""
        if self.backward:
            undone = [tool for tool in self.flow.writes if tool in UNDO and tool != self.fails]
            return self.kind == "before-intent" and self.tool == UNDO[undone[-1]]
        return self.kind in HELD or self._held_between

    @property
    def _held_between(self) -> bool:
        """After a write, before the next question: a service is asked until when what was done can be undone."""
        if self.kind != "after-outcome" or self.tool not in self.flow.writes[:-1]:
            return False
        done = self.flow.writes[: self.flow.writes.index(self.tool) + 1]
        return any(asks_tool(agent(self.flow.agent).catalogue[tool].reversible_until) for tool in done)


OUT_OF_STOCK = "T-90605"
BLIND = {
    "desk-blind: charge, crm, provision": Flow("desk-blind", "", FLOWS["desk: charge, crm, provision"].steps),
    "desk-blind: charge, receipt, provision": Flow(
        "desk-blind", "", FLOWS["desk: charge, receipt, provision"].steps
    ),
}
# How the last write of a flow is made to fail: refused where it can be; a ticket's refusal is a person's at once.
FAILS = {"desk": "down", "desk-blind": "refused", "returns-atomic": "refused", "resolver": "down"}


def all_points() -> list[Point]:
    """Every point, in a fixed order."""
    return [point for name, flow in (FLOWS | BLIND).items() for point in _of_flow(_slug(name), flow)]


def _of_flow(case: str, flow: Flow) -> Iterator[Point]:
    for tool in flow.writes or [tool for tool, _ in flow.steps]:
        yield from _of_call(case, flow, tool)
    *done, last = flow.writes or ("",)
    fault = FAILS.get(flow.agent)
    if not fault or flow.ticket == OUT_OF_STOCK:
        return
    failing = f"{case}-{fault}"
    for undo in [UNDO[tool] for tool in done if tool in UNDO]:
        yield from _of_call(failing, flow, undo, {last: fault})
    yield Point(failing, flow, "rewind", "", ("rewind",), {last: fault})


def _of_call(case: str, flow: Flow, tool: str, faults: dict[str, str] | None = None) -> Iterator[Point]:
    faults = faults or {}
    for kind in ONE_BY_ONE:
        yield Point(case, flow, kind, tool, (f"{kind}:{tool}",), faults)
    writes = tool in flow.writes or tool in UNDO.values()
    for kind, fault in (
        DURING.items() if writes else ()
    ):  # a read cannot be slowed, and is over before the death
        yield Point(case, flow, kind, tool, (f"during-call:{tool}",), faults | {tool: fault})
    yield Point(case, flow, "take-over", tool, (f"after-intent:{tool}", "take-over"), faults)


def spread(points: list[Point], count: int) -> list[Point]:
    """So many of them, evenly over all; the first of each kind is among them."""
    first_of_kind = {point.kind: point for point in reversed(points)}
    evenly = [points[index * len(points) // count] for index in range(count)]
    return [point for point in points if point in evenly or point in first_of_kind.values()]


def _slug(name: str) -> str:
    return name.replace(": ", "-").replace(", ", "-").replace(" ", "-")
