"""gunicorn, run from Python: threads, since a page or a long poll waits for the database most of its time."""

import signal
from typing import Any

from django.core.handlers.wsgi import WSGIHandler
from django.db import connections
from gunicorn.app.base import BaseApplication  # type: ignore[import-untyped]

from runs.workers import Heartbeat
from stalwart_site.processes import signal_me_when_parent_dies


class _Server(BaseApplication):  # type: ignore[misc]
    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options
        super().__init__()

    def load_config(self) -> None:
        for name, value in self._options.items():
            self.cfg.set(name, value)

    def load(self) -> WSGIHandler:
        from stalwart_site.wsgi import application

        return application


def run(host: str, port: int, processes: int, threads: int) -> None:
    """Serve until SIGTERM or SIGINT. Requests under way get 3 seconds: a long poll is cut and asked again."""
    connections.close_all()  # none may cross the fork
    address = f"[{host}]" if ":" in host else host
    _Server(
        {
            "bind": f"{address}:{port}",
            "worker_class": "gthread",
            "workers": processes,
            "threads": threads,
            "graceful_timeout": 3,
            "keepalive": 15,
            "loglevel": "warning",
            "control_socket_disable": True,
            "post_fork": _die_with_parent,
            "post_worker_init": _begin_to_beat,
            "worker_exit": _stop_beating,
        }
    ).run()


def _die_with_parent(arbiter: object, worker: object) -> None:
    signal_me_when_parent_dies(signal.SIGTERM)


def _begin_to_beat(worker: Any) -> None:
    worker.heartbeat = Heartbeat("web")
    worker.heartbeat.start()


def _stop_beating(arbiter: object, worker: Any) -> None:
    """In the process that ends. Its parent, where it finds one that is gone, has none to stop."""
    if heartbeat := getattr(worker, "heartbeat", None):
        heartbeat.stop()
