"""What one language makes of a turn: which stretches of clauses its phrases read, and how these fit together.

A stretch is one clause, or the two clauses that the word of a list holds together: "charge orders 4411" and
"4412 40.00 each". The stretches of a reading cover the turn from its first clause to its last.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from runs.selector.calls import Call, Reading


@dataclass(frozen=True)
class Stretch:
    """`length` clauses, read as these calls. `text` is theirs, as the person wrote it."""

    length: int
    calls: tuple[Call, ...]
    text: str

    @property
    def meaning(self) -> tuple[object, ...]:
        """Equal where the same clauses are read as the same calls."""
        return self.length, Reading(self.calls).meaning


@dataclass(frozen=True)
class Attempt:
    """The clauses of a turn, and for each the stretches that begin with it."""

    clauses: tuple[str, ...]
    stretches: tuple[tuple[Stretch, ...], ...]

    @cached_property
    def _missing(self) -> list[int]:
        """How many clauses from each on cannot be read, at best."""
        missing = [0] * (len(self.clauses) + 1)
        for at in reversed(range(len(self.clauses))):
            read = (missing[at + stretch.length] for stretch in self.stretches[at])
            missing[at] = min([missing[at + 1] + 1, *read])
        return missing

    @property
    def unread(self) -> tuple[str, ...]:
        """The clauses that are in no stretch, where as few as possible are in none."""
        found: list[str] = []
        at = 0
        while at < len(self.clauses):
            fitting = self._fitting(at)
            if not fitting:
                found.append(self.clauses[at])
            at += fitting[0].length if fitting else 1
        return tuple(found)

    @property
    def read(self) -> int:
        """How many clauses are read."""
        return len(self.clauses) - self._missing[0]

    def _fitting(self, at: int) -> list[Stretch]:
        """The stretches from here after which no more than necessary is left unread."""
        return [s for s in self.stretches[at] if self._missing[at + s.length] == self._missing[at]]

    @property
    def unsure(self) -> list[list[Stretch]]:
        """Of a turn that is read: wherever a reading comes to and can go on in more than one way, the ways."""
        reached = {0}
        found = []
        for at in range(len(self.clauses)):
            ways = self._fitting(at) if at in reached else []
            reached.update(at + way.length for way in ways)
            found += [ways] if len(ways) > 1 else []
        return found

    def readings(self, most: int) -> list[Reading]:
        """The different readings of the whole of a turn that is read: all of them, or the first `most`.

        From the last clause to the first, so that no more than `most` are ever held, however many there are.
        """
        after: dict[int, list[Reading]] = {len(self.clauses): [Reading(())]}
        for at in reversed(range(len(self.clauses))):
            ways = (
                Reading(stretch.calls + rest.calls)
                for stretch in self._fitting(at)
                for rest in after[at + stretch.length]
            )
            after[at] = different(ways)[:most]
        return after[0]


def different(readings: Iterable[Reading]) -> list[Reading]:
    """The readings without repeats."""
    return list({reading.meaning: reading for reading in readings}.values())
