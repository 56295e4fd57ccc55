"""A small outside world for the engine's tests: it honours keys, keeps what landed, and fails as it is told.

The tools are real tools, run by the real engine on the real database; only the services are made up.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from runs.tools import Call, InDoubt, Refused, Unavailable, tool
from runs.tools.lookups import Answer, cannot_say, did_not_happen, happened


@dataclass
class World:
    """`script` holds, per tool, what its next calls do; without one a call just works."""

    calls: list[str] = field(default_factory=list)
    effects: dict[str, str] = field(default_factory=dict)  # key -> tool, in the order in which they landed
    script: dict[str, list[str]] = field(default_factory=dict)
    lookups: list[str] = field(default_factory=list)
    keys: list[tuple[str, str]] = field(default_factory=list)  # what each call carried: tool, key
    watch: Callable[[Call], object] | None = None  # looks on, when a call arrives
    mail: str = ""  # what the customer wrote

    def reset(self) -> None:
        """A new world."""
        self.__init__()  # type: ignore[misc]

    def act(self, call: Call, result: Any = None) -> Any:
        """Carry a call out, or fail as the script says."""
        self.calls.append(call.tool)
        self.keys.append((call.tool, call.key))
        if self.watch:
            self.watch(call)
        does = self.script.get(call.tool, [])
        what = does.pop(0) if does else "works"
        if what in ("works", "times out after", "drops"):
            call.left = True
            self.effects.setdefault(call.key, call.tool)
        if what == "refuses":
            raise Refused("the service said no")
        if what == "unavailable":
            raise Unavailable("nobody there")
        if what == "raises":
            raise RuntimeError("a bug in the tool")
        if what == "raises nonsense":
            raise RuntimeError("a zero: \x00, half a character: \ud800, " + "and much more " * 1000)
        if what in ("times out after", "times out before"):
            raise InDoubt("no answer", cause="Timeout")
        if what == "drops":
            raise ValueError("the answer could not be read")
        return result

    @property
    def landed(self) -> list[str]:
        """The tools whose effects took place, in order."""
        return list(self.effects.values())


WORLD = World()


@tool(says="read {order:d}")
def read(call: Call, order: int) -> Any:
    """A read."""
    return WORLD.act(call, {"order": order})


@tool(
    writes=True,
    undo="refund",
    says="charge {order:d} {amount:F}",
    sentence="Charge {amount} to order {order}",
)
def charge(call: Call, order: int, amount: Decimal = Decimal("40.00")) -> Any:
    """A write that is not retry-safe and that nobody can look up."""
    return WORLD.act(call, {"charge": f"ch_{order}"})


@tool(writes=True, retry_safe=True)
def refund(call: Call, charge: str, amount: Decimal) -> Any:
    """Undoes charge."""
    return WORLD.act(call)


@tool(
    writes=True,
    undo={"untag": {"order": "$args.order"}},
    lookup="find",
    says="tag {order:d}",
    settle_after=0.6,
)
def tag(call: Call, order: int) -> Any:
    """A write that can be looked up."""
    return WORLD.act(call, {"tag": order})


@tool(writes=True, retry_safe=True, lookup="find")
def untag(call: Call, order: int) -> Any:
    """Undoes tag, and is done only when the world says so."""
    return WORLD.act(call)


@tool(writes=True, irreversible=True, says="mail {order:d}")
def mail(call: Call, order: int) -> Any:
    """Nothing undoes it."""
    return WORLD.act(call)


@tool(writes=True, retry_safe=True, undo="refund", says="pay {order:d}", confirm=False)
def pay(call: Call, order: int, amount: Decimal = Decimal("1.00")) -> Any:
    """A retry-safe write that asks nobody."""
    return WORLD.act(call, {"charge": f"pay_{order}"})


@tool(writes=True, undo={"refund": {"charge": "$result.missing"}}, says="odd {order:d}")
def odd(call: Call, order: int, amount: Decimal = Decimal("1.00")) -> Any:
    """Its undo cannot be bound: the field is not in the result."""
    return WORLD.act(call, {})


@tool
def find(call: Call, key: str) -> Answer:
    """Looks a key up in the world."""
    WORLD.lookups.append(key)
    script = WORLD.script.get("find", [])
    what = script.pop(0) if script else "answers"
    if what == "raises":
        raise ConnectionError("nobody there")
    if what == "cannot say":
        return cannot_say()
    if what == "another word":
        return Answer("pending")
    return happened({"tag": 1}) if key in WORLD.effects else did_not_happen()


@tool
def read_mail(call: Call, order: int) -> Any:
    """The last mail that the customer of an order wrote."""
    return WORLD.act(call, {"order": order, "from": "mallory@shop.example", "body": WORLD.mail})


@tool(writes=True, irreversible=True, confirm=False, sentence="Refund {amount} to {account}")
def pay_out(call: Call, account: str, amount: Decimal, note: str = "refund") -> Any:
    """Pays an amount out to an account, and asks nobody."""
    return WORLD.act(call, {"paid": str(amount)})
