"""Pages by key: the next page starts after the last row shown, so page 10,000 costs what page 1 does."""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db.models import Model, QuerySet

M = TypeVar("M", bound=Model)


@dataclass(frozen=True)
class Page(Generic[M]):
    """`after` is the cursor of the next page, '' on the last one."""

    rows: list[M]
    after: str
    is_first: bool


def newest_first(rows: "QuerySet[M, M]", after: str, size: int) -> Page[M]:
    """Rows by falling primary key, `size` at a time; a cursor that is none of ours starts at the top."""
    rows = rows.order_by("-pk")
    cursor = int(after) if after.isascii() and after.isdigit() and len(after) < 19 else None
    if cursor is not None:
        rows = rows.filter(pk__lt=cursor)
    found: list[Any] = list(rows[: size + 1])
    more = len(found) > size
    shown = found[:size]
    return Page(shown, str(shown[-1].pk) if more else "", cursor is None)
