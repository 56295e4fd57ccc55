"""Lists, a page at a time. A cursor is the id of a page's last row: rows that come meanwhile move nothing."""

from typing import TypeVar

from django.db.models import Model, QuerySet

from runs.api.bodies import Page

R = TypeVar("R", bound=Model)


def newest_first(rows: QuerySet[R], page: Page) -> tuple[list[R], int | None]:
    """A page, and the cursor of the next one; None at the end."""
    if page.cursor is not None:
        rows = rows.filter(pk__lt=page.cursor)
    return _cut(rows.order_by("-pk"), page.limit)


def oldest_first(rows: QuerySet[R], page: Page) -> tuple[list[R], int | None]:
    """A page, and the cursor of the next one; None at the end."""
    if page.cursor is not None:
        rows = rows.filter(pk__gt=page.cursor)
    return _cut(rows.order_by("pk"), page.limit)


def _cut(rows: QuerySet[R], limit: int) -> tuple[list[R], int | None]:
    found = list(rows[: limit + 1])
    return found[:limit], found[limit - 1].pk if len(found) > limit else None
