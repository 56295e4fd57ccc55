"""The past as the record has it, for the check in the engine's transaction.

This run's own calls are those in memory, since what became of the last one may not be written yet. Those of other
runs are read: what an order rule or `history` needs once for each claim; what a cap counts at each check, under an
advisory lock for each scope that is held until the transaction ends, so that two runs at once do not both pass.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC
from functools import cached_property
from typing import Any

from django.db.models import Q

from runs import rows
from runs.agentfile import AgentSpec
from runs.models import Step
from runs.rulebook.past import Call, Setting, Tally, counted
from runs.rulebook.shapes import Cap, Rule
from runs.states import StepState
from runs.transitions import Held

LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(name, 0)) FROM unnest($1::text[]) AS name"
# One for each cap; the placeholders are numbered when they are put together. Whose call it was is asked of each row
# that is left: joined, every thread there is would be read for it.
TALLY = """
(SELECT coalesce(jsonb_object_agg(mark, times), '{{}}')::text
   FROM (SELECT {mark} AS mark, count(*) AS times FROM runs_step s
          WHERE s.run_id <> {run} AND NOT s.replayed
            AND s.tool = ANY({tools}::text[]) AND s.state = ANY({states}::text[]){more}
            AND (SELECT agent FROM runs_thread WHERE id = s.thread_id) = ANY({agents}::text[])
          GROUP BY 1) AS counted)
"""
SCOPES = {
    "thread": "s.thread_id = {value}::uuid",
    "user": 's.thread_id IN (SELECT id FROM runs_thread WHERE agent = ANY({agents}) AND "user" = {value}::text)',
    "ticket": "s.run_id IN (SELECT id FROM runs_run WHERE ticket = {value}::text)",
}


class RecordedPast:
    """The past of one step of a run that this worker holds."""

    def __init__(self, held: Held, step: Step, spec: AgentSpec) -> None:
        self._held, self._step, self._spec = held, step, spec

    @cached_property
    def setting(self) -> Setting:
        """In which run and conversation the step is."""
        run, thread = self._held.run, self._held.run.thread
        return Setting(
            now=self._held.now,
            user=thread.user,
            thread=str(thread.pk),
            agent=thread.agent,
            run=run.name,
            task=run.task,
            ticket=run.ticket,
            subject=run.subject,
            started_by=run.started_by,
        )

    def calls(self, tools: Sequence[str] = ()) -> Iterator[Call]:
        """The conversation's calls of these tools, or of all, in no order."""
        yield from (call_of(step) for step in self._own(tools) if (step.calls and step.tool) or step.replayed)
        yield from (call for call in self._others() if not tools or call.tool in tools)

    def tallies(self, rules: Sequence[Rule]) -> list[Tally]:
        """For each of these caps what counts against it."""
        elsewhere = [rule for rule in rules if "run" not in rule.cap.per]
        read = dict(zip((rule.name for rule in elsewhere), self._read(elsewhere), strict=True))
        return [self._own_tally(rule) + Counter(read.get(rule.name, {})) for rule in rules]

    def _own(self, tools: Sequence[str]) -> Iterator[Step]:
        return (
            step for step in self._held.steps if (not tools or step.tool in tools) and step is not self._step
        )

    def _own_tally(self, rule: Rule) -> Counter[str]:
        states = counted(rule.cap)
        calls = (call_of(step) for step in self._own(rule.says.tools) if step.state in states)
        return Counter(rule.mark(call.args) for call in calls if call.counts(rule, self._held.now))

    def _others(self) -> list[Call]:
        """What other runs of the conversation called, as far as the rules look back: read once for each claim."""
        if self._held.history is None:
            found = Step.objects.filter(thread=self._held.run.thread_id).exclude(run=self._held.run)
            found = found.filter(Q(calls__gt=0) & ~Q(tool="") | Q(replayed=True))
            tools = self._spec.rulebook.looks_back_at
            found = found if tools is None else found.filter(tool__in=tools)
            self._held.history = [call_of(step) for step in found.select_related("entry")]
        return self._held.history

    def _read(self, rules: Sequence[Rule]) -> list[dict[str, int]]:
        """Lock the scopes of these caps, then count what is committed in them. The count must be a statement of its
        own: one that waits for a lock still sees what was there when it began."""
        if not rules:
            return []
        scopes = sorted({json.dumps(self._scope(rule.cap)) for rule in rules})
        rows.one(LOCK, [[f"cap {scope}" for scope in scopes]])
        sql, values = self._question(rules)
        found = rows.one(sql, values)
        assert found is not None
        return [json.loads(text) for text in found]

    def _scope(self, cap: Cap) -> list[list[str]]:
        """What the cap counts together, by name: neither its rule nor its tools, which another version may change."""
        named = {"day": cap.day(self._held.now)[0].astimezone(UTC).isoformat()}
        return [[scope, named.get(scope) or str(getattr(self.setting, scope))] for scope in sorted(cap.per)]

    def _question(self, rules: Sequence[Rule]) -> tuple[str, list[Any]]:
        """One statement that counts all of these caps."""
        values: list[Any] = []

        def put(value: Any) -> str:
            values.append(value)
            return f"${len(values)}"

        run, agents = put(self._held.run.pk), put(sorted(self._spec.file.agents))
        counts = [self._count(rule, run, agents, put) for rule in rules]
        return f"SELECT {', '.join(counts)}", values

    def _count(self, rule: Rule, run: str, agents: str, put: Callable[[Any], str]) -> str:
        cap, more = rule.cap, "" if rule.says.undos else " AND s.undoes_id IS NULL"
        for scope in sorted(SCOPES.keys() & set(cap.per)):
            more += " AND " + SCOPES[scope].format(agents=agents, value=put(getattr(self.setting, scope)))
        if "day" in cap.per:
            start, end = cap.day(self._held.now)
            more += f" AND s.sent_at >= {put(start)} AND s.sent_at < {put(end)}"
        return TALLY.format(
            mark=self._mark(rule, put),
            run=run,
            agents=agents,
            tools=put(list(rule.says.tools)),
            states=put(sorted(counted(cap))),
            more=more,
        )

    def _mark(self, rule: Rule, put: Callable[[Any], str]) -> str:
        """Rule.mark in SQL."""
        if rule.condition:
            return "s.args::text"
        return f"coalesce(s.args ->> {put(rule.cap.sum)}::text, '')" if rule.cap.sum else "''"


def call_of(step: Step) -> Call:
    """A step as the check sees it."""
    return Call(
        tool=step.tool,
        args=step.args,
        state=StepState(step.state),
        number=step.number,
        result=step.entry.result if step.entry else None,
        undo=step.undoes_id is not None,
        replayed=step.replayed,
        sent_at=step.sent_at,
        run=f"R-{step.run_id}",
    )
