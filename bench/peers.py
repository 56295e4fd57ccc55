"""The peers, in a process of their own: their packages need not be where ours are.

    python -m bench.peers            reads "<peer> <runs> <steps of each>" lines, answers each with one line of JSON

The first line it writes says which peers are installed. Imports nothing of ours.
"""

import contextlib
import importlib.metadata
import json
import os
import sys
import time
import uuid
from typing import Any, TypedDict


class State(TypedDict):
    """Of the graph: how far it is, and how far it goes."""

    n: int
    end: int


def dbos() -> Any:
    """DBOS: a workflow whose steps do nothing; each step's result is one commit."""
    from dbos import DBOS

    DBOS(config={"name": "bench", "system_database_url": os.environ["BENCH_DBOS_URL"], "log_level": "ERROR"})
    put = DBOS.step()(_put)

    def flow(steps: int) -> None:
        for n in range(steps):
            put(n)

    workflow = DBOS.workflow()(flow)
    DBOS.launch()
    return workflow


def _put(n: int) -> dict[str, int]:
    return {"n": n}


def langgraph() -> Any:
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


PEERS = {"dbos": (dbos, ["dbos"]), "langgraph": (langgraph, ["langgraph", "langgraph-checkpoint-postgres"])}


def installed() -> dict[str, str]:
    """The peers that are here, with their versions."""
    found = {}
    for name, (_, packages) in PEERS.items():
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions = [importlib.metadata.version(package) for package in packages]
            found[name] = versions[0]
    return found


def main() -> None:
    """Answer until the input ends."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a peer prints is no answer
    here = installed()
    print(json.dumps(here), file=answers)
    works: dict[str, Any] = {name: PEERS[name][0]() for name in here}
    for line in sys.stdin:
        name, runs, steps = line.split()
        client, wall = time.process_time(), time.perf_counter()
        for _ in range(int(runs)):
            works[name](int(steps))
        print(json.dumps([time.perf_counter() - wall, time.process_time() - client]), file=answers)
    os._exit(0)  # a peer's own threads do not hold us


if __name__ == "__main__":
    main()
