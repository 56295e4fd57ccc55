"""The plans that are explored, by name; each with the faults that may happen to it.

One and two steps are explored over every kind of tool, with any number of faults. What is left out, and why:

* `irreversible` and "no undo" are one kind to the core (it looks at `undo`); so are services that honour keys and
  services that do not, where the tool is not `retry_safe`: calls of such a tool never overlap (asserted). Both are
  told apart for one step (`every kind`), not for two.
* A confirmation only adds states before a step is sent first; two steps with it are explored with two faults, and
  with the plainest and the safest of the tools that undo.
* Every tool that undoes is explored for one step; for two steps, undone in order, three of the four.
* Where a best-effort rollback adds nothing to what another plan explores, there is none.
* In a best-effort rollback the states of both undos multiply; two such undos are explored with two faults, and
  with the plainest and the safest of the tools that undo.
"""

from dataclasses import replace

from runs.tools.reconciling import OUTCOMES
from tests.model.loop import Plan
from tests.model.world import UNDO_TOOLS, Tool, forward_tools, undo_tools

PLAIN = tuple(forward_tools(confirm=False))
CONFIRMED = tuple(forward_tools(confirm=True))
EVERY = (*forward_tools(confirm=False, more=True), *forward_tools(confirm=True, more=True)[1:])
TOOLS = {tool.name: tool for tool in EVERY}
FORGETFUL = tuple(
    replace(tool, name=f"{tool.name}+retention", retention=4) for tool in PLAIN if tool.retry_safe
)


def tools(*names: str) -> tuple[Tool, ...]:
    """Tools by their names."""
    return tuple(TOOLS[name] for name in names)


def steps(*names: str) -> tuple[tuple[Tool, ...], ...]:
    """A plan of these tools, in this order."""
    return tuple((TOOLS[name],) for name in names)


FOR_A_WHILE = (Tool("undo+window", undo=True, window=3), Tool("undo+asked", undo=True, asked=True))
MIXED = tools("read", "undo", "undo+lookup", "no_undo", "undo+confirm", "no_undo+lookup+confirm")
LOOKED_UP = tools("undo+lookup", "undo+retry_safe+lookup", "no_undo+lookup")
SIMPLE_UNDO = (UNDO_TOOLS["undo"],)
SAFE_UNDO = (UNDO_TOOLS["undo+retry_safe+lookup+keys"],)
BOTH_UNDOS = (*SIMPLE_UNDO, *SAFE_UNDO)
THREE_UNDOS = (*BOTH_UNDOS, UNDO_TOOLS["undo+lookup"])

ONE_STEP = {
    "every kind of tool": Plan((PLAIN,), looks_asked=True),
    "every kind of tool, confirmed": Plan((CONFIRMED,), rollbacks=("ordered",)),
    "every kind, and what the core cannot see": Plan((EVERY,), undos=tuple(undo_tools(more=True)), faults=2),
    "a service that forgets keys": Plan((FORGETFUL[:2],), rollbacks=("ordered",), faults=3),
    "proposed by its agent": Plan((MIXED,), opened=True),
    "late outcomes": Plan((PLAIN,), late=True, faults=2),
    "an action that another run may have done": Plan((PLAIN,), keys="action", faults=3),
    "people who say what is not so": Plan((PLAIN,), rollbacks=("ordered",), truthful=False, faults=3),
    "undone for a while": Plan((FOR_A_WHILE,), undos=BOTH_UNDOS, faults=2),
    "a program's, its undo tried once": Plan(
        (tools("undo", "undo+lookup"),),
        modes=("atomic",),
        rollbacks=("best_effort",),
        opened=True,
        recoveries=("compensate",),
        tries=1,
        faults=2,
    ),
    "seen by its agent when it died": Plan((MIXED,), reconciles=OUTCOMES, faults=3),
    "decided by its model": Plan((MIXED,), decides=True, undos=SIMPLE_UNDO, faults=2),
}
TWO_STEPS = {
    "every kind of tool, undone in order": Plan((PLAIN, PLAIN), rollbacks=("ordered",), undos=THREE_UNDOS),
    "best effort": Plan(
        (PLAIN, PLAIN), rollbacks=("best_effort",), modes=("atomic",), undos=BOTH_UNDOS, faults=2
    ),
    "confirmed": Plan((MIXED, MIXED), undos=BOTH_UNDOS, faults=2),
    "proposed by its agent": Plan((MIXED, MIXED), opened=True, faults=1),
    "late outcomes": Plan((tools("undo", "undo+lookup"), tools("undo")), late=True, faults=1),
    "actions that another run may have done": Plan((PLAIN, PLAIN), keys="action", faults=1),
    "people who say what is not so": Plan((PLAIN, PLAIN), truthful=False, faults=1),
    "undone for a while": Plan((FOR_A_WHILE, tools("undo", "no_undo+confirm")), undos=SIMPLE_UNDO, faults=1),
    "seen by its agent when it died": Plan((MIXED, MIXED), reconciles=OUTCOMES, undos=SIMPLE_UNDO, faults=1),
    "proposed by its agent, and seen by it": Plan(
        (MIXED, MIXED), reconciles=OUTCOMES, opened=True, undos=SIMPLE_UNDO, faults=1
    ),
    "decided by its model": Plan((MIXED, MIXED), decides=True, undos=SIMPLE_UNDO, faults=1),
    "looked up when somebody asks": Plan((LOOKED_UP, LOOKED_UP), looks_asked=True, faults=1),
}
MORE_STEPS = {
    "charge, CRM, provision": Plan(
        steps("undo", "undo", "undo"), undos=SIMPLE_UNDO, rollbacks=("ordered",), faults=2
    ),
    "charge, receipt, provision": Plan(steps("undo", "irreversible", "undo"), undos=BOTH_UNDOS, faults=2),
    "each is looked up": Plan(
        steps("undo+lookup", "undo+lookup", "undo+lookup"), undos=SIMPLE_UNDO, faults=2
    ),
    "each may be repeated": Plan(
        steps(*["undo+retry_safe"] * 3), undos=SAFE_UNDO, rollbacks=("ordered",), faults=2
    ),
    "each is confirmed": Plan(
        steps(*["undo+confirm"] * 3), undos=SIMPLE_UNDO, rollbacks=("ordered",), faults=2
    ),
    "two reads around a charge": Plan(steps("read", "undo", "read"), faults=2),
    "best effort": Plan(
        steps("undo", "undo", "undo"), rollbacks=("best_effort",), undos=SIMPLE_UNDO, faults=2
    ),
    "receipts only": Plan(steps("irreversible", "irreversible+lookup", "no_undo"), faults=2),
    "late outcomes": Plan(steps("undo", "undo", "no_undo"), undos=SIMPLE_UNDO, late=True, faults=1),
    "read, charge, receipt, CRM": Plan(
        steps("read", "undo", "irreversible", "undo"), undos=SIMPLE_UNDO, faults=2
    ),
    "four writes": Plan(steps(*["undo"] * 4), rollbacks=("ordered",), undos=SIMPLE_UNDO, faults=2),
    "four of all kinds": Plan(
        steps("undo+lookup", "undo+retry_safe", "no_undo", "undo+confirm"), undos=SIMPLE_UNDO, faults=1
    ),
    "four, proposed by its agent": Plan(
        steps("read", "undo", "no_undo+lookup", "undo"), opened=True, undos=SIMPLE_UNDO, faults=1
    ),
}
FEWER_LOOKUPS = (
    2  # of the four failures after which a lookup counts as silent, where two or more steps are explored
)
