"""What every page has in common: who may see it, which methods it takes, and how it says no.

    @page(may_see)                    a page that is only read
    @page(may_see, "GET", "POST")     a page with forms; they are sent to the page's own address

A page is never kept by a browser or a proxy, so that Back never shows live buttons. An answer is sent to the
address of its page, so signing in again lands on the page and never on the sending.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.cache import add_never_cache_headers
from django.views.decorators.http import require_http_methods
from django_htmx.middleware import HtmxDetails

from runs.access import Actor, person
from runs.errors import Problem
from runs.views.shell import render_page

P = ParamSpec("P")


class PageRequest(HttpRequest):
    """A request of a signed-in person who may see the page."""

    actor: Actor
    htmx: HtmxDetails


def wants_part(request: PageRequest) -> bool:
    """htmx asks for a part of the page; by a link or a form that it carries, `hx-boost`, for all of it."""
    return bool(request.htmx) and not request.htmx.boosted


View = Callable[Concatenate[PageRequest, P], HttpResponseBase]


def page(
    rule: Callable[[Actor], bool], *methods: str
) -> Callable[[View[P]], Callable[..., HttpResponseBase]]:
    """A view for signed-in people whom this rule of runs/access.py admits. GET and HEAD where none is named."""

    def decorate(view: View[P]) -> Callable[..., HttpResponseBase]:
        @require_http_methods([*(methods or ("GET",)), "HEAD"])
        @wraps(view)
        def guarded(request: Any, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            response = _answer(view, rule, request, *args, **kwargs)
            add_never_cache_headers(response)
            response["Cache-Control"] = "no-store"
            return response

        return guarded

    return decorate


def _answer(
    view: View[P], rule: Callable[[Actor], bool], request: Any, *args: P.args, **kwargs: P.kwargs
) -> HttpResponseBase:
    if not request.user.is_authenticated:
        return _signed_out(request)
    request.actor = person(request.user)
    if not rule(request.actor):
        return problem_page(request, 403, "You may not see this page", "Ask an administrator for a role.")
    try:
        return view(request, *args, **kwargs)
    except Problem as problem:
        return problem_page(request, problem.status, problem.title, str(problem))


def _signed_out(request: Any) -> HttpResponseBase:
    """A page goes to the login; a part of a page says so, and leaves what was typed where it is."""
    if not request.htmx:
        return redirect_to_login(request.path if request.method == "POST" else request.get_full_path())
    back = request.htmx.current_url_abs_path or "/"
    response = render(
        request, "shared/signed_out.html", {"back": back, "was_sending": request.method == "POST"}, status=401
    )
    response["HX-Retarget"], response["HX-Reswap"] = "#banner", "innerHTML"
    return response


def problem_page(request: Any, status: int, title: str, detail: str) -> HttpResponse:
    """An error in words; for a part of a page, as its banner."""
    context = {"title": title, "detail": detail}
    if request.htmx:
        response = render(request, "shared/problem_banner.html", context, status=status)
        response["HX-Retarget"], response["HX-Reswap"] = "#banner", "innerHTML"
        return response
    return render_page(request, "shared/problem.html", context, status=status)
