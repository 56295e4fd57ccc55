"""A soak: random runs, random faults, random kills, all drawn from one seed; and the count at the end."""

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from runs.models import Run
from tests.crash.load import Load, again, draw
from tests.crash.site import ROLES, Site, pid_of

BETWEEN_KILLS = (1.0, 3.0)  # seconds


@dataclass
class Soak:
    """`alive` runs at a time, while a process is killed every few seconds."""

    site: Site
    load: Load
    seed: int
    alive: int = 12
    kills: Counter[str] = field(default_factory=Counter)

    def run(self, more: Callable[[int], bool], patience: float) -> None:
        """Start runs as long as `more(count so far)` says so; then let all end, within so many seconds, and count."""
        dice = random.Random(self.seed)
        kill_at = time.monotonic()
        while more(len(self.load.runs)):
            self._fill_up()
            self.load.tend()
            self.site.repair()
            self.site.relieve()
            time.sleep(0.02)
            if time.monotonic() > kill_at:
                self._kill(dice.choice(ROLES))
                kill_at = time.monotonic() + dice.uniform(*BETWEEN_KILLS)
        self.site.repair()
        self.load.finish(patience)
        self.load.audit()

    def report(self) -> str:
        """One line: how many runs, how they ended, what was killed."""
        runs = Run.objects.filter(pk__in=[run.pk for run in self.load.runs])
        states = again(lambda: list(runs.values_list("state", flat=True)))
        ended = ", ".join(f"{count} {state}" for state, count in Counter(states).most_common())
        killed = ", ".join(f"{count} {role}" for role, count in self.kills.most_common())
        return f"seed {self.seed}: {len(states)} runs ({ended}); killed: {killed or 'nothing'}"

    def _fill_up(self) -> None:
        for _ in range(self.alive - self.load.alive):
            one = draw(self.seed, len(self.load.runs))
            self.load.start(one.flow, one.faults)

    def _kill(self, role: str) -> None:
        busy = [pid_of(attempt) for attempt in self.load.in_flight]
        if self.site.kill_if_any(role, busy):
            self.kills[role] += 1
