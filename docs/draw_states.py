"""Draws docs/states.md from the tables in runs/states.py, so that they cannot drift apart.

python -m docs.draw_states        writes the file; a test compares it
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from runs.states import ENTRY_MOVES, RUN_ENDS, RUN_MOVES, STEP_MOVES, RunState, StepState

State = TypeVar("State", bound=StrEnum)
TARGET = Path(__file__).with_name("states.md")

HEAD = """# The states

Made from `runs/states.py` by `python -m docs.draw_states`. A state says who must act.
"""


def drawing() -> str:
    """The whole page."""
    return "\n".join(
        [
            HEAD,
            *_machine("A run", RUN_MOVES, [RunState.READY], RUN_ENDS),
            *_machine("A step", STEP_MOVES, [StepState.PROPOSED, StepState.DECIDING], frozenset()),
            *_machine("A ledger entry", ENTRY_MOVES, [], frozenset()),
        ]
    )


def _machine(
    title: str, moves: Mapping[State, frozenset[State]], first: Sequence[StrEnum], ends: frozenset[State]
) -> list[str]:
    lines = [f"## {title}", "", "```mermaid", "stateDiagram-v2"]
    lines += [f"    [*] --> {state}" for state in first]
    for state, nexts in moves.items():
        lines += [f"    {state} --> {after}" for after in sorted(nexts)]
    lines += [f"    {state} --> [*]" for state in moves if state in ends]
    return [*lines, "```", ""]


if __name__ == "__main__":
    TARGET.write_text(drawing())
