"""The routes of an agent, and what is said of them before launch: QG013 and QG105.

A route is an order of some of the agent's tools, each at most once, in which every order rule of its rulebook holds: a
tool stands after all that a rule names, or after one of them where the rule says `one_of`. That a tool has run never
forbids another to run, so no order is searched: what can run at all, or without something, is found by going over the
rules (reachability in an AND/OR graph), however many orders there are.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import and_, or_

from runs.rulebook import OrderRule

Set = int  # of tools: a number whose bits are their places
Found = tuple[str, tuple[str, ...]]  # a step, and a shortest route on which it offends


class Routes:
    """`tools` as the agent's file names them: of two that are as good, the first is taken."""

    def __init__(self, tools: Sequence[str], rules: Iterable[OrderRule] = ()) -> None:
        self.bit = {tool: 1 << place for place, tool in enumerate(tools)}
        self.every: Set = (1 << len(self.bit)) - 1
        self.all_of: dict[str, list[str]] = {tool: [] for tool in self.bit}
        self.one_of: dict[str, list[tuple[str, ...]]] = {tool: [] for tool in self.bit}
        for rule in rules:
            if rule.tool in self.bit and rule.one_of:
                self.one_of[rule.tool].append(rule.after)
            elif rule.tool in self.bit:
                self.all_of[rule.tool] += rule.after
        self._must = {tool: self.set_of(after) for tool, after in self.all_of.items()}
        self.some = {
            tool: [self.set_of(clause) for clause in clauses] for tool, clauses in self.one_of.items()
        }
        self.order: Sequence[str] = tuple(self.bit)
        self.order = self.in_order(self.every)  # every tool that can run, each after what it needs

    def set_of(self, tools: Iterable[str]) -> Set:
        """These tools; one that is not the agent's has a place that no route ever reaches."""
        return _union(self.bit.get(tool, self.every + 1) for tool in tools)

    def in_order(self, members: Set, begun: Sequence[str] = ()) -> tuple[str, ...]:
        """`begun`, then of the members every one that can run after it, each after what it needs."""
        ready, done = list(begun), self.set_of(begun)
        waiting = [tool for tool in self.order if members & self.bit[tool] & ~done]
        grows = True
        while grows:
            grows, rest = False, []
            for tool in waiting:
                if self._may_run(tool, done):
                    ready.append(tool)
                    done |= self.bit[tool]
                    grows = True
                else:
                    rest.append(tool)
            waiting = rest
        return tuple(ready)

    def _may_run(self, tool: str, done: Set) -> bool:
        return not self._must[tool] & ~done and all(done & some for some in self.some[tool])

    def needed(self) -> dict[str, Set]:
        """For each tool that can run: what stands before it on every route, and itself.

        The greatest solution of: a tool needs what each of its `all_of` needs, and of each `one_of` what all of those
        need. (The dominators of a graph in which a node has several sets of predecessors.)
        """
        need = dict.fromkeys(self.order, self.every)
        changed = True
        while changed:
            changed = False
            for tool in self.order:
                found = self.bit[tool] | _union(need[one] for one in self.all_of[tool])
                for clause in self.one_of[tool]:
                    found |= _common(need[one] for one in clause if one in need)
                changed |= found != need[tool]
                need[tool] = found
        return need


class Ways:
    """The shortest routes to each tool that can run though none of `avoided` ever has, as sets in `to`.

    Of each `one_of` the cheapest is taken. Where several of them share what they need, a still shorter route may
    exist: to find that one is set cover, which is not tried.
    """

    def __init__(self, routes: Routes, avoided: Iterable[str] = ()) -> None:
        self._routes = routes
        self._fixed: dict[str, Set] = {}  # what a tool's `all_of` bring with them, and itself
        self.to: dict[str, Set] = {}
        order = routes.in_order(routes.every & ~routes.set_of(avoided))
        changed = True
        while changed:
            changed = False
            for tool in order:
                self._fixed[tool] = routes.bit[tool] | _union(self.to[one] for one in routes.all_of[tool])
                found = self.on_to(tool)
                if tool not in self.to or found.bit_count() < self.to[tool].bit_count():
                    self.to[tool], changed = found, True

    def on_to(self, tool: str, begun: Set = 0) -> Set:
        """The route to a tool from where `begun` has run; all tools where none is known yet."""
        route = begun | self._fixed[tool]
        for clause, some in zip(self._routes.one_of[tool], self._routes.some[tool], strict=True):
            if not begun & some:
                known = [self.to[one] for one in clause if not self.to.get(one, -1) & self._routes.bit[tool]]
                route |= min(known, key=lambda way: (way | route).bit_count(), default=self._routes.every)
        return route

    def on_to_nearest(self, tools: Iterable[str], begun: Set) -> tuple[str, ...]:
        """The route `begun`, and from there the shortest way on to one of the tools."""
        first = self._routes.in_order(begun)
        return self._routes.in_order(
            min((self.on_to(tool, begun) for tool in tools), key=int.bit_count), first
        )


def _union(sets: Iterable[Set]) -> Set:
    """What is in any of them."""
    return reduce(or_, sets, 0)


def _common(sets: Iterable[Set]) -> Set:
    """What is in all of them; there is one at least."""
    return reduce(and_, sets)


def qg013(routes: Routes, undoable: Collection[str], irreversible: Mapping[str, bool]) -> Iterator[Found]:
    """Irreversible steps that can come before steps that would be undone, without their confirmation saying so.

    `irreversible` says of each whether it asks for a confirmation. One that asks says so where something undoable
    stands before it; what comes later is not known when it is asked. So it offends if it can run before all of them;
    and one that does not ask, if it can run before any.
    """
    ways, alone, needed = Ways(routes), Ways(routes, undoable), routes.needed()
    undone = [tool for tool in routes.bit if tool in undoable and tool in ways.to]
    for step, asks in irreversible.items():
        if asks and step in alone.to and undone:
            yield step, ways.on_to_nearest(undone, alone.to[step])
        elif not asks and step in ways.to:
            later = [tool for tool in undone if not needed[step] & routes.bit[tool]]
            beyond = [tool for tool in later if not ways.to[step] & routes.bit[tool]]
            if beyond:
                yield step, ways.on_to_nearest(beyond, ways.to[step])
            elif later:
                yield step, ways.on_to_nearest(later[:1], Ways(routes, later[:1]).to[step])


def qg105(routes: Routes, writes: Collection[str], unsaid: Collection[str]) -> Iterator[Found]:
    """Writes of `unsaid`, which are neither undone nor irreversible, on a route with another write."""
    ways = Ways(routes)
    able = [tool for tool in routes.bit if tool in writes and tool in ways.to]
    for step in (tool for tool in able if tool in unsaid):
        others = [tool for tool in able if tool != step]
        if others:
            after = ways.on_to_nearest(others, ways.to[step])
            before = min((ways.on_to(step, ways.to[tool]) for tool in others), key=int.bit_count)
            yield step, min(after, routes.in_order(before), key=len)
