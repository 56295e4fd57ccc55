"""What goes over the wire for one write, from libpq's own trace: the same on every machine, every time."""

import contextlib
import re
import tempfile
from collections import Counter
from collections.abc import Iterator

from psycopg import pq

MESSAGE = re.compile(r"^([FB])\t(\d+)\t(\w+)", re.MULTILINE)


class Trace:
    """A watch that counts what a connection sends and how often it is answered."""

    def __init__(self, connection: pq.abc.PGconn) -> None:
        self._connection = connection
        self._messages: Counter[str] = Counter()
        self._bytes = 0

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Count."""
        with tempfile.TemporaryFile("w+", errors="replace") as file:
            self._connection.trace(file.fileno())
            self._connection.set_trace_flags(pq.Trace.SUPPRESS_TIMESTAMPS)
            try:
                yield
            finally:
                self._connection.untrace()
            file.seek(0)
            for side, size, kind in MESSAGE.findall(file.read()):
                self._messages[f"{side} {kind}"] += 1
                self._bytes += int(size) + 1 if side == "F" else 0

    def per(self, writes: int) -> dict[str, float]:
        """For one of this many writes.

        `statements` are carried out, BEGIN and COMMIT among them; `parsed` are those that the server had to
        parse anew, the rest being prepared; `answers` is how often the server was told to answer before going
        on (ReadyForQuery): the round trips, but for those that were sent together.
        """
        simple = self._messages["F Query"]
        totals = {
            "statements": self._messages["F Execute"] + simple,
            "parsed": self._messages["F Parse"] + simple,
            "answers": self._messages["B ReadyForQuery"],
            "bytes": self._bytes,
        }
        return {name: total / writes for name, total in totals.items()}
