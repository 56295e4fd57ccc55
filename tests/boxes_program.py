"""A program of its own process: `python -m tests.boxes_program` provisions a box, names it, warms it up.

`fails` at the end raises; `pauses` waits for a file beside BOXES between its second step and its third;
`recover` cleans up after dead ones instead. STALWART_FAULT_POINT says where it dies.
"""

import os
import sys
import time
from pathlib import Path

import django

django.setup()

from runs.saga import Saga, recover
from tests import boxes


class Unhealthy(Exception):
    """The program's own error."""


def program(what: str) -> None:
    """Three steps; the second one can be looked up where `what` says so."""
    with Saga("provision box", by="boxes_program") as saga:
        saga.step("provision", boxes.provision, undo="deprovision", undo_args={"box": "$result.id"})
        if what == "looked-up":
            saga.step(
                "dns",
                boxes.keyed,
                args={"size": "m"},
                undo="deprovision",
                undo_args={"box": "$result.id"},
                lookup="find_box",
                timeout=0.2,
            )
        else:
            saga.step("dns", boxes.add_dns, args={"box": "box-s"}, undo="del_dns")
        if what == "pauses":
            _wait_for(Path(os.environ["BOXES"] + ".go"))
        saga.step("cache", boxes.warm, args={"box": "box-s"}, undo=boxes.cool)
        if what == "fails":
            raise Unhealthy


def _wait_for(path: Path) -> None:
    path.with_suffix(".ready").touch()
    while not path.exists():
        time.sleep(0.02)


if __name__ == "__main__":
    if sys.argv[1:] == ["recover"]:
        for reply in recover():
            print(reply.run, reply.state)
    else:
        program(sys.argv[1] if len(sys.argv) > 1 else "")
