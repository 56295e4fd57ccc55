"""Writing many rows in one round trip: prepared statements, sent together (psycopg's pipeline mode).

The engine's transaction is the product's hot path. Django's ORM sends one statement at a time and builds each
anew, which costs several times what the database needs; here the statements of one commit leave together.
"""

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import psycopg
from django.db import connection, models
from psycopg.types.json import Jsonb


@dataclass(frozen=True)
class Statement:
    """One statement and its values; `hits` is how many rows it must touch, None for any number."""

    sql: str
    values: list[Any]
    hits: int | None = None


def update(row: models.Model, names: Iterable[str], guard: str, stored: str) -> Statement:
    """Write these fields of a row whose column `guard` is still `stored`; it must hit that row."""
    fields: list[Any] = [row._meta.get_field(name) for name in sorted(names)]
    values = [_value(row, field) for field in fields]
    sql = _update_sql(type(row), tuple(field.column for field in fields), guard)
    return Statement(sql, [*values, row.pk, stored], hits=1)


def insert(rows: Sequence[models.Model]) -> Statement:
    """Add rows of one model. Their automatic keys are not read back; a `db_default` is left to the database."""
    fields = _insertable(type(rows[0]))
    values = [_value(row, field) for row in rows for field in fields]
    return Statement(_insert_sql(type(rows[0]), len(rows)), values)


def execute(statements: Sequence[Statement]) -> bool:
    """Send them together. False where one did not hit the rows it must; the caller then rolls back."""
    connection.ensure_connection()
    sent: list[tuple[Statement, psycopg.Cursor[Any]]] = []
    with connection.wrap_database_errors, connection.connection.pipeline():
        for statement in statements:
            cursor = psycopg.Cursor(connection.connection)
            cursor.execute(statement.sql, statement.values, prepare=True)
            sent.append((statement, cursor))
    return all(statement.hits in (None, cursor.rowcount) for statement, cursor in sent)


def one(sql: str, values: Sequence[Any]) -> tuple[Any, ...] | None:
    """The first row of a prepared statement, together with the BEGIN before it."""
    connection.ensure_connection()
    cursor = psycopg.Cursor(connection.connection)
    with connection.wrap_database_errors, connection.connection.pipeline():
        cursor.execute(sql, values, prepare=True)
    return cursor.fetchone()


def _value(row: models.Model, field: Any) -> Any:
    """What psycopg is given. The engine's fields are text, numbers, times, ids and JSON: only JSON needs a word."""
    value = getattr(row, field.attname)
    if value is not None and isinstance(field, models.JSONField):
        return Jsonb(value)
    return value.value if isinstance(value, Enum) else value


@functools.cache
def _update_sql(model: type[models.Model], columns: tuple[str, ...], guard: str) -> str:
    changes = ", ".join(f'"{column}" = %s' for column in columns)
    key = model._meta.pk.column
    return f'UPDATE "{model._meta.db_table}" SET {changes} WHERE "{key}" = %s AND "{guard}" = %s'


@functools.cache
def _insertable(model: type[models.Model]) -> list[Any]:
    return [
        field
        for field in model._meta.concrete_fields
        if not isinstance(field, models.AutoField) and not field.has_db_default()
    ]


@functools.cache
def _insert_sql(model: type[models.Model], rows: int) -> str:
    fields = _insertable(model)
    columns = ", ".join(f'"{field.column}"' for field in fields)
    places = ", ".join(["(" + ", ".join(["%s"] * len(fields)) + ")"] * rows)
    return f'INSERT INTO "{model._meta.db_table}" ({columns}) VALUES {places}'
