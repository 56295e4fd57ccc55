"""What one write costs: the floor, ours, and two peers, on one PostgreSQL, in one run.

    python -m bench.steps [--writes 300] [--rounds 5] [--peers-python PATH] [--json]

The rounds are interleaved (each case once, then all of them again), so that what else the machine does meets
every case alike. Not a test: nothing fails for being slow. docs/benchmarks.md says how to read the table.
"""

import argparse
import contextlib
import json
import os
import platform
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.floors import Floor
from bench.installation import installed
from bench.peering import MISSING, PEERS, Peers
from bench.report import as_text, summary
from bench.server import Server, serve
from bench.stopwatch import Cost, Stopwatch, Watch
from bench.wire import Trace

HERE = Path(__file__).resolve().parent
FLOOR = "floor, one commit"
LENGTHS = (10, 100, 1000)  # of runs
WARM_UP = 50


@dataclass
class Case:
    """One row: `work(writes, watch)` does that many writes. `costs` has one entry for each round."""

    name: str
    writes: int
    work: Callable[[int, Any], None]
    costs: list[Cost] = field(default_factory=list)

    def measure(self, server: Server, writes: int = 0) -> Cost:
        """Do it once."""
        watch = Stopwatch(server)
        self.work(writes or self.writes, watch)
        return watch.per(writes or self.writes)


def main() -> None:
    """Measure and print."""
    options = _options()
    with serve() as server, installed(server.database("stalwart"), str(HERE / "agent.yaml")):
        report = _report(server, options)
    print(json.dumps(report, indent=1) if options.json else as_text(report))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.steps", description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--writes", type=int, default=300, help="of a case in each round (default: %(default)s)"
    )
    parser.add_argument("--rounds", type=int, default=5, help="(default: %(default)s)")
    parser.add_argument(
        "--peers-python", default=sys.executable, help="the Python that has the peers' packages"
    )
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    return parser.parse_args()


def _report(server: Server, options: argparse.Namespace) -> dict[str, Any]:
    """1. a worker's memory;  2. a warm-up;  3. what goes over the wire;  4. the rounds."""
    from bench import memory  # Django is set up now

    machine = {"cores": _cores(), "load": os.getloadavg()[0], "python": platform.python_version()}
    worker = memory.of_worker()
    with (
        contextlib.closing(Floor(server.database("floor"))) as floor,
        contextlib.closing(
            Peers(options.peers_python, {name: server.database(name) for name in PEERS})
        ) as peers,
    ):
        cases = [*_floors(floor, options.writes), *_ours(options.writes), *_peers(peers, options.writes)]
        for case in cases:
            case.measure(server, WARM_UP)
        wire = _wire(floor, options.writes)
        for _ in range(options.rounds):
            for case in cases:
                case.costs.append(case.measure(server))
    base = next(case.costs for case in cases if case.name == FLOOR)
    return {
        "machine": machine | server.facts() | {"server_cpu": base[0].server > 0},
        "writes": options.writes,
        "rounds": options.rounds,
        "peers": peers.installed,
        "cases": {case.name: summary(case.costs, base) for case in cases},
        "missing": {PEERS[name]: MISSING for name in PEERS if name not in peers.installed},
        "wire": wire,
        "worker": asdict(worker),
        "here": memory.here(),
    }


def _floors(floor: Floor, writes: int) -> list[Case]:
    return [Case("floor, two commits", writes, floor.two_commits), Case(FLOOR, writes, floor.one_commit)]


def _ours(writes: int) -> list[Case]:
    """Of a run longer than `writes`, one is carried out."""
    from bench import ours

    def in_runs_of(length: int) -> Callable[[int, Watch], None]:
        return lambda count, watch: ours.in_runs_of(min(length, count), count, watch)

    cases = [Case(f"ours, runs of {n}", _whole(n, writes), in_runs_of(n)) for n in LENGTHS]
    return [*cases, Case("ours, each write confirmed", max(writes // 6, 1), ours.confirmed)]


def _peers(peers: Peers, writes: int) -> list[Case]:
    return [
        Case(f"{PEERS[name]} of {n}", _whole(n, writes), peers.in_runs_of(name, n))
        for name in peers.installed
        for n in LENGTHS
    ]


def _whole(length: int, writes: int) -> int:
    """About so many writes, in whole runs."""
    return max(writes // length, 1) * length


def _wire(floor: Floor, writes: int) -> dict[str, dict[str, float]]:
    """For one write of each case whose connection is this process's own."""
    from django.db import connection

    counted = {}
    for case in _floors(floor, writes) + _ours(writes):
        bare = floor.connection if case.name.startswith("floor") else connection.connection
        trace = Trace(bare.pgconn)
        case.work(case.writes, trace)
        counted[case.name] = trace.per(case.writes)
    return counted


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


if __name__ == "__main__":
    main()
