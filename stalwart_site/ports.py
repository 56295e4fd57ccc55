"""Ports and the addresses behind them."""

import errno
import http.client
import socket
from argparse import ArgumentTypeError
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, build_opener

# What we ask is on this machine: a proxy of the environment has no business with it.
_opener = build_opener(ProxyHandler({}))


def port_number(text: str) -> int:
    """An option's value as a port. ArgumentTypeError when it is none."""
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise ArgumentTypeError(f"{text!r} is not a port: 1 to 65535")
    return int(text)


def is_free(host: str, port: int) -> bool:
    """Whether a server could listen there now. OSError when the host is not an address of this machine."""
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, kind, protocol) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do
        try:
            probe.bind(address)
            probe.listen(1)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return False
            raise
    return True


def free_port() -> int:
    """A port of 127.0.0.1 that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def status_of(url: str, seconds: float = 1.0) -> int | None:
    """The status that a GET of the URL is answered with; None when no answer comes within the time."""
    try:
        with _opener.open(url, timeout=seconds) as response:
            return int(response.status)
    except HTTPError as answer:
        answer.close()
        return answer.code
    except (URLError, OSError, http.client.HTTPException):
        return None
