"""Talking to the process that runs the peers (bench/peers.py)."""

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bench.stopwatch import Stopwatch

ROOT = Path(__file__).resolve().parent.parent
PEERS = {"dbos": "DBOS, workflows", "langgraph": "LangGraph, graphs"}
MISSING = "not installed: pip install --require-hashes -r requirements/bench.txt"


class Peers:
    """That process. `installed` are the peers it has, with their versions."""

    def __init__(self, python: str, databases: Mapping[str, str]) -> None:
        """`databases`: a URL for each peer."""
        self._process = subprocess.Popen(
            [python, "-m", "bench.peers"],
            cwd=ROOT,
            env=os.environ | {f"BENCH_{name.upper()}_URL": url for name, url in databases.items()},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.installed: dict[str, str] = self._answer()

    def in_runs_of(self, name: str, length: int) -> Callable[[int, Stopwatch], None]:
        """What a case of this peer does: as many runs of `length` steps as there are writes; one shorter at least."""

        def ask(writes: int, watch: Stopwatch) -> None:
            assert self._process.stdin is not None
            steps = min(length, writes)
            with watch.elsewhere() as said:
                print(name, writes // steps, steps, file=self._process.stdin, flush=True)
                said += self._answer()

        return ask

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("bench.steps: the process of the peers has ended; its last words are above")
        return json.loads(line)

    def close(self) -> None:
        """Have it end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
