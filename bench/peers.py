"""The peers, in a process of their own: their packages need not be where ours are.

    python -m bench.peers            reads "<peer> <steps>" lines, answers each with one line of JSON

The first line it writes says which peers are installed. Imports nothing of ours.
"""

import importlib.metadata
import json
import os
import sys
import time
import uuid
from collections.abc import Callable
from typing import Any, TypedDict

Work = Callable[[int], object]


class State(TypedDict):
    """Of the graph: how far it is, and how far it goes."""

    n: int
    end: int


def dbos() -> Work:
    """DBOS: a workflow whose steps do nothing; each step's result is one commit."""
    from dbos import DBOS

    DBOS(config={"name": "bench", "system_database_url": os.environ["BENCH_DBOS_URL"], "log_level": "ERROR"})

    @DBOS.step()
    def put(n: int) -> dict[str, int]:
        return {"n": n}

    @DBOS.workflow()
    def flow(steps: int) -> None:
        for n in range(steps):
            put(n)

    DBOS.launch()
    return flow


def langgraph() -> Work:
    """LangGraph: a graph whose one node runs again and again; each run's checkpoint is on the disk before the next."""
    import psycopg
    from langgraph.checkpoint.postgres import PostgresSaver
    from langgraph.graph import END, START, StateGraph
    from psycopg.rows import dict_row

    url = os.environ["BENCH_LANGGRAPH_URL"]
    saver = PostgresSaver(psycopg.connect(url, autocommit=True, prepare_threshold=0, row_factory=dict_row))
    saver.setup()
    graph: Any = StateGraph(State)
    graph.add_node("put", lambda state: {"n": state["n"] + 1})
    graph.add_edge(START, "put")
    graph.add_conditional_edges("put", lambda state: END if state["n"] == state["end"] else "put")
    compiled = graph.compile(checkpointer=saver)

    def flow(steps: int) -> None:
        config = {"configurable": {"thread_id": str(uuid.uuid4())}, "recursion_limit": steps + 10}
        done = compiled.invoke({"n": 0, "end": steps}, config, durability="sync")
        assert done["n"] == steps

    return flow


PEERS = {"dbos": (dbos, "dbos"), "langgraph": (langgraph, "langgraph-checkpoint-postgres")}


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def main() -> None:
    """Answer until the input ends."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a peer prints is no answer
    installed = {name: _version(name) for name, (_, package) in PEERS.items() if _version(package)}
    print(json.dumps(installed), file=answers)
    works = {name: PEERS[name][0]() for name in installed}
    for line in sys.stdin:
        name, steps = line.split()
        client, wall = time.process_time(), time.perf_counter()
        works[name](int(steps))
        print(json.dumps([time.perf_counter() - wall, time.process_time() - client]), file=answers)
    sys.stderr.flush()
    os._exit(0)  # a peer's own threads do not hold us


if __name__ == "__main__":
    main()
