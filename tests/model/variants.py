"""The core with a rule taken out, or a constant made smaller: an edit of its source, made in memory only."""

import inspect
import types
from collections.abc import Iterable
from typing import Any, NamedTuple

from runs import next_action as real_next_action
from runs import outcomes as real_outcomes
from tests.model.loop import Core

SOURCES = {
    "next_action": inspect.getsource(real_next_action),
    "outcomes": inspect.getsource(real_outcomes),
}


class Edit(NamedTuple):
    """Lines of a module of the core, and what stands in their place."""

    module: str  # next_action or outcomes
    old: str
    new: str


def core_with(edits: Iterable[Edit]) -> Core:
    """The core after these edits; a line that is not there exactly once is an error."""
    sources = dict(SOURCES)
    for edit in edits:
        times = sources[edit.module].count(edit.old)
        if times != 1:
            raise LookupError(f"runs/{edit.module}.py has this line {times} times, not once: {edit.old!r}")
        sources[edit.module] = sources[edit.module].replace(edit.old, edit.new)
    core, learnt = (_run(name, sources[name]) for name in ("next_action", "outcomes"))
    return Core(
        core["next_action"],
        core["gives_up"],
        core["may_be_completed"],
        learnt["asked"],
        learnt["not_decided"],
        learnt["sending"],
        learnt["called"],
        learnt["looked_up"],
        learnt["interrupted"],
        learnt["settled"],
        learnt["late"],
    )


def _run(name: str, source: str) -> dict[str, Any]:
    module = types.ModuleType(f"runs.{name} (edited)")
    exec(compile(source, module.__name__, "exec"), module.__dict__)
    return module.__dict__
