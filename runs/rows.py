"""Rows read, and many rows written, in prepared statements: the engine's transaction is the product's hot path.

Django's ORM sends one statement for each row and builds and plans each anew, which costs several times what the
database needs. Here the writes of a commit are parts of one statement, `WITH w0 AS (UPDATE …), w1 AS (…) …`. Each
part sees the rows as they were before all of them, so no two parts may touch the same row. An update that finds
its row changed meanwhile makes the whole statement fail, so nothing of it is written.

A statement that is its transaction's first and only one is sent without BEGIN and COMMIT around it: it is a
transaction by itself, and the server is asked once and not three times.

Statements are prepared only where the connection's `prepare_threshold` allows it (stalwart_site/settings.py).
"""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

import psycopg
from django.db import DEFAULT_DB_ALIAS, DataError, OperationalError, connections, models
from psycopg.pq import TransactionStatus
from psycopg.types.json import Jsonb

# A pooler reset the session, or put another one in its place: as good as a lost connection.
FORGOTTEN = (psycopg.errors.InvalidSqlStatementName, psycopg.errors.DuplicatePreparedStatement)


class Missed(Exception):
    """An update did not find its row as it was stored. Nothing of the statement was written."""


@dataclass(frozen=True)
class Part:
    """One write and its values. An update is `guarded`: it must hit its row."""

    sql: str
    values: list[Any]
    guarded: bool


def update(row: models.Model, names: Iterable[str], guards: Mapping[str, Any]) -> Part:
    """Write these fields of a row whose columns `guards` are still as they were stored."""
    fields, guarded = tuple(sorted(names)), tuple(guards)
    return Part(
        _update_sql(type(row), fields, guarded), [*_values(row, fields), row.pk, *guards.values()], True
    )


def until(limit: datetime, update: Part) -> Part:
    """An update that misses its row from this time of the database on."""
    return Part(f"{update.sql} AND clock_timestamp() < %s", [*update.values, limit], True)


def insert(model: type[models.Model], names: tuple[str, ...], values: Sequence[Sequence[Any]]) -> Part:
    """Add rows with these fields of a model. Their automatic keys are not read back."""
    return Part(_insert_sql(model, names, len(values)), [item for row in values for item in row], False)


def add(row: models.Model) -> Part:
    """Add a row; a `db_default` is left to the database."""
    names = _insertable(type(row))
    return insert(type(row), names, [_values(row, names)])


def execute(parts: Sequence[Part], *, only: bool) -> datetime:
    """Carry them out, the first one first. Returns the database's clock; Missed where one did not hit its row.

    `only`: nothing else follows in this transaction.
    """
    sql = _together(tuple((part.sql, part.guarded) for part in parts))
    values = [value for part in parts for value in part.values]
    try:
        with _by_itself(only):
            found = one(sql, values)
    except DataError as error:
        if isinstance(error.__cause__, psycopg.errors.DivisionByZero):
            raise Missed from None
        raise
    assert found is not None
    return cast(datetime, found[1])


def one(sql: str, values: Sequence[Any]) -> tuple[Any, ...] | None:
    """The first row of a prepared statement. Its placeholders are PostgreSQL's own: `$1`, `$2` …"""
    return _cursor(sql, values).fetchone()


def fetch(sql: str, values: Sequence[Any], *found: type[models.Model]) -> Iterator[list[Any]]:
    """Each row as one object of every model in `found`, None where an outer join has none, and what else is selected.

    `{columns}` in the statement stands for theirs, and comes first.
    """
    for row in _cursor(_with_columns(sql, found), values):
        start, objects = 0, []
        for model in found:
            names, converters = _columns(model)
            item = row[start : start + len(names)]
            objects.append(_object(model, names, converters, item))
            start += len(names)
        yield [*objects, *row[start:]]


def _object(model: type[models.Model], names: list[str], converters: list[Any], row: Sequence[Any]) -> Any:
    key = names.index(model._meta.pk.attname)
    if row[key] is None:
        return None
    read = [convert(value) if convert else value for convert, value in zip(converters, row, strict=True)]
    return model.from_db(DEFAULT_DB_ALIAS, names, read)


@functools.cache
def _columns(model: type[models.Model]) -> tuple[list[str], list[Any]]:
    """What the columns are called in an object, and how each is read: only JSON needs a word."""
    fields = model._meta.concrete_fields
    return [field.attname for field in fields], [_reading(field) for field in fields]


def _reading(field: Any) -> Callable[[Any], Any] | None:
    if not isinstance(field, models.JSONField):
        return None
    decode: Any = field.from_db_value  # asks neither for the expression nor for the connection
    return lambda value: decode(value, None, None)


@functools.cache
def _with_columns(sql: str, found: tuple[type[models.Model], ...]) -> str:
    columns = [
        f'"{model._meta.db_table}"."{field.column}"'
        for model in found
        for field in model._meta.concrete_fields
    ]
    return sql.format(columns=", ".join(columns))


def _cursor(sql: str, values: Sequence[Any]) -> psycopg.RawCursor[tuple[Any, ...]]:
    connection = connections[DEFAULT_DB_ALIAS]
    connection.ensure_connection()
    cursor = psycopg.RawCursor(connection.connection)
    with connection.wrap_database_errors:
        try:
            cursor.execute(sql, values, prepare=True)
        except FORGOTTEN as error:
            raise OperationalError("This session is not the one that prepared the statement.") from error
    return cursor


@contextmanager
def _by_itself(only: bool) -> Iterator[None]:
    """Leave BEGIN and COMMIT out around a transaction's only statement. psycopg sends BEGIN with the first one."""
    connection = connections[DEFAULT_DB_ALIAS]
    connection.ensure_connection()
    bare = connection.connection
    if not only or bare.autocommit or bare.info.transaction_status != TransactionStatus.IDLE:
        yield
        return
    bare.autocommit = True
    try:
        yield
    finally:
        if bare.info.transaction_status == TransactionStatus.IDLE:
            bare.autocommit = False
        else:
            bare.close()  # lost or left in mid-statement; psycopg may still take it for a sound one


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
def _update_sql(model: type[models.Model], names: tuple[str, ...], guards: tuple[str, ...]) -> str:
    changes = ", ".join(f'"{field.column}" = %s' for field in _fields(model, names))
    key = model._meta.pk.column
    stored = " AND ".join(f'"{field.column}" = %s' for field in _fields(model, guards))
    return f'UPDATE "{model._meta.db_table}" SET {changes} WHERE "{key}" = %s AND {stored}'


@functools.cache
def _insert_sql(model: type[models.Model], names: tuple[str, ...], rows: int) -> str:
    columns = ", ".join(f'"{field.column}"' for field in _fields(model, names))
    places = ", ".join(["(" + ", ".join(["%s"] * len(names)) + ")"] * rows)
    return f'INSERT INTO "{model._meta.db_table}" ({columns}) VALUES {places}'


@functools.lru_cache(1000)
def _together(parts: tuple[tuple[str, bool], ...]) -> str:
    """The parts as one statement, which divides by zero, and so fails, where an update has missed its row.

    The updates are carried out in their order, as CASE asks for their counts; what nobody asks for comes last.
    """
    named = ", ".join(
        f"w{index} AS ({sql}{' RETURNING 1' if guarded else ''})"
        for index, (sql, guarded) in enumerate(parts)
    )
    missed = " ".join(
        f"WHEN (SELECT count(*) FROM w{index}) <> 1 THEN 0"
        for index, (_, guarded) in enumerate(parts)
        if guarded
    )
    asked = f"1 / CASE {missed or 'WHEN false THEN 0'} ELSE 1 END, clock_timestamp()"
    first, *rest = f"WITH {named} SELECT {asked}".split("%s")
    return first + "".join(f"${number}{piece}" for number, piece in enumerate(rest, start=1))
