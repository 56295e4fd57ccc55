"""The world outside the engine, as small as it can be: tools, and what became of the calls of one key.

A call that was sent is in one of four places: it never left, it landed (its effect is there), it is on the
wire (it may land at any moment until `settle_after` has passed since its sending, then never), or it is lost.
A service that honours keys gives one effect for any number of calls with one key; one that does not gives an
effect for every call that lands. A lookup answers from the world as it is at that moment.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

NOW = datetime(2026, 1, 1, tzinfo=UTC)  # the model's clock stands still: what lies ahead comes nearer instead
TICK = timedelta(seconds=1)
SETTLE = 2  # ticks that a call can stay on the wire
PAUSE = 1  # ticks of back-off after a call that failed


@dataclass(frozen=True, slots=True)
class Tool:
    """What the engine and the world know of a tool. `retry_safe` promises that its service honours keys."""

    name: str
    writes: bool = True
    undo: bool = False
    irreversible: bool = False
    retry_safe: bool = False
    lookup: bool = False
    honours_keys: bool = False
    confirm: bool = False
    retention: int = 0  # ticks that the service remembers a key; 0: for ever
    window: int = 0  # ticks after the first sending in which it can be undone; 0: for ever
    asked: bool = False  # a tool says whether it can be undone still


class Key(NamedTuple):
    """What the world did with the calls of one key, and what people said of it (for the promise only)."""

    landed: int = 0  # effects; two stand for "more than one"
    wire: tuple[int, ...] = ()  # ticks that each call on the wire has left
    memory: int = -1  # ticks until the service forgets the key; -1: never
    approved: bool = False  # a person approved the call as it is now
    again: bool = False  # a person said 'send again'
    lied: bool = False  # a person said what is not so
    theirs: tuple[
        int, ...
    ] = ()  # ticks left to calls of a worker that has lost the run and does not know yet
    reports: tuple[str, ...] = ()  # what such workers have heard, and have not written down yet
    shut: bool = False  # nothing undoes it any more, as its tool says when it is asked


class Answered(NamedTuple):
    """One way in which a call can go: its name, the world after it, what the engine hears ('' for a crash)."""

    name: str
    key: Key
    verdict: str
    faults: int = 1


def land(key: Key, tool: Tool) -> Key:
    """The effect of one call, unless its service knows the key."""
    if key.landed and tool.honours_keys and key.memory:
        return key
    return key._replace(landed=min(key.landed + 1, 2))


def depart(key: Key, tool: Tool) -> Key:
    """A first call starts the time for which its service remembers the key."""
    return key._replace(memory=tool.retention) if tool.retention and key.memory < 0 else key


def on_the_wire(key: Key) -> Key:
    """A call that nobody waits for any more, and that may still land."""
    return key._replace(wire=tuple(sorted((*key.wire, SETTLE))))


def tick(key: Key) -> Key:
    """Time passes: a call that was on the wire for `settle_after` never lands."""
    return key._replace(
        wire=tuple(left - 1 for left in key.wire if left > 1),
        theirs=tuple(left - 1 for left in key.theirs if left > 1),
        memory=key.memory - 1 if key.memory > 0 else key.memory,
    )


def landings(key: Key, tool: Tool) -> Iterator[Key]:
    """Each call on the wire may land now; equal ones are the same."""
    for left in set(key.wire):
        rest = list(key.wire)
        rest.remove(left)
        yield land(key._replace(wire=tuple(rest)), tool)


def late_answers(key: Key, tool: Tool, undoes: bool) -> Iterator[tuple[str, Key]]:
    """The call of a worker that has lost the run ends: it has an answer to write down."""
    if key.theirs:
        over = key._replace(theirs=key.theirs[1:])
        yield "performed", land(over, tool)._replace(reports=(*key.reports, "performed"))
        if undoes and tool.lookup:  # says yes and changes nothing
            yield "performed", over._replace(reports=(*key.reports, "performed"))
        for verdict in ("refused", "unavailable"):
            yield verdict, over._replace(reports=(*key.reports, verdict))


def ways_of_a_call(tool: Tool, undoes: bool, before: Key) -> Iterator[Answered]:
    """Everything that can become of one call, from a crash before it left to a crash after its answer."""
    key = depart(before, tool)
    done = land(key, tool) if tool.writes else key
    yield Answered("answered", done, "performed", 0)
    yield Answered("refused", key, "refused")
    yield Answered("unavailable", key, "unavailable")
    yield Answered("raised before sending", before, "raised")
    yield Answered("timeout before the effect", key, "in_doubt")
    yield Answered("crash before it left", before, "")
    if not tool.writes:
        return
    yield Answered("timeout after the effect", done, "in_doubt")
    yield Answered("timeout, still on the wire", on_the_wire(key), "in_doubt")
    yield Answered("crash after the effect", done, "")
    yield Answered("crash, still on the wire", on_the_wire(key), "")
    if not before.theirs and not before.reports:
        yield Answered("lost lease, its worker still calls", key._replace(theirs=(SETTLE,)), "")
    if undoes and tool.lookup:
        yield Answered("says yes and changes nothing", key, "performed")


def what_a_lookup_says(key: Key) -> Iterator[tuple[str, int]]:
    """The world as it is now, or nothing: each with the faults it costs."""
    yield ("happened" if key.landed else "did_not_happen"), 0
    yield "cannot_say", 1
    yield "failed", 1


def undo_tools(more: bool = False) -> list[Tool]:
    """Every kind of tool that undoes; with `more`, also services that honour keys without saying so."""
    kinds = [(safe, look, safe) for safe in (False, True) for look in (False, True)]
    kinds += [(False, look, True) for look in (False, True)] if more else []
    return [
        Tool(
            "+".join(
                ["undo", *(["retry_safe"] if s else []), *(["lookup"] if k else []), *(["keys"] if h else [])]
            ),
            retry_safe=s,
            lookup=k,
            honours_keys=h,
        )
        for s, k, h in kinds
    ]


UNDO_TOOLS = {tool.name: tool for tool in undo_tools(more=True)}


def forward_tools(*, confirm: bool, more: bool = False) -> list[Tool]:
    """A read, and every kind of write: undo or none, retry_safe or not, lookup or not.

    With `more` also what the core cannot see: irreversible beside without undo, and services that honour keys
    although their tool does not say that it is safe to repeat.
    """
    tools = [Tool("read", writes=False)]
    for undo in ("undo", "no_undo", "irreversible") if more else ("undo", "no_undo"):
        for safe, keys in (
            ((False, False), (True, True), (False, True)) if more else ((False, False), (True, True))
        ):
            for look in (False, True):
                words = [undo, *(["retry_safe"] if safe else []), *(["lookup"] if look else [])]
                words += [*(["keys"] if keys and not safe else []), *(["confirm"] if confirm else [])]
                tools.append(
                    Tool(
                        "+".join(words),
                        undo=undo == "undo",
                        irreversible=undo == "irreversible",
                        retry_safe=safe,
                        lookup=look,
                        honours_keys=keys,
                        confirm=confirm,
                    )
                )
    return tools
