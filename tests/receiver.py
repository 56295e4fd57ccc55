"""A program that is told: a real HTTP server which keeps what it was sent, and answers as it is told."""

import base64
import hashlib
import hmac
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Receiver:
    """`answers` are the statuses of the next requests; without one it is 204. `posts` are (headers, body)."""

    url: str = ""
    answers: list[int] = field(default_factory=list)
    posts: list[tuple[dict[str, str], str]] = field(default_factory=list)
    then: Callable[[], object] | None = (
        None  # is called once, when a message is there and before it is answered
    )

    @property
    def told(self) -> list[dict[str, Any]]:
        """The messages, oldest first."""
        return [json.loads(body) for _, body in self.posts]

    @property
    def ids(self) -> list[str]:
        """Their ids."""
        return [headers["webhook-id"] for headers, _ in self.posts]


def is_signed(secret: str, headers: dict[str, str], body: str) -> bool:
    """As https://github.com/standard-webhooks/standard-webhooks has it for whoever receives."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.{body}".encode()
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    given = [part.partition(",") for part in headers["webhook-signature"].split(" ")]
    return any(version == "v1" and hmac.compare_digest(made, expected) for version, _, made in given)


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver on this machine."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            receiver.posts.append(({name.lower(): value for name, value in self.headers.items()}, body))
            then, receiver.then = receiver.then, None
            if then:
                then()
            self.send_response(receiver.answers.pop(0) if receiver.answers else 204)
            self.send_header("location", f"{receiver.url}/elsewhere")
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            """Nothing on the terminal of the tests."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.url = f"http://localhost:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
