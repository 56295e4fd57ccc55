"""Writing many rows in one prepared statement: the engine's transaction is the product's hot path.

Django's ORM sends one statement for each row and builds and plans each anew, which costs several times what the
database needs. Here the writes of a commit are parts of one statement, `WITH w0 AS (UPDATE …), w1 AS (…) …`. Each
part sees the rows as they were before all of them, so no two parts may touch the same row.

Statements are prepared only where the connection's `prepare_threshold` allows it (stalwart_site/settings.py).
"""

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections, models
from psycopg.types.json import Jsonb


@dataclass(frozen=True)
class Part:
    """One write and its values; `hits` is how many rows it must touch."""

    sql: str
    values: list[Any]
    hits: int = 1


def update(row: models.Model, names: Iterable[str], guard: str, stored: str) -> Part:
    """Write these fields of a row whose column `guard` is still `stored`."""
    fields = tuple(sorted(names))
    return Part(_update_sql(type(row), fields, guard), [*_values(row, fields), row.pk, stored])


def insert(model: type[models.Model], names: tuple[str, ...], values: Sequence[Sequence[Any]]) -> Part:
    """Add rows with these fields of a model. Their automatic keys are not read back."""
    return Part(_insert_sql(model, names, len(values)), [item for row in values for item in row], len(values))


def add(row: models.Model) -> Part:
    """Add a row; a `db_default` is left to the database."""
    names = _insertable(type(row))
    return insert(type(row), names, [_values(row, names)])


def execute(parts: Sequence[Part]) -> bool:
    """Carry them out. False where one did not hit the rows it must; the caller then rolls back."""
    sql = _together(tuple(part.sql for part in parts))
    return one(sql, [value for part in parts for value in part.values]) == tuple(part.hits for part in parts)


def one(sql: str, values: Sequence[Any]) -> tuple[Any, ...] | None:
    """The first row of a prepared statement. Its placeholders are PostgreSQL's own: `$1`, `$2` …"""
    connection = connections[DEFAULT_DB_ALIAS]
    connection.ensure_connection()
    cursor = psycopg.RawCursor(connection.connection)
    with connection.wrap_database_errors:
        cursor.execute(sql, values, prepare=True)
    return cursor.fetchone()


def _values(row: models.Model, names: tuple[str, ...]) -> list[Any]:
    """What psycopg is given. The engine's fields are text, numbers, times, ids and JSON: only JSON needs a word."""
    return [_value(getattr(row, attribute), is_json) for attribute, is_json in _attributes(type(row), names)]


def _value(value: Any, is_json: bool) -> Any:
    return Jsonb(value) if is_json and value is not None else value


@functools.cache
def _attributes(model: type[models.Model], names: tuple[str, ...]) -> list[tuple[str, bool]]:
    return [(field.attname, isinstance(field, models.JSONField)) for field in _fields(model, names)]


def _fields(model: type[models.Model], names: Iterable[str]) -> list[Any]:
    return [model._meta.get_field(name) for name in names]


@functools.cache
def _insertable(model: type[models.Model]) -> tuple[str, ...]:
    return tuple(
        field.name
        for field in model._meta.concrete_fields
        if not isinstance(field, models.AutoField) and not field.has_db_default()
    )


@functools.cache
def _update_sql(model: type[models.Model], names: tuple[str, ...], guard: str) -> str:
    changes = ", ".join(f'"{field.column}" = %s' for field in _fields(model, names))
    key = model._meta.pk.column
    return f'UPDATE "{model._meta.db_table}" SET {changes} WHERE "{key}" = %s AND "{guard}" = %s'


@functools.cache
def _insert_sql(model: type[models.Model], names: tuple[str, ...], rows: int) -> str:
    columns = ", ".join(f'"{field.column}"' for field in _fields(model, names))
    places = ", ".join(["(" + ", ".join(["%s"] * len(names)) + ")"] * rows)
    return f'INSERT INTO "{model._meta.db_table}" ({columns}) VALUES {places}'


@functools.lru_cache(1000)
def _together(parts: tuple[str, ...]) -> str:
    """The parts as one statement, whose row says how many rows each of them touched."""
    named = ", ".join(f"w{index} AS ({sql} RETURNING 1)" for index, sql in enumerate(parts))
    counts = ", ".join(f"(SELECT count(*) FROM w{index})" for index in range(len(parts)))
    first, *rest = f"WITH {named} SELECT {counts}".split("%s")
    return first + "".join(f"${number}{piece}" for number, piece in enumerate(rest, start=1))
