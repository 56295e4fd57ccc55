"""Every error of the API as a problem document (RFC 9457), from this one handler.

    {"type": "/problems/<slug>", "title", "status", "detail", "field": JSON pointer into the body, …}

The slug is stable; the words are for people and may change. What was not expected is a 500 without a trace;
the trace is in the log.
"""

import json
import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpResponse
from rest_framework import exceptions

from runs.errors import BadInput, NotAllowed, NotFound, Problem

CONTENT_TYPE = "application/problem+json"
TYPE = "/problems/"
log = logging.getLogger(__name__)


class Unauthenticated(Problem):
    """A valid token is needed: `Authorization: Bearer stw_…`."""

    status = 401
    type = "unauthenticated"
    title = "Not signed in"


class MethodNotAllowed(Problem):
    """This address does not take this method; the header Allow says which it takes."""

    status = 405
    type = "method-not-allowed"
    title = "Method not allowed"


class UnsupportedMediaType(Problem):
    """The body must be JSON: `Content-Type: application/json`."""

    status = 415
    type = "unsupported-media-type"
    title = "Not JSON"


class InternalError(Problem):
    """Something went wrong on our side. Whether anything was stored is not known: look before you repeat."""

    status = 500
    type = "internal-error"
    title = "Internal error"


class Unavailable(Problem):
    """The database cannot be reached. Send the request again, with the same Idempotency-Key."""

    status = 503
    type = "unavailable"
    title = "Not available now"


class BodyTooLarge(BadInput):
    """The body is larger than 64 KiB."""

    type = "body-too-large"
    title = "The body is too large"


class NotJSON(BadInput):
    """The body is not JSON."""

    type = "not-json"
    title = "The body is not JSON"


def handle(error: Exception, context: Mapping[str, Any]) -> HttpResponse:
    """The response to any error that an endpoint raised: rest_framework's EXCEPTION_HANDLER."""
    problem = as_problem(error)
    if isinstance(problem, InternalError | Unavailable):
        request = context["request"]
        log.error("%s %s failed", request.method, request.path, exc_info=error)
    response = HttpResponse(json.dumps(document(problem)), content_type=CONTENT_TYPE, status=problem.status)
    if challenge := getattr(error, "auth_header", ""):
        response["WWW-Authenticate"] = challenge
    return response


def document(problem: Problem) -> dict[str, Any]:
    """The members of the document; those that say nothing are left out."""
    members = {
        "type": TYPE + problem.type,
        "title": problem.title,
        "status": problem.status,
        "detail": str(problem),
        "field": problem.field or None,
        **problem.extra,
    }
    return {name: value for name, value in members.items() if value is not None}


def as_problem(error: Exception) -> Problem:
    """Any error as one of ours."""
    match error:
        case Problem():
            return error
        case Http404() | exceptions.NotFound():
            return NotFound("There is nothing at this address.")
        case exceptions.NotAuthenticated():
            return Unauthenticated()
        case exceptions.AuthenticationFailed():
            return Unauthenticated(str(error.detail))
        case PermissionDenied() | exceptions.PermissionDenied():
            return NotAllowed()
        case exceptions.MethodNotAllowed():
            return MethodNotAllowed()
        case exceptions.UnsupportedMediaType():
            return UnsupportedMediaType()
        case exceptions.APIException():
            return _other(error)
        case OperationalError() | InterfaceError():
            return Unavailable()
    return InternalError()


def _other(error: exceptions.APIException) -> Problem:
    """An error of rest_framework that none of our endpoints is known to raise."""
    if error.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return InternalError()
    return BadInput(str(error.detail))
