"""The console's few template tags: icons, times, ids."""

import functools
import json
from datetime import datetime
from typing import Any

from django import template
from django.templatetags.static import static
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from runs.views import moments

register = template.Library()


@register.simple_tag
@functools.cache  # a list has one a row, and the address of a static file takes longer than the rest of its row's state
def icon(name: str) -> SafeString:
    """A symbol of static/icons.svg, hidden from those who listen: a word always stands beside it."""
    return format_html(
        '<svg class="icon" width="16" height="16" aria-hidden="true" focusable="false">'
        '<use href="{}#{}"></use></svg>',
        static("icons.svg"),
        name,
    )


@register.filter
def when(moment: datetime) -> SafeString:
    """`2 min ago (14:02 UTC)`, exact to the millisecond for those who point at it."""
    return format_html(
        '<time datetime="{}" title="{}"><span data-ago>{}</span> ({})</time>',
        moment.isoformat(),
        moments.exact(moment),
        moments.ago(moment),
        moments.clock(moment),
    )


@register.filter
def ago(moment: datetime) -> SafeString:
    """`2 min ago`, exact for those who point at it."""
    return format_html(
        '<time datetime="{}" title="{}"><span data-ago>{}</span></time>',
        moment.isoformat(),
        moments.exact(moment),
        moments.ago(moment),
    )


@register.filter
def at(moment: datetime) -> SafeString:
    """`14:02:07 UTC`, with the date where it is not today."""
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        moment.isoformat(),
        f"{moments.exact(moment)}, {moments.ago(moment)}",
        moments.clock(moment, seconds=True),
    )


@register.filter
def minute(moment: datetime) -> SafeString:
    """`14:02 UTC`, exact for those who point at it."""
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        moment.isoformat(),
        moments.exact(moment),
        moments.clock(moment),
    )


@register.filter
def clock_only(moment: datetime) -> SafeString:
    """`14:02:07`, where the page says the zone elsewhere; exact for those who point at it."""
    words = moments.clock(moment, seconds=True).rpartition(" ")[0]
    return format_html(
        '<time datetime="{}" title="{}">{}</time>', moment.isoformat(), moments.exact(moment), words
    )


@register.filter
def exactly(moment: datetime) -> str:
    """`2026-10-03 14:02:07.123 UTC`."""
    return moments.exact(moment)


@register.filter
def as_json(value: Any) -> str:
    """One line of JSON; nothing where there is nothing."""
    return json.dumps(value, ensure_ascii=False) if value else ""


@register.filter
def age(moment: datetime) -> SafeString:
    """`12 min`: how long it has waited."""
    return format_html(
        '<time datetime="{}" title="{}" data-age>{}</time>',
        moment.isoformat(),
        moments.exact(moment),
        moments.span(timezone.now() - moment),
    )


@register.filter
def grouped(digits: str) -> str:
    """Hex digits in groups of four, so that two people can compare them."""
    return " ".join(digits[at : at + 4] for at in range(0, len(digits), 4))


@register.filter
def first_digits(digits: str) -> str:
    """The first 12 of them, in groups: enough to compare on the telephone."""
    return grouped(digits[:12])


@register.filter
def process(name: str) -> str:
    """`web-1:4711`: what people say of a process, without what only tells it from those before it."""
    return ":".join(name.split(":")[:2])
