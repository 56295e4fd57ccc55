"""The peers, each in a process of its own that may be killed (bench/crash.py). Imports nothing of ours.

    python -m bench.crash_peers dbos|langgraph start|recover

The job is as their guides have it: DBOS, a workflow of two steps; LangGraph, a graph of two nodes whose side effects
are tasks, with a checkpointer and `durability="sync"`. Recovery is theirs as well: DBOS goes on at its launch,
LangGraph when the thread is invoked again without input.

CRASH_KEYED=1 sends an idempotency key that is the same whenever the step runs, as both guides recommend for side
effects; otherwise each call is a new request. CRASH_DIE=1 kills the process after the first write's effect.
"""

import json
import os
import signal
import sys
import uuid
from collections.abc import Callable
from typing import Any, TypedDict
from urllib.request import ProxyHandler, Request, build_opener

SERVICES, CASE = os.environ["STALWART_SERVICES_URL"], os.environ["CRASH_CASE"]
_open = build_opener(ProxyHandler({})).open


class State(TypedDict, total=False):
    """Of the graph."""

    charge: str
    status: str


def charge(key: str) -> str:
    """The first write. Where it is told to, the process dies with its answer in hand."""
    said = post("/payments/charges", {"order": 4411, "amount": "40.00"}, key)
    if os.environ.get("CRASH_DIE") == "1":
        os.kill(os.getpid(), signal.SIGKILL)
    return str(said["charge"])


def mark_paid(key: str) -> str:
    """The second write."""
    return str(post("/crm/orders/4411/status", {"status": "paid"}, key)["status"])


def post(path: str, body: dict[str, Any], key: str) -> Any:
    """Send one request to the practice services, and tell that it was sent."""
    print(json.dumps({"sent": path}), flush=True)
    sent = key if os.environ.get("CRASH_KEYED") == "1" else str(uuid.uuid4())
    headers = {"Content-Type": "application/json", "Idempotency-Key": sent, "X-Stalwart-Run": CASE}
    with _open(Request(SERVICES + path, json.dumps(body).encode(), headers), timeout=30) as answer:
        return json.load(answer)


def dbos() -> dict[str, Callable[[], object]]:
    """A workflow of two steps."""
    from dbos import DBOS, SetWorkflowID

    DBOS(config={"name": "crash", "system_database_url": os.environ["CRASH_DATABASE"], "log_level": "ERROR"})

    @DBOS.step()
    def charge_step() -> str:
        return charge(f"{DBOS.workflow_id}-{DBOS.step_id}")

    @DBOS.step()
    def mark_step() -> str:
        return mark_paid(f"{DBOS.workflow_id}-{DBOS.step_id}")

    @DBOS.workflow()
    def job() -> str:
        charge_step()
        return mark_step()

    DBOS.launch()  # what was pending goes on here

    def start() -> str:
        with SetWorkflowID(CASE):
            return job()

    return {"start": start, "recover": lambda: DBOS.retrieve_workflow(CASE).get_result()}


def langgraph() -> dict[str, Callable[[], object]]:
    """A graph of two nodes; their side effects are tasks."""
    import psycopg
    from langgraph.checkpoint.postgres import PostgresSaver
    from langgraph.func import task
    from langgraph.graph import END, START, StateGraph
    from psycopg.rows import dict_row

    charge_task, mark_task = task(charge), task(mark_paid)
    url = os.environ["CRASH_DATABASE"]
    saver = PostgresSaver(psycopg.connect(url, autocommit=True, prepare_threshold=0, row_factory=dict_row))
    saver.setup()
    graph: Any = StateGraph(State)
    graph.add_node("charge", lambda state: {"charge": charge_task(f"{CASE}-charge").result()})
    graph.add_node("mark", lambda state: {"status": mark_task(f"{CASE}-mark").result()})
    for before, after in ((START, "charge"), ("charge", "mark"), ("mark", END)):
        graph.add_edge(before, after)
    compiled = graph.compile(checkpointer=saver)
    config = {"configurable": {"thread_id": CASE}}
    return {
        "start": lambda: compiled.invoke({}, config, durability="sync"),
        "recover": lambda: compiled.invoke(None, config, durability="sync"),
    }


def main() -> None:
    """Do what is asked, and say that it is done."""
    peer, verb = sys.argv[1:]
    {"dbos": dbos, "langgraph": langgraph}[peer]()[verb]()
    print(json.dumps({"done": True}), flush=True)
    os._exit(0)  # a peer's own threads do not hold us


if __name__ == "__main__":
    main()
