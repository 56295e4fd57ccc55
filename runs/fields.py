"""JSON columns that hold an object, or a list: what is stored in another shape is shown, and never taken for it.

A row that will not decode must neither be guessed at nor rewritten (S3). The engine refuses to carry its run on
(runs/decoding.py); pages, the API and the ticket show what is stored.
"""

from typing import Any

from django.db.models import JSONField
from django.db.models.fields.json import KeyTransform

UNREADABLE = "does not decode"


class UnreadableObject(dict[str, Any]):
    """Stands where an object should be: one member, with what is stored."""


class UnreadableList(list[Any]):
    """Stands where a list should be: empty."""


class ObjectField(JSONField):
    """A JSON object, or null where the column may be."""

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        found = super().from_db_value(value, expression, connection)
        if found is None or isinstance(found, dict) or isinstance(expression, KeyTransform):
            return found
        return UnreadableObject({UNREADABLE: found})


class ListField(JSONField):
    """A JSON list."""

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        found = super().from_db_value(value, expression, connection)
        if isinstance(found, list) or isinstance(expression, KeyTransform):
            return found
        return UnreadableList()
