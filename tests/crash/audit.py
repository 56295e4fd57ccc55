"""What must hold after any crash: the services' own books against the ledger, entry by entry.

The journal of the services has one line for each effect, with its key, its run and its time; it knows nothing of
us. Each check raises AssertionError.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import httpx

from runs.agentfile import agent
from runs.handover import ticket
from runs.models import Event, LedgerEntry, Run, Step
from runs.states import IN_FLIGHT, PARKED, RUN_ENDS, EntryState, StepState
from tests.flows import OPERATIONS

Change = dict[str, Any]
# "did not happen" speaks of an undo here: it goes back to being tried.
RESENDS = ["send_again", "did_not_happen", "retry"]
SETTLED = {EntryState.PERFORMED, EntryState.FAILED, EntryState.NOT_PERFORMED}


def changes(books: httpx.Client, run: Run | None = None) -> list[Change]:
    """The lines of the services' journal, oldest first; of one run, or of all."""
    found = books.get("/changes", params={"run": run.name} if run else {})
    lines: list[Change] = found.raise_for_status().json()
    return lines


def standing(run: Run) -> str:
    """Where a run stands, for whoever reads a failure."""
    run.refresh_from_db()
    steps = ", ".join(
        f"{step.tool} {step.state} {step.calls}/{step.budget} {step.doubt} {step.said} {step.asks} {step.answer}"
        for step in run.steps.all()
    )
    held = f"held by {run.lease_owner} until {run.lease_expires_at}" if run.lease_owner else "held by nobody"
    return f"{run.name} is {run.state}, {held}, due {run.due_at}: {steps}"


def no_orphan_writes(lines: list[Change]) -> None:
    """No effect without an intent row: the journal was read first, so the row must be there already."""
    known = LedgerEntry.objects.in_bulk([line["key"] for line in lines])
    for line in lines:
        entry = known.get(line["key"])
        assert entry is not None, f"{line} took effect, and no row says that it would"
        assert entry.first_sent_at, line
        assert entry.first_sent_at <= datetime.fromisoformat(line["at"]), (line, entry.first_sent_at)


def ended_well(books: httpx.Client, run: Run) -> None:
    """All that must hold of a run that has ended, whatever happened to it."""
    run.refresh_from_db()
    assert run.state in RUN_ENDS
    assert (run.lease_owner, run.lease_expires_at, run.late) == ("", None, False)
    for step in run.steps.select_related("entry", "run__thread"):
        assert step.state not in PARKED | IN_FLIGHT, step
        assert step.entry is None or step.entry.state in SETTLED, (step, step.entry.state)
        sent_again_for_a_reason(step)
    undone_where_it_should_be(run)
    if run.handover_at:
        ticket_names_what_is_done(run, changes(books, run))


def books_equal_ledger(books: httpx.Client, runs: Iterable[Run]) -> None:
    """Each effect is one performed entry of the same tool, run and result; each performed entry, one effect."""
    runs_by_name = {run.name: run for run in runs}
    lines = [line for line in changes(books) if line["run"] in runs_by_name]
    no_orphan_writes(lines)
    on_the_books = {line["key"]: line for line in lines}
    assert len(on_the_books) == len(lines)
    entries = LedgerEntry.objects.filter(steps__run__in=runs_by_name.values(), tool__in=OPERATIONS)
    for entry in entries.distinct().prefetch_related("steps__run"):
        line = on_the_books.pop(entry.key, None)
        assert (entry.state == EntryState.PERFORMED) == (line is not None), (entry, entry.state, line)
        if line:
            assert line["operation"] == OPERATIONS[entry.tool]
            assert line["run"] in [step.run.name for step in entry.steps.all()]
            assert entry.result == books.get(f"/operations/{entry.key}").json()["result"]
    assert on_the_books == {}, "effects that no step of their run knows"


def sent_again_for_a_reason(step: Step) -> None:
    """Between two sendings of a write: its tool is retry-safe, or nothing had left, or a lookup or a person said so."""
    tool = agent(step.run.thread.agent).catalogue[step.tool]
    attempts = list(step.attempts.order_by("number"))
    assert [attempt.number for attempt in attempts] == list(range(1, step.calls + 1))
    if tool.retry_safe or not tool.writes:
        return
    events = Event.objects.filter(step=step)
    # An answer of a person moves a step to `sent` too; a sending says which attempt it is.
    sent = events.filter(kind__in=["step.sent", "step.sent_again"], data__has_key="attempt").order_by("pk")
    for attempt, first, second in zip(attempts, sent, sent[1:], strict=False):
        between = events.filter(pk__gt=first.pk, pk__lt=second.pk)
        looked_up = between.filter(kind="step.looked_up", data__said="did_not_happen")
        answered = between.filter(kind="question.answered", data__answer__in=RESENDS)
        assert attempt.verdict == "unavailable" or looked_up or answered, (step, attempt.number)


def undone_where_it_should_be(run: Run) -> None:
    """A write is undone together with its undo; where the run was undone, nothing that can be undone is left."""
    for step in run.steps.filter(state=StepState.UNDONE):
        assert step.undo.state == StepState.PERFORMED, step
    for step in run.steps.filter(undoes__isnull=False, state=StepState.PERFORMED):
        assert step.undoes and step.undoes.state == StepState.UNDONE, step
    if run.state in ("rolled_back", "failed") or (run.gave_up and run.mode == "atomic"):
        spec = agent(run.thread.agent)
        left = [step.tool for step in run.steps.filter(state=StepState.PERFORMED, undoes=None)]
        assert [tool for tool in left if spec.catalogue[tool].undo] == []


def ticket_names_what_is_done(run: Run, lines: list[Change]) -> None:
    """The ticket of a run that was handed over lists exactly what committed and is still in effect."""
    undone = run.steps.filter(state=StepState.UNDONE).values_list("entry_id", flat=True)
    undos = run.steps.filter(undoes__isnull=False).values_list("entry_id", flat=True)
    committed = [line["operation"] for line in lines if line["key"] not in {*undone, *undos}]
    said = [OPERATIONS[item["tool"]] for item in ticket(run)["completed"]]
    assert said == committed
