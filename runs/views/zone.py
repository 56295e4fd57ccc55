"""The time zone in which a person reads the console: kept by their browser, and named beside every time."""

from collections.abc import Callable
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils import timezone

from runs.errors import BadInput

COOKIE = "time_zone"
A_YEAR = 365 * 24 * 3600


class ZoneMiddleware:
    """Times are shown in the zone of the browser's cookie; without one, in the site's own."""

    def __init__(self, respond: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.respond = respond

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        name = request.COOKIES.get(COOKIE, "")
        if name not in zones():
            return self.respond(request)
        with timezone.override(ZoneInfo(name)):
            return self.respond(request)


@cache
def zones() -> frozenset[str]:
    """The names of all time zones, such as Europe/Lisbon."""
    return frozenset(
        name for name in available_timezones() if "/" in name and not name.startswith(("Etc/", "posix"))
    ) | {"UTC"}


def keep(name: str, response: HttpResponse) -> HttpResponse:
    """Have the browser remember this zone. Raises BadInput."""
    if name not in zones():
        raise BadInput("There is no such time zone; choose one of the list.", field="/zone")
    response.set_cookie(COOKIE, name, max_age=A_YEAR, httponly=True, samesite="Lax")
    return response
