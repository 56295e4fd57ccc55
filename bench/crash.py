"""The same two writes in ours, DBOS and LangGraph, killed after the effect of the first and before its record.

    python -m bench.crash [--peers-python PATH] [--json]

Each job is started in one process, which is really killed (SIGKILL) when the practice service has charged the card
and answered; a fresh process recovers it. What took effect is counted on the service's own books. Not a test:
docs/benchmarks.md says how to read the table.
"""

import argparse
import contextlib
import importlib.util
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import httpx

from bench.peering import MISSING
from bench.server import Server, serve
from examples.services.process import Services, running

HERE = Path(__file__).resolve().parent
CHARGE, MARK = "charge_card", "update_crm"
LEASE_SECONDS = "1"  # of ours; the recovery waits for the dead process's to run out


@dataclass(frozen=True)
class Row:
    """What came of one case. `calls` are the sendings of the first write, both processes together."""

    name: str
    charges: int
    marks: int
    calls: int
    then: str


def main() -> None:
    """Run all cases and print the table."""
    options = _options()
    with serve() as server, _services() as services:
        report = _report(server, services, options.peers_python)
    print(json.dumps(report, indent=1) if options.json else as_text(report))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.crash", description=(__doc__ or "").split("\n")[0])
    python = "the Python that has the peers' packages"
    parser.add_argument("--peers-python", default=sys.executable, help=python)
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    return parser.parse_args()


@contextlib.contextmanager
def _services() -> Iterator[Services]:
    with (
        tempfile.TemporaryDirectory(prefix="stalwart-bench-") as folder,
        running(Path(folder) / "services.sqlite3") as services,
    ):
        yield services


def _report(server: Server, services: Services, python: str) -> dict[str, Any]:
    rows = [_looked_up(server, services), _asked(server, services)]
    missing = {}
    for peer, title in (("dbos", "DBOS"), ("langgraph", "LangGraph")):
        if not _has(python, peer):
            missing[title] = MISSING
            continue
        for keyed in (False, True):
            rows.append(_peer(server, services, python, peer, title, keyed))
    return {
        "machine": {"python": platform.python_version()} | server.facts(),
        "peers": _versions(python),
        "rows": [asdict(row) for row in rows],
        "missing": missing,
    }


# --- Ours -----------------------------------------------------------------------------------------------
def _looked_up(server: Server, services: Services) -> Row:
    """The services have a register of keys, and the tool names the lookup."""
    ours = Ours(server.database("crash"), services, "crash.yaml")
    ours.start("crash")
    said = ours.ask("recover")
    assert said["state"] == "succeeded", said
    charges, marks = _effects(services)
    return Row(
        "ours, the service can be asked", charges, marks, said["calls"], "looked up by its key, and went on"
    )


def _asked(server: Server, services: Services) -> Row:
    """Nothing can look it up."""
    ours = Ours(server.database("crash_blind"), services, "crash_blind.yaml")
    ours.start("crash-blind")
    said = ours.ask("recover")
    assert said["state"] == "waiting", said
    assert _effects(services) == (1, 0)
    said = ours.ask("answer")
    assert said["state"] == "succeeded", said
    charges, marks = _effects(services)
    return Row(
        "ours, nothing can be asked",
        charges,
        marks,
        said["calls"],
        "asked a person, who looked; then went on",
    )


class Ours:
    """Processes of ours on one database. On a fresh one, with the services' books fresh."""

    def __init__(self, database: str, services: Services, agents: str) -> None:
        self.environment = {
            name: value for name, value in os.environ.items() if not name.startswith("STALWART_")
        } | {
            "DATABASE_URL": database,
            "STALWART_SERVICES_URL": services.url,
            "STALWART_AGENTS": str(HERE / agents),
            "STALWART_LEASE_SECONDS": LEASE_SECONDS,
            "STALWART_FAULTS": "1",
        }
        _fresh_books(services)
        _python(sys.executable, ["manage.py", "migrate", "--verbosity", "0"], self.environment)

    def start(self, agent: str) -> None:
        """Start the job in a process that dies after the first write's effect."""
        armed = self.environment | {"STALWART_FAULT_POINT": f"after-call:{CHARGE}"}
        _python(sys.executable, ["-m", "bench.crash_ours", "start", agent], armed, dies=True)

    def ask(self, verb: str) -> dict[str, Any]:
        """Recover, or answer, in a fresh process; returns where the run stands."""
        return dict(_python(sys.executable, ["-m", "bench.crash_ours", verb], self.environment)[-1])


# --- The peers ------------------------------------------------------------------------------------------
def _peer(server: Server, services: Services, python: str, peer: str, title: str, keyed: bool) -> Row:
    case = f"{peer}-{'keyed' if keyed else 'plain'}"
    environment = os.environ | {
        "CRASH_DATABASE": server.database(case.replace("-", "_")),
        "CRASH_CASE": case,
        "CRASH_KEYED": "1" if keyed else "0",
        "STALWART_SERVICES_URL": services.url,
    }
    _fresh_books(services)
    command = ["-m", "bench.crash_peers", peer]
    lines = _python(python, [*command, "start"], environment | {"CRASH_DIE": "1"}, dies=True)
    lines += _python(python, [*command, "recover"], environment)
    charges, marks = _effects(services)
    how = "its step sends an idempotency key" if keyed else "its step is a plain call"
    calls = sum(line.get("sent") == "/payments/charges" for line in lines)
    return Row(f"{title}, {how}", charges, marks, calls, "ran the step again, and went on")


def _has(python: str, package: str) -> bool:
    if python == sys.executable:
        return importlib.util.find_spec(package) is not None
    return (
        subprocess.run([python, "-c", f"import {package}"], capture_output=True, check=False).returncode == 0
    )


def _versions(python: str) -> dict[str, str]:
    """Of the peers that are there."""
    found = subprocess.run(
        [python, "-c", "from bench.peers import installed; import json; print(json.dumps(installed()))"],
        cwd=HERE.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(json.loads(found.stdout))


# --- Processes and books --------------------------------------------------------------------------------
def _python(
    python: str, arguments: list[str], environment: dict[str, str], *, dies: bool = False
) -> list[Any]:
    """Run it to its end, or until it is killed; returns its lines of JSON."""
    done = subprocess.run(
        [python, *arguments], cwd=HERE.parent, env=environment, stdout=subprocess.PIPE, text=True, check=False
    )
    expected = -signal.SIGKILL if dies else 0
    if done.returncode != expected:
        raise SystemExit(f"bench.crash: {' '.join(arguments)} ended with {done.returncode}, not {expected}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def _fresh_books(services: Services) -> None:
    httpx.post(f"{services.url}/reset", trust_env=False).raise_for_status()


def _effects(services: Services) -> tuple[int, int]:
    """How often the card was charged, and the order marked, on the services' own books."""
    changes = httpx.get(f"{services.url}/changes", trust_env=False).raise_for_status().json()
    names = [change["operation"] for change in changes]
    return names.count(CHARGE), names.count(MARK)


def as_text(report: dict[str, Any]) -> str:
    """The table."""
    machine = report["machine"]
    peers = ", ".join(f"{name} {version}" for name, version in report["peers"].items())
    lines = [
        f"Python {machine['python']}, PostgreSQL {machine['server_version']}; beside us: {peers or 'nobody'}",
        "Killed (SIGKILL) after the charge took effect and before that was recorded; recovered in a fresh process.",
        f"{'':47}{'charged':>8}{'marked':>8}{'calls':>7}   then",
    ]
    lines += [
        f"{row['name']:47}{row['charges']:>8}{row['marks']:>8}{row['calls']:>7}   {row['then']}"
        for row in report["rows"]
    ]
    lines += [f"{name:47}  {why}" for name, why in report["missing"].items()]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
