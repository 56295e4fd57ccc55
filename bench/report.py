"""The figures as a table."""

import statistics
from collections.abc import Iterator, Sequence
from typing import Any

from bench.stopwatch import Cost

TARGET_RATIO, TARGET_MIB = 4, 150


def summary(costs: Sequence[Cost], floor: Sequence[Cost]) -> dict[str, float]:
    """Of one write, in milliseconds; a ratio is the median of the rounds' own ratios to the floor."""
    pairs = list(zip(costs, floor, strict=True))
    return {
        "median": statistics.median(cost.wall for cost in costs),
        "least": min(cost.wall for cost in costs),
        "ratio": statistics.median(cost.wall / base.wall for cost, base in pairs),
        "client": statistics.median(cost.client for cost in costs),
        "server": statistics.median(cost.server for cost in costs),
        "cpu_ratio": statistics.median(cost.cpu / base.cpu for cost, base in pairs),
    }


def as_text(report: dict[str, Any]) -> str:
    """All of it."""
    return "\n".join([*_head(report), "", *_costs(report), "", *_wire(report["wire"]), "", *_memory(report)])


def _head(report: dict[str, Any]) -> Iterator[str]:
    machine = report["machine"]
    yield (
        f"{machine['cores']} cores (load {machine['load']:.1f} at the start), Python {machine['python']}, PostgreSQL "
        f"{machine['server_version']}, fsync {machine['fsync']}, synchronous_commit {machine['synchronous_commit']}"
    )
    peers = ", ".join(f"{name} {version}" for name, version in report["peers"].items())
    yield f"Beside us: {peers or 'nobody'}"
    yield f"{report['rounds']} interleaved rounds; milliseconds for one write; ratios to the floor of one commit"


def _costs(report: dict[str, Any]) -> Iterator[str]:
    yield f"{'':44}{'median':>8}{'least':>8}{'ratio':>8}   {'CPU: client':>11}{'server':>8}{'ratio':>8}"
    for name, case in report["cases"].items():
        cpu = f"{case['client']:11.2f}{case['server']:8.2f}{case['cpu_ratio']:7.1f}x"
        yield f"{name:44}{case['median']:8.2f}{case['least']:8.2f}{case['ratio']:7.1f}x   {cpu}"
    yield from (f"{name:44}  {why}" for name, why in report["missing"].items())
    yield f"The target: ours, in runs of any length, at most {TARGET_RATIO}x."
    if not report["machine"]["server_cpu"]:
        yield "The server is not this machine's own, or not on Linux: its CPU time is not seen."


def _wire(wire: dict[str, dict[str, float]]) -> Iterator[str]:
    yield f"{'on the wire, for one write':44}{'statements':>11}{'parsed':>8}{'answers':>9}{'bytes':>8}"
    for name, counts in wire.items():
        numbers = f"{counts['statements']:11.2f}{counts['parsed']:8.2f}{counts['answers']:9.2f}{counts['bytes']:8.0f}"
        yield f"{name:44}{numbers}"


def _memory(report: dict[str, Any]) -> Iterator[str]:
    worker = report["worker"]
    yield (
        f"a worker's process: {worker['idle_rss']:.0f} MiB idle, {worker['rss']:.0f} MiB after "
        f"{worker['runs']} runs (target: {TARGET_MIB})"
    )
    yield f"all {worker['processes']} processes of a worker, shared pages once: {worker['together']:.0f} MiB"
    yield f"this process, which carried out the runs above: {report['here']:.0f} MiB"
