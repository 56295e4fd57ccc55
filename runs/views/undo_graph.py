"""What undoes what, as a picture: a row for each write, and beside it the tool that undoes it.

Plain numbers for a template that draws SVG; the table of the page says the same in words.
"""

from dataclasses import dataclass

from runs.tools.lints import Finding
from runs.views.catalogue import WriteRow
from runs.views.undo_order import BOX_WIDTH, GAP, MARGIN, MOST, PITCH, Box, box

MARKS = {"no": "stays", "unsaid": "nobody has said"}


@dataclass(frozen=True)
class GraphRow:
    """One write, the tool that undoes it, and a mark in its place where there is none."""

    write: Box
    undo: Box | None
    mark: str
    is_broken: bool


@dataclass(frozen=True)
class UndoGraph:
    """The picture; empty where there is nothing to draw, or too much."""

    rows: tuple[GraphRow, ...]
    width: int
    height: int


def undo_graph(writes: tuple[WriteRow, ...], found: list[Finding]) -> UndoGraph:
    """The writes that do more than undo others; those that only undo stand on the right."""
    circles = {item.tool for item in found if item.lint == "compensation_cycle"}
    drawn = [row for row in writes if row.undo or not row.undoes]
    if len(drawn) > MOST or not any(row.undo for row in drawn):
        drawn = []
    rows = tuple(_row(index, row, row.name in circles) for index, row in enumerate(drawn))
    return UndoGraph(rows, 2 * BOX_WIDTH + GAP + 2 * MARGIN, max(len(rows) * PITCH - PITCH // 3, 0))


def _row(index: int, row: WriteRow, in_circle: bool) -> GraphRow:
    y, broken = MARGIN + index * PITCH, in_circle or row.can_undo == "broken"
    undo = (
        box(MARGIN + BOX_WIDTH + GAP, y, row.undo, "stuck" if broken else "undone", planned=broken)
        if row.undo
        else None
    )
    return GraphRow(box(MARGIN, y, row.name, "quiet"), undo, MARKS.get(row.can_undo, ""), broken)
