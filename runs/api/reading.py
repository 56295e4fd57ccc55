"""Reading a request: strict JSON in, a checked model out. What is refused here is not stored and not sent.

JSON is UTF-8, at most 64 KiB and 20 levels, without NaN and Infinity, duplicate members, NUL, lone surrogates
and integers from 2^53 on. A member that is not known is an error that names it.
"""

import json
from collections.abc import Mapping
from typing import IO, Any, TypeVar

from pydantic import BaseModel, ValidationError
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from runs.api.problems import BodyTooLarge, NotJSON
from runs.digest import MAX_BYTES, MAX_DEPTH, MAX_INTEGER, jsonable
from runs.errors import BadInput

M = TypeVar("M", bound=BaseModel)
DIGITS = 20  # more than any integer that is accepted has


class StrictJSON(BaseParser):
    """`application/json`, read so that everybody who reads it reads the same."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """The value of the body. Raises BodyTooLarge, NotJSON, BadInput."""
        data = stream.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise BodyTooLarge
        try:
            text = data.decode("utf-8")
            value = json.loads(text, object_pairs_hook=_members, parse_int=_integer)
        except UnicodeDecodeError as error:
            raise NotJSON(f"The body is not UTF-8: byte {error.start} cannot be read.") from None
        except json.JSONDecodeError as error:
            raise NotJSON(f"The body is not JSON: {error.msg} (line {error.lineno}).") from None
        except RecursionError:
            raise _too_deep("") from None
        refuse_what_cannot_be_kept(value)
        return value


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise BadInput(f"The member {shown(twice)} stands twice in one object.")
    return members


def _integer(digits: str) -> int:
    """Python refuses to read thousands of digits; one past the largest is refused with its place."""
    return int(digits) if len(digits) <= DIGITS else MAX_INTEGER + 1


def refuse_what_cannot_be_kept(value: Any, pointer: str = "", depth: int = 1) -> None:
    """Raises BadInput with the place of what JSON readers do not agree on, or a database cannot hold."""
    if isinstance(value, dict | list):
        if depth > MAX_DEPTH:
            raise _too_deep(pointer)
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for name, item in items:
            _refuse(name, pointer)
            refuse_what_cannot_be_kept(item, f"{pointer}/{escaped(name)}", depth + 1)
    else:
        _refuse(value, pointer)


def _refuse(value: Any, pointer: str) -> None:
    try:
        jsonable(value)
    except ValueError as error:
        raise BadInput(f"This cannot be kept exactly: {error}.", field=pointer) from None


def _too_deep(pointer: str) -> BadInput:
    return BadInput(f"The body is more than {MAX_DEPTH} levels deep.", field=pointer)


def shown(name: str) -> str:
    """A caller's own word, short and printable, for an error message."""
    return repr(name if len(name) <= 50 else f"{name[:50]}…")


def escaped(part: Any) -> str:
    """A part of a JSON pointer (RFC 6901). Not more than 100 characters of it are repeated."""
    return str(part)[:100].replace("~", "~0").replace("/", "~1")


def read_body(model: type[M], request: Request) -> M:
    """The body as this model. Raises BadInput with the pointer to the first thing wrong."""
    if "HTTP_TRANSFER_ENCODING" in request.META and not request.META.get("CONTENT_LENGTH"):
        raise BadInput("The body needs a Content-Length.")
    body = request.data
    if not isinstance(body, dict):
        raise BadInput("The body must be a JSON object.")
    return _read(model, body, "field")


def read_query(model: type[M], request: Request) -> M:
    """The query string as this model. Raises BadInput that names the parameter."""
    given = request.query_params
    for name in given:
        if len(given.getlist(name)) > 1:
            raise BadInput(f"The parameter {shown(name)} is given twice.", parameter=name[:100])
    values = given.dict()
    for name, value in values.items():
        if "\x00" in name + value:
            raise BadInput("A parameter with a NUL character.", parameter=name[:100])
    return _read(model, values, "parameter")


def _read(model: type[M], values: dict[str, Any], where: str) -> M:
    try:
        return model.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        parts = [escaped(part) for part in first["loc"]]
        name = ".".join(parts)
        said = _said(first["type"], first["msg"].removeprefix("Value error, "))
        place = f"/{'/'.join(parts)}" if where == "field" and parts else name
        detail = f"{name}: {said}." if name else f"{said}."
        raise BadInput(detail, **{where: place}) from None


def _said(kind: str, message: str) -> str:
    return {"extra_forbidden": "there is no such member", "missing": "this is needed"}.get(kind, message)
