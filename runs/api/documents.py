"""The OpenAPI document, and the page that shows it."""

from typing import ClassVar

from drf_spectacular.views import SpectacularJSONAPIView, SpectacularSwaggerSplitView

from runs.api.endpoint import Endpoint, everybody


class Schema(SpectacularJSONAPIView, Endpoint):  # type: ignore[misc]
    """The API as OpenAPI 3.1, in JSON. It says nothing that is secret."""

    rules: ClassVar = {"GET": everybody}
    authentication_classes = ()
    permission_classes = Endpoint.permission_classes


class Docs(SpectacularSwaggerSplitView, Endpoint):  # type: ignore[misc]
    """The document for people, under the site's own content security policy: no inline script or style."""

    rules: ClassVar = {"GET": everybody}
    authentication_classes = ()
    permission_classes = Endpoint.permission_classes
    url_name = "api:schema"
    template_name = "api/docs.html"
    template_name_js = "api/docs.js"
