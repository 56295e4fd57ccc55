"""The services' process: gunicorn, one worker of many threads, on the loopback address only."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from flask import Flask
from gunicorn.app.base import BaseApplication  # type: ignore[import-untyped]
from gunicorn.workers.gthread import ThreadWorker  # type: ignore[import-untyped]

from examples.services import faults
from examples.services.app import create_app

HOST = "127.0.0.1"
PR_SET_PDEATHSIG = 1


def listen(port: int) -> int:
    """The descriptor of a socket bound to the port. OSError when it is taken."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen()
    except OSError:
        listener.close()
        raise
    return listener.detach()


def serve(listener: int, database: Path) -> None:
    """Answer on the bound socket until SIGTERM or SIGINT; ends the process with status 0."""
    _Server(listener, database).run()


class _Worker(ThreadWorker):  # type: ignore[misc]
    """Hangs up on whoever waits in a fault when the process is told to exit."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        faults.stopping.set()
        super().handle_exit(sig, frame)

    def handle_quit(self, sig: int, frame: FrameType | None) -> None:
        faults.stopping.set()
        super().handle_quit(sig, frame)


class _Server(BaseApplication):  # type: ignore[misc]
    def __init__(self, listener: int, database: Path) -> None:
        self.listener, self.database = listener, database
        super().__init__()

    def load_config(self) -> None:
        settings: dict[str, Any] = {
            "bind": f"fd://{self.listener}",
            "worker_class": _Worker,
            "workers": 1,
            "threads": 32,  # a fault that waits holds its thread
            "keepalive": 75,  # longer than clients keep idle connections, so that they are the ones to close
            "graceful_timeout": 5,
            "loglevel": "error",
            "control_socket_disable": True,
            "post_fork": _die_with_parent,
        }
        for name, value in settings.items():
            self.cfg.set(name, value)

    def load(self) -> Flask:
        return create_app(self.database)


def _die_with_parent(_: object, worker: ThreadWorker) -> None:
    """A kill -9 of the process that was started ends its worker too (elsewhere than Linux, within 1 s)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != worker.ppid:
            os._exit(0)
