"""The variables of the environment, as what they mean.

What means nothing raises ImproperlyConfigured, with the variable and what it may be. A value is quoted only where it
cannot hold a secret.
"""

import math
import os
from typing import Any
from urllib.parse import SplitResult, urlsplit
from zoneinfo import ZoneInfo

import dj_database_url
from django.core.exceptions import ImproperlyConfigured

YES, NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
LEVELS = ("CRITICAL", "ERROR", "WARNING", "INFO", "DEBUG")
MAIL_SCHEMES = ("smtp", "smtps", "smtp+plain")


def flag(name: str) -> bool:
    """Off where it is not set."""
    text = _text(name).lower()
    if text and text not in YES + NO:
        raise _wrong(name, "1 or 0")
    return text in YES


def words(name: str, default: str = "") -> list[str]:
    """Parted by commas."""
    return [part.strip() for part in _text(name, default).split(",") if part.strip()]


def seconds(name: str, default: float) -> float:
    """Above 0."""
    try:
        found = float(_text(name, str(default)))
    except ValueError:
        found = math.nan
    if not 0 < found < math.inf:
        raise _wrong(name, f"a number of seconds above 0, such as {default:g}")
    return found


def count(name: str, default: int) -> int:
    """From 1 on."""
    text = _text(name, str(default))
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise _wrong(name, f"a whole number from 1 on, such as {default}")
    return int(text)


def time_zone(name: str, default: str) -> str:
    """The name of one."""
    found = _text(name, default)
    try:
        ZoneInfo(found)
    except (KeyError, ValueError, OSError):
        raise _wrong(name, "the name of a time zone, such as Europe/Lisbon") from None
    return found


def log_level(name: str, default: str) -> str:
    """One of LEVELS."""
    found = _text(name, default).upper()
    if found not in LEVELS:
        raise _wrong(name, f"one of {', '.join(LEVELS)}")
    return found


def database(name: str, default: str) -> Any:
    """Django's settings of a PostgreSQL database."""
    try:
        found = dj_database_url.parse(_text(name, default), conn_max_age=600, conn_health_checks=True)
    except ValueError:
        found = dj_database_url.DBConfig()
    if found.get("ENGINE") != "django.db.backends.postgresql":
        raise _secret(name, "the address of a PostgreSQL database: postgresql://user:password@host:5432/name")
    return found


def mail(name: str) -> SplitResult | None:
    """The address of a mail server, with its port; None where there is none."""
    text = _text(name)
    try:
        found = urlsplit(text)
        known = found.scheme in MAIL_SCHEMES and found.hostname and (found.port or True)
    except ValueError:
        known = False
    if text and not known:
        raise _secret(name, "the address of a mail server: smtp://user:password@host:587")
    return found if text else None


def site(name: str, default: str) -> str:
    """An address of http or https, without a slash at its end."""
    found = _text(name, default)
    if not found.startswith(("http://", "https://")) or not urlsplit(found).hostname:
        raise _wrong(name, "an address such as https://stalwart.example")
    return found.rstrip("/")


def _text(name: str, default: str = "") -> str:
    """What is set to nothing is not set."""
    return os.environ.get(name, "").strip() or default


def _wrong(name: str, what: str) -> ImproperlyConfigured:
    return ImproperlyConfigured(f"{name} is {_text(name)!r}: set it to {what}, or not at all.")


def _secret(name: str, what: str) -> ImproperlyConfigured:
    return ImproperlyConfigured(f"{name} cannot be read: set it to {what}, or not at all.")
