"""How the models of runs/api/shapes.py stand in the OpenAPI document."""

import re
from typing import Any

from drf_spectacular.drainage import set_override
from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent
from drf_spectacular.utils import Direction, OpenApiParameter, OpenApiResponse
from pydantic import BaseModel

from runs.api import shapes
from runs.api.problems import CONTENT_TYPE

SAID = {
    401: "No valid token.",
    403: "This token may not do it.",
    404: "There is no such thing, or not for this token.",
    409: "The state does not allow it, or changed; `type` says which.",
    410: "The question was withdrawn.",
    422: "What was sent is not valid. Nothing was stored and nothing was sent.",
    503: "The agent's model would have to be asked, and cannot be. Nothing was stored and nothing was sent.",
}
IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    str,
    OpenApiParameter.HEADER,
    description="1 to 200 visible characters. The same key with the same body is the same run (200); with "
    "another body it is a 422 `key-reused`; while the first request is in progress, a 409 `in-progress`.",
)
REPLAYED = OpenApiResponse(shapes.Run, "The run that the first request with this Idempotency-Key started.")


class Described(AutoSchema):
    """An endpoint's docstring is its description, and the beginning of it the line in the list."""

    def get_summary(self) -> str:
        """What it does, up to the first stop."""
        return re.split(r"[.:;]", self.get_description())[0]


class ShapeExtension(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """A body's schema says what is accepted, an answer's what is sent."""

    target_class = shapes.Shape
    match_subclasses = True
    priority = 1

    def get_name(self, auto_schema: Any, direction: Direction) -> str:
        """The class's own. The same model may be registered first as a part of another: no collision."""
        set_override(self.target, "suppress_collision_warning", True)
        return str(self.target.__name__)

    def map_serializer(self, auto_schema: Any, direction: Direction) -> dict[str, Any]:
        """JSON Schema; the models inside become components of their own."""
        mode = "validation" if direction == "request" else "serialization"
        schema = self.target.model_json_schema(mode=mode, ref_template="#/components/schemas/{model}")
        for name, inner in schema.pop("$defs", {}).items():
            component = ResolvedComponent(name, "schemas", inner, name)  # type: ignore[no-untyped-call]
            auto_schema.registry.register_on_missing(component)
        return dict(schema)


def problems(*statuses: int) -> dict[Any, OpenApiResponse]:
    """The problem documents that an endpoint answers with; a 401 is always among them."""
    return {
        (status, CONTENT_TYPE): OpenApiResponse(shapes.ProblemDocument, SAID[status])
        for status in (401, *statuses)
    }


def parameters(query: type[BaseModel]) -> list[OpenApiParameter]:
    """The parameters of a query string."""
    schema = query.model_json_schema()
    definitions = schema.get("$defs", {})
    return [
        OpenApiParameter(name, _resolved(part, definitions), description=part.get("description", ""))
        for name, part in schema["properties"].items()
    ]


def _resolved(part: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """A parameter's schema without references; a parameter that is left out is not null."""
    options = [option for option in part.get("anyOf", [part]) if option.get("type") != "null"]
    [option] = options
    schema = definitions[option["$ref"].rsplit("/", 1)[1]] if "$ref" in option else option
    kept = schema | ({"default": part["default"]} if part.get("default") is not None else {})
    return {name: value for name, value in kept.items() if name not in ("title", "description")}


def path(name: str, description: str, example: str = "") -> OpenApiParameter:
    """A part of the address."""
    schema = {"type": "string", **({"example": example} if example else {})}
    return OpenApiParameter(name, schema, OpenApiParameter.PATH, description=description)
