"""`Authorization: Bearer stw_…`, and nothing else: a browser's session does not open the API."""

from typing import Any, cast

from django.contrib.auth.models import AnonymousUser, User
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from runs import tokens
from runs.access import Actor, bearer

SCHEME = "bearer"
CHALLENGE = 'Bearer realm="stalwart"'


class BearerToken(BaseAuthentication):
    """`request.auth` is the Actor of the token; without one it is None, and the endpoint's rule refuses."""

    def authenticate(self, request: Request) -> tuple[User | AnonymousUser, Actor] | None:
        """Raises AuthenticationFailed (401) for a token that is malformed, unknown or revoked."""
        header = request.META.get("HTTP_AUTHORIZATION", "")
        scheme, _, text = header.partition(" ")
        if not header or scheme.lower() != SCHEME:
            return None
        token = tokens.verify(text.strip())
        if token is None:
            raise AuthenticationFailed("This token is not known here, or was revoked.")
        return cast(User, token.user) or AnonymousUser(), bearer(token)

    def authenticate_header(self, request: Request) -> str:
        """The WWW-Authenticate of a 401."""
        return CHALLENGE


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How OpenAPI names it."""

    target_class = BearerToken
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        """RFC 6750."""
        said = "`stalwart token create` makes one. Scopes: agent, approver, operator."
        return {"type": "http", "scheme": SCHEME, "bearerFormat": "stw_…", "description": said}


def actor_of(request: Request) -> Actor:
    """Who asks. Every endpoint but the public ones has one by then."""
    return cast(Actor, request.auth)
