"""Times as people read them: how long ago, and exactly when, with the zone."""

from datetime import date, datetime, timedelta

from django.utils import timezone


def span(delta: timedelta) -> str:
    """A length of time in one or two units: now, 40 s, 12 min, 2 h 14 min, 3 d 4 h."""
    seconds = int(delta.total_seconds())
    if seconds < 5:
        return "now"
    if seconds < 60:
        return f"{seconds} s"
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if hours < 1:
        return f"{minutes} min"
    if days < 1:
        return f"{hours} h {minutes % 60} min" if minutes % 60 else f"{hours} h"
    return f"{days} d {hours % 24} h" if hours % 24 else f"{days} d"


def midnight(day: date) -> datetime:
    """When a day begins in the console's time zone: some days have 23 hours, or 25."""
    return timezone.make_aware(datetime.combine(day, datetime.min.time()))


def ago(moment: datetime) -> str:
    """How long ago: `just now`, `12 min ago`; or how long until: `in 3 min`."""
    delta = timezone.now() - moment
    if delta < timedelta(seconds=-5):
        return f"in {span(-delta)}"
    said = span(delta)
    return "just now" if said == "now" else f"{said} ago"


def clock(moment: datetime, *, seconds: bool = False) -> str:
    """The time of day with its zone, and the date where it is not today: `14:02 UTC`, `3 Oct 14:02 UTC`."""
    local = timezone.localtime(moment)
    now = timezone.localtime()
    day = "" if local.date() == now.date() else f"{local.day} {local:%b} "
    day = f"{day}{local.year} " if local.year != now.year else day
    return f"{day}{local:%H:%M:%S %Z}" if seconds else f"{day}{local:%H:%M %Z}"


def exact(moment: datetime) -> str:
    """Date, time to the millisecond, zone."""
    local = timezone.localtime(moment)
    return f"{local:%Y-%m-%d %H:%M:%S}.{local.microsecond // 1000:03d} {local:%Z}"


def duration(delta: timedelta) -> str:
    """How long a call took: `212 ms`, `3.4 s`."""
    milliseconds = delta / timedelta(milliseconds=1)
    return f"{milliseconds:.0f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"
