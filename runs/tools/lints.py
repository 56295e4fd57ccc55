"""What registration says of tools and agents before launch. None of it fails anything.

Every write is read for what recovery needs. The first eight lints are those of S0, word for word; then ours, and what
is said of routes (runs/tools/routes.py). docs/lints.md has one section for each.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings

from runs import rows
from runs.agentfile import AgentSpec
from runs.ledger import settle_after_of, timeout_of
from runs.outcomes import back_off
from runs.rulebook import Rule, order_rules
from runs.tools.registry import Tool
from runs.tools.routes import Found, Routes, qg013, qg105
from runs.tools.unbound import binds, unbound

Catalogue = Mapping[str, Tool]
Check = Callable[[Tool, AgentSpec], Iterator[str]]
Pairs = Collection[tuple[str, str]]  # (write, undo)
CALLS = 3  # in all, under one key

MENDS = {
    "write_without_compensation": "Name the tool that undoes it, or mark it irreversible.",
    "write_not_retry_safe": "Where the service honours the key, mark it retry_safe; or name a lookup that asks the "
    "service what became of a key.",
    "irreversible_without_confirmation": "Drop confirm=False: what cannot be taken back is for a person to approve.",
    "compensation_unknown_tool": "Correct the name, or add the module of that tool under tools: in the agent file.",
    "compensation_not_retry_safe": "Send the key with the undo, and mark the undo retry_safe: an undo in doubt is then "
    "sent again.",
    "compensation_unbound": "Bind it to what is there and of the type that the undo takes: $args.<argument of the "
    "write>, $result.<field of its result>, or a value.",
    "compensation_cycle": "An undo is never undone: drop the undo of the tool that closes the circle, and mark that "
    "tool irreversible.",
    "compensation_out_of_reach": "Add the undo to the agent's tools: it is checked as that agent, and refused without.",
    "lookup_missing": "Name a read tool that asks the service about a key, and says what happened: lookup=….",
    "key_retention_too_short": "Have the service keep its keys for longer, or give the tool a shorter timeout and "
    "settle_after.",
    "undo_never_run": "Run it once before launch: undo a practice run that made this write.",
    "QG013": "Let the rulebook order it after a write that can be undone, so that its question says so, and let it ask "
    "for confirmation. One that is there to undo others can be refused to the agent itself (refuse, undos: false).",
    "QG105": "Name the tool that undoes it, or mark it irreversible, so that its question says so.",
    "rule_never_fires": "Correct its condition or its tools, or drop the rule: nobody is protected by it.",
    "rule_forbids_all": "If that is meant, take the tool from the agent; else correct the rule.",
    "rule_changes_nothing": "Drop it, or have it ask more than the tool itself does.",
}
OF_RULES = frozenset({"rule_never_fires", "rule_forbids_all", "rule_changes_nothing"})
OF_AGENTS = frozenset({"compensation_out_of_reach", "QG013", "QG105"})  # the others are about tools
IRREVERSIBLE_FIRST = (
    "an irreversible step can come before steps that would be undone, without its confirmation saying so"
)
UNSAID = (
    "a write with neither an undo nor irreversible, on a route with another write: a failed run cannot undo it, and "
    "nothing says so"
)


@dataclass(frozen=True)
class Finding:
    """One lint about one tool, or one rule. `agents` are those that have it; `route` is the route of a QG."""

    lint: str
    tool: str
    message: str
    agents: tuple[str, ...] = ()
    route: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The message, with its route."""
        return f"{self.message} ({', then '.join(self.route)})" if self.route else self.message

    @property
    def mend(self) -> str:
        """What to do about it."""
        return MENDS[self.lint]


# --- Of one write -------------------------------------------------------------------------------------
def _without_compensation(tool: Tool, spec: AgentSpec) -> Iterator[str]:
    if tool.undo is None and not tool.irreversible:
        yield "a write neither compensated nor marked irreversible"


def _not_retry_safe(tool: Tool, spec: AgentSpec) -> Iterator[str]:
    """One with a lookup is looked up, and a person is asked only where that cannot say."""
    if not tool.retry_safe and tool.lookup is None:
        yield "a write with no idempotency, so an ambiguous failure goes to a person"


def _without_confirmation(tool: Tool, spec: AgentSpec) -> Iterator[str]:
    if tool.irreversible and not asks(tool, spec):
        yield "an irreversible operation that asks for no confirmation"


def _unknown_tool(tool: Tool, spec: AgentSpec) -> Iterator[str]:
    if tool.undo and tool.undo.tool not in spec.catalogue:
        yield f"the compensation names '{tool.undo.tool}', which the catalogue lacks"


def _undo_not_retry_safe(tool: Tool, spec: AgentSpec) -> Iterator[str]:
    by = undo_in(spec.catalogue, tool)
    if by and not by.retry_safe:
        yield f"'{by.name}' undoes it and is not retry-safe"


def _undo_unbound(tool: Tool, spec: AgentSpec) -> Iterator[str]:
    by = undo_in(spec.catalogue, tool)
    if by:
        yield from (f"{argument} <- {source}" for argument, source in unbound(tool, by))


def _cycle(tool: Tool, spec: AgentSpec) -> Iterator[str]:
    met = {tool.name}
    by = undo_in(spec.catalogue, tool)
    while by and by.name not in met:
        met.add(by.name)
        by = undo_in(spec.catalogue, by)
    if by:
        yield f"its compensations return to '{by.name}'"


def _lookup_missing(tool: Tool, spec: AgentSpec) -> Iterator[str]:
    if tool.lookup is None:
        yield "a write that nothing can look up, so its own answer is all that says whether it took effect"


def _retention(tool: Tool, spec: AgentSpec) -> Iterator[str]:
    needs = _seconds_of_its_calls(tool)
    if tool.key_retention and tool.key_retention < needs:
        yield (
            f"the service remembers its key for {tool.key_retention:g} s, and its calls may take {needs:g} s, so a "
            "later one is not sent again"
        )


def _seconds_of_its_calls(tool: Tool) -> float:
    """From the first sending of a key until its last one can no longer land: what a service must remember it for.

    A further sending follows the timeout and the pause, or, for one that is not retry-safe, once the one before is
    settled; after a crash it follows the lease. Without retry_safe and a lookup there is no further one by itself.
    """
    settle, resends = settle_after_of(tool), tool.retry_safe or tool.lookup is not None
    pause = back_off(CALLS - 1, timedelta(seconds=settings.RETRY_SECONDS)).total_seconds()
    between = max(timeout_of(tool) + pause, settings.LEASE_SECONDS, 0 if tool.retry_safe else settle)
    return (CALLS - 1) * between + settle if resends else settle


CHECKS: Mapping[str, Check] = {
    "write_without_compensation": _without_compensation,
    "write_not_retry_safe": _not_retry_safe,
    "irreversible_without_confirmation": _without_confirmation,
    "compensation_unknown_tool": _unknown_tool,
    "compensation_not_retry_safe": _undo_not_retry_safe,
    "compensation_unbound": _undo_unbound,
    "compensation_cycle": _cycle,
    "lookup_missing": _lookup_missing,
    "key_retention_too_short": _retention,
}


def undo_in(catalogue: Catalogue, tool: Tool) -> Tool | None:
    """The tool that undoes a write, where the catalogue has it."""
    return catalogue.get(tool.undo.tool) if tool.undo else None


def asks(tool: Tool, spec: AgentSpec) -> bool:
    """Whether every call of a write is confirmed by a person, by itself or by a rule that always holds."""
    return tool.confirm or any(rule.asks and _always(rule) for rule in spec.rulebook.of(tool.name))


def _always(rule: Rule) -> bool:
    return rule.condition is None or rule.condition.constant is True


def of_file(spec: AgentSpec, executed: Pairs | None = None) -> Iterator[Finding]:
    """What is said of every write of an agent file, of which `spec` is any agent.

    `executed`: the undos that some run has executed, where that is asked for.
    """
    for tool in spec.catalogue.values():
        if tool.writes:
            for lint, check in CHECKS.items():
                yield from (Finding(lint, tool.name, message) for message in check(tool, spec))
            by = undo_in(spec.catalogue, tool)
            if by and executed is not None and (tool.name, by.name) not in executed:
                message = f"'{by.name}' undoes it, and no run has ever executed that"
                yield Finding("undo_never_run", tool.name, message)


# However many runs there are, the newest 200 undos by a tool are looked at: a tool that undoes for others all the time
# is not called untried where none of these was for this agent file.
EXECUTED = """
SELECT coalesce(array_agg(ARRAY[pair.write, pair.undo]), '{}')
  FROM unnest($1::text[], $2::text[]) AS pair(write, undo)
 CROSS JOIN LATERAL (
       SELECT count(*) AS many,
              bool_or(w.tool = pair.write AND e.state = 'performed' AND t.agent = ANY($3::text[])) AS proven
         FROM (SELECT undoes_id, thread_id, entry_id FROM runs_step
                WHERE undoes_id IS NOT NULL AND tool = pair.undo ORDER BY id DESC LIMIT 200) AS u
         JOIN runs_step w ON w.id = u.undoes_id JOIN runs_thread t ON t.id = u.thread_id
         LEFT JOIN runs_ledgerentry e ON e.key = u.entry_id) AS newest
 WHERE newest.proven OR newest.many = 200
"""


def executed_undos(spec: AgentSpec) -> Pairs:
    """Of the undos of an agent file (write, undo): those that a run of any of its agents has executed.

    One that was done by hand is none: its own call, which the entry names, was not performed.
    """
    pairs = [(tool.name, tool.undo.tool) for tool in spec.catalogue.values() if tool.undo]
    writes, undos = [write for write, _ in pairs], [undo for _, undo in pairs]
    found = rows.one(EXECUTED, [writes, undos, list(spec.file.agents)])
    return frozenset((write, undo) for write, undo in found[0]) if found else frozenset()


# --- Of one agent -------------------------------------------------------------------------------------
def of_agent(spec: AgentSpec) -> Iterator[Finding]:
    """What is said of this agent's tools together: undos out of its reach, and its routes."""
    writes = {name: tool for name, tool in spec.tools.items() if tool.writes}
    for tool in writes.values():
        by = undo_in(spec.catalogue, tool)
        if by and by.name not in spec.tools:
            message = (
                f"agent '{spec.name}' can call it but not '{by.name}', which undoes it, so a run of that agent "
                "cannot undo it"
            )
            yield Finding("compensation_out_of_reach", tool.name, message, (spec.name,))
    routes = Routes(callable_tools(spec), order_rules(spec.rulebook))
    if spec.file.runs == "atomic":  # with `keep`, no step would be undone
        irreversible = {name: asks(tool, spec) for name, tool in writes.items() if tool.irreversible}
        yield from _along("QG013", IRREVERSIBLE_FIRST, qg013(routes, undoable(spec), irreversible), spec)
    unsaid = {name for name, tool in writes.items() if tool.undo is None and not tool.irreversible}
    yield from _along("QG105", UNSAID, qg105(routes, writes, unsaid), spec)


def callable_tools(spec: AgentSpec) -> list[str]:
    """The tools that no rule of the agent always refuses; one that is refused but as an undo is none."""
    return [
        name
        for name in spec.tools
        if not any(_refuses(rule) and _always(rule) for rule in spec.rulebook.of(name))
    ]


def _refuses(rule: Rule) -> bool:
    return bool(rule.says.refuse) or (rule.says.cap is not None and rule.says.cap.count == 0)


def undoable(spec: AgentSpec) -> frozenset[str]:
    """The writes that a failed run of this agent would undo."""
    return frozenset(
        name for name, tool in spec.tools.items() if (by := undo_in(spec.tools, tool)) and binds(tool, by)
    )


def _along(lint: str, message: str, found: Iterator[Found], spec: AgentSpec) -> Iterator[Finding]:
    return (Finding(lint, tool, message, (spec.name,), route) for tool, route in found)
