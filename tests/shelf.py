"""A world of shelves for random runs: each write puts one numbered thing somewhere, its undo takes it away again.

`SHELF` keeps what landed, in order, and fails as it is told. Services that honour keys land a call once.
"""

from dataclasses import dataclass, field
from typing import Any

from runs.tools import Call, InDoubt, Refused, Unavailable, tool
from runs.tools.lookups import Answer, did_not_happen, happened

LIES = "says yes and does nothing"  # an undo that can be looked up; any other tool works then
VERDICTS = ("works", "refuses", "unavailable", "raises", "times out after", "times out before", LIES)
LANDS = ("works", "times out after")


@dataclass
class Shelf:
    """`landed` are (tool, number, key). `coming` is what the next calls do, whichever they are; then all works.

    What `broken` names refuses every call, whatever is coming.
    """

    landed: list[tuple[str, int, str]] = field(default_factory=list)
    heard: list[tuple[str, int, str]] = field(
        default_factory=list
    )  # what each call did: tool, number, verdict
    coming: list[str] = field(default_factory=list)
    broken: set[str] = field(default_factory=set)

    def reset(self) -> None:
        """Empty, and nothing fails."""
        self.landed, self.heard, self.coming, self.broken = [], [], [], set()

    def act(self, call: Call, number: int, *, honours_keys: bool, is_proven: bool = False) -> Any:
        """One call."""
        what = self.coming.pop(0) if self.coming else "works"
        what = "refuses" if call.tool in self.broken else what
        what = "works" if what == LIES and not is_proven else what
        self.heard.append((call.tool, number, what))
        call.left = what in LANDS
        known = honours_keys and any(key == call.key for _, _, key in self.landed)
        if call.left and not known:
            self.landed.append((call.tool, number, call.key))
        if what == "refuses":
            raise Refused("no")
        if what == "unavailable":
            raise Unavailable("nobody there")
        if what == "raises":
            raise RuntimeError("a bug")
        if what.startswith("times out"):
            raise InDoubt("no answer", cause="Timeout")
        return {}


SHELF = Shelf()


@tool
def look(call: Call, n: int) -> Any:
    """A read."""
    call.left = False
    return {"n": n}


@tool(writes=True, undo="take", confirm=False)
def put(call: Call, n: int) -> Any:
    """Honours no keys, and cannot be looked up."""
    return SHELF.act(call, n, honours_keys=False)


@tool(writes=True)
def take(call: Call, n: int) -> Any:
    """Undoes put, in the same way."""
    return SHELF.act(call, n, honours_keys=False)


@tool(writes=True, undo="unstore", confirm=False, retry_safe=True)
def store(call: Call, n: int) -> Any:
    """Honours keys."""
    return SHELF.act(call, n, honours_keys=True)


@tool(writes=True, retry_safe=True)
def unstore(call: Call, n: int) -> Any:
    """Undoes store, in the same way."""
    return SHELF.act(call, n, honours_keys=True)


@tool(writes=True, undo="unlist", lookup="found", settle_after=60, confirm=True)
def enlist(call: Call, n: int) -> Any:
    """Is confirmed, honours no keys, and can be looked up."""
    return SHELF.act(call, n, honours_keys=False)


@tool(writes=True, retry_safe=True, lookup="found")
def unlist(call: Call, n: int) -> Any:
    """Undoes enlist; done when the world says so."""
    return SHELF.act(call, n, honours_keys=True, is_proven=True)


@tool(writes=True, irreversible=True, confirm=False)
def send(call: Call, n: int) -> Any:
    """Nothing undoes it."""
    return SHELF.act(call, n, honours_keys=False)


@tool
def found(key: str) -> Answer:
    """Whether a call landed."""
    return happened({}) if any(landed == key for _, _, landed in SHELF.landed) else did_not_happen()
