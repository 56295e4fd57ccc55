"""The undo order of a run as a picture: the writes going down, their undos coming back up.

Plain numbers for a template that draws SVG; the same facts stand beside it as a list.
"""

from dataclasses import dataclass
from itertools import pairwise

from runs.agentfile import AgentSpec
from runs.models import Step
from runs.states import STEP_ENDS, STEP_STOPS, StepState
from runs.views.calls import undo_words
from runs.views.looks import look_of_step

BOX_WIDTH, BOX_HEIGHT, PITCH, GAP, MARGIN = 132, 36, 58, 36, 2
LETTERS = 19  # of a name that fit into a box
MOST = 14  # writes that a picture shows; more are only listed


@dataclass(frozen=True)
class Box:
    """A step in the picture. `name` is cut to fit; `full` is not."""

    x: int
    y: int
    name: str
    full: str
    tint: str
    planned: bool = False

    width = BOX_WIDTH
    height = BOX_HEIGHT

    @property
    def next_top(self) -> int:
        """Where the box below it begins."""
        return self.y + PITCH

    @property
    def label_x(self) -> int:
        """Where words beside it begin."""
        return self.right + 10

    @property
    def middle(self) -> int:
        """The height of its middle."""
        return self.y + BOX_HEIGHT // 2

    @property
    def bottom(self) -> int:
        """Its lower edge."""
        return self.y + BOX_HEIGHT

    @property
    def centre(self) -> int:
        """The middle of its width."""
        return self.x + BOX_WIDTH // 2

    @property
    def right(self) -> int:
        """Its right edge."""
        return self.x + BOX_WIDTH


@dataclass(frozen=True)
class UndoRow:
    """One write, and what undoes it, did undo it, or why nothing does."""

    write: Box
    undo: Box | None
    words: str
    mark: str  # in the picture, where there is no undo


@dataclass(frozen=True)
class Climb:
    """An arrow from one undo up to the next."""

    x: int
    start: int
    end: int
    planned: bool


@dataclass(frozen=True)
class UndoOrder:
    """The picture (`rows`, by number) and the list (`order`, latest first)."""

    rows: tuple[UndoRow, ...]
    order: tuple[UndoRow, ...]
    climbs: tuple[Climb, ...]
    turn: str  # the path from the write that failed to the first undo
    width: int
    height: int
    is_drawn: bool


def undo_order(steps: list[Step], spec: AgentSpec) -> UndoOrder:
    """The writes of a run and their undos, as far as they are known."""
    undos = {step.undoes_id: step for step in steps if step.undoes_id}
    writes = [step for step in steps if _is_write(step, spec)]
    rows = tuple(_row(index, step, undos.get(step.pk), spec) for index, step in enumerate(writes))
    undone = [row for row in rows if row.undo]
    failed = [row for row, step in zip(rows, writes, strict=True) if step.state in STEP_STOPS]
    return UndoOrder(
        rows=rows,
        order=tuple(reversed(rows)),
        climbs=tuple(_climb(low, high) for high, low in pairwise(undone)),
        turn=_turn(failed[0], undone[-1]) if failed and undone else "",
        width=2 * BOX_WIDTH + GAP + 2 * MARGIN,
        height=max(len(rows) * PITCH - (PITCH - BOX_HEIGHT) + 2 * MARGIN, 0),
        is_drawn=bool(undone) and len(rows) <= MOST,
    )


def _is_write(step: Step, spec: AgentSpec) -> bool:
    tool = spec.catalogue.get(step.tool)
    skipped = step.state in (StepState.CANCELLED, StepState.DECLINED)
    return step.undoes_id is None and not skipped and (tool is None or tool.writes)


def _row(index: int, write: Step, undo: Step | None, spec: AgentSpec) -> UndoRow:
    y = MARGIN + index * PITCH
    ended_badly = write.state in STEP_ENDS and write.state not in (StepState.PERFORMED, StepState.UNDONE)
    words = undo_words(write, spec)
    name = undo.tool if undo else "" if ended_badly else words.tool
    left = box(MARGIN, y, f"{write.number} {write.tool}", _tint(write))
    right = MARGIN + BOX_WIDTH + GAP
    back = box(right, y, name, _tint(undo) if undo else "quiet", planned=undo is None) if name else None
    mark = "" if back or ended_badly else "stays" if _is_done(write) else "would stay"
    return UndoRow(left, back, _words(write, undo, name, words.why_not, ended_badly), mark)


def _words(write: Step, undo: Step | None, name: str, why_not: str, ended_badly: bool) -> str:
    if undo:
        return f"{undo.tool}: {look_of_step(undo).word}"
    if ended_badly:
        return f"{look_of_step(write).word}; nothing to undo"
    if name:
        return f"{name} would undo it"
    return f"stays: {why_not}" if _is_done(write) else f"would stay: {why_not}"


def _is_done(write: Step) -> bool:
    return write.state == StepState.PERFORMED


def _tint(step: Step) -> str:
    if step.state == StepState.UNDONE:
        return "done"  # it was done; its undo stands beside it
    if step.undoes_id and step.state == StepState.PERFORMED:
        return "undone"
    return look_of_step(step).tint


def box(x: int, y: int, name: str, tint: str, *, planned: bool = False) -> Box:
    """A box whose name is cut to fit."""
    short = name if len(name) <= LETTERS else f"{name[: LETTERS - 1]}…"
    return Box(x, y, short, name, tint, planned)


def _climb(low: UndoRow, high: UndoRow) -> Climb:
    assert low.undo
    assert high.undo
    return Climb(low.undo.centre, low.undo.y, high.undo.bottom, low.undo.planned or high.undo.planned)


def _turn(failed: UndoRow, last: UndoRow) -> str:
    """From the right of what failed, curving up to the undo that comes first."""
    assert last.undo
    start, end = failed.write, last.undo
    return f"M{start.right} {start.middle}Q{end.centre} {start.middle} {end.centre} {end.bottom}"
