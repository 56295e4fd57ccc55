"""A wire to the database that breaks where a test says: a request does not arrive, or its answer does not.

What arrived is carried out, as a real server does it: it learns only later that nobody listens any more.
"""

import contextlib
import select
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SOCKET = ".s.PGSQL.5432"
DONE = b"Z\x00\x00\x00\x05"  # ReadyForQuery; one byte follows


class Wire:
    """Carries what a client and the server say to each other. It counts the requests of all its connections.

    `request`: nothing of it arrives. `answer`: it is carried out first.
    """

    def __init__(self, server: str) -> None:
        self.folder = tempfile.mkdtemp(prefix="wire-", dir="/tmp")  # a socket's path must be short
        self.broke = False
        self._server = server
        self._how, self._at, self._count = "", frozenset[int](), 0
        self._prepared = b""
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(f"{self.folder}/{SOCKET}")
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def breaks(self, how: str, *at: int) -> None:
        """Break at these requests, counted from now; each time for one connection."""
        self._how, self._at, self._count, self.broke = how, frozenset(at), 0, False

    def breaks_while_the_server_is_at(self, prepared: bytes) -> None:
        """Once: the client prepares a statement with these words, asks for it, and is cut off from the answer."""
        self._prepared = prepared

    def close(self) -> None:
        """Take no more connections."""
        self._listener.close()
        Path(self.folder, SOCKET).unlink()
        Path(self.folder).rmdir()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._server)
                threading.Thread(target=self._carry, args=[client, server], daemon=True).start()

    def _carry(self, client: socket.socket, server: socket.socket) -> None:
        with client, server, contextlib.suppress(OSError):
            is_prepared = False
            for request in self._exchanges(client, server):
                how = self._next()
                if how == "request":
                    return
                if is_prepared:
                    how, self._prepared = "answer", b""
                    client.shutdown(socket.SHUT_RDWR)
                is_prepared = bool(self._prepared) and self._prepared in request
                server.sendall(request)
                if how:
                    while server.recv(1 << 20)[-6:-1] != DONE:
                        pass
                    return

    def _exchanges(self, client: socket.socket, server: socket.socket) -> Iterator[bytes]:
        """What the client says, each time; what the server says goes to the client."""
        while True:
            for speaker in select.select([client, server], [], [])[0]:
                said = speaker.recv(1 << 20)
                if not said:
                    return
                if speaker is client:
                    yield said
                else:
                    client.sendall(said)

    def _next(self) -> str:
        self._count += 1
        breaks = self._count in self._at
        self.broke = self.broke or breaks
        return self._how if breaks else ""


@contextlib.contextmanager
def between(connection: Any) -> Iterator[Wire]:
    """A wire between this process and its database, for every connection that it opens from now on."""
    connection.ensure_connection()
    info, settings = connection.connection.info, connection.settings_dict
    host, wire = settings["HOST"], Wire(f"{info.host}/.s.PGSQL.{info.port}")
    connection.close()
    settings["HOST"] = wire.folder
    try:
        yield wire
    finally:
        connection.close()
        settings["HOST"] = host
        wire.close()
