"""One POST to an address that somebody typed in: where it may go, and that it goes there and nowhere else.

The name is looked up here, and the connection is made to the very address that was looked at, so that a name which says
something else a moment later leads nowhere new. Addresses of a private network, of this machine and of the cloud's own
services are refused unless STALWART_WEBHOOKS_PRIVATE=1. No redirect is followed, no proxy of the environment is used,
and what the other side answers is not read, but for its status.
"""

import functools
import ipaddress
import socket
import ssl

import httpx
from django.conf import settings


class NotPublic(Exception):
    """The address is not of the public network; set STALWART_WEBHOOKS_PRIVATE=1 to send there all the same."""

    def __str__(self) -> str:
        return self.__doc__ or ""


def post(url: str, body: str, headers: dict[str, str]) -> int:
    """Send it; returns the status. Raises NotPublic, OSError, httpx.HTTPError."""
    target = httpx.URL(url)
    address = address_of(target.host, target.port or (443 if target.scheme == "https" else 80))
    there = target.copy_with(host=address)
    named = headers | {"host": target.netloc.decode()}
    with (
        httpx.Client(timeout=settings.DELIVERY_TIMEOUT_SECONDS, trust_env=False, verify=_trusted()) as client,
        client.stream(
            "POST", there, content=body.encode(), headers=named, extensions={"sni_hostname": target.host}
        ) as response,
    ):
        return response.status_code


@functools.cache
def _trusted() -> ssl.SSLContext:
    """The certificates that this machine trusts, or those of SSL_CERT_FILE."""
    return ssl.create_default_context()


def address_of(host: str, port: int) -> str:
    """An address of this name; all that it has must be public. Raises NotPublic, OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = [str(address[0]).partition("%")[0] for *_, address in found]
    if not settings.WEBHOOKS_PRIVATE and not all(map(_is_public, addresses)):
        raise NotPublic
    return addresses[0]


def _is_public(address: str) -> bool:
    known = ipaddress.ip_address(address)
    inside = getattr(known, "ipv4_mapped", None) or known
    return inside.is_global and not inside.is_multicast
