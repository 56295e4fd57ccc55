"""Every address of the site."""

from django.contrib import admin
from django.contrib.auth.views import LoginView, LogoutView
from django.urls import URLPattern, URLResolver, include, path

from stalwart_site import health

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include("approvals.urls")),
    path("", include("runs.urls")),
    path("", include("stalwart_site.explorer.urls")),
    path("login/", LoginView.as_view(redirect_authenticated_user=True), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("health", health.health, name="health"),
    path("admin/", admin.site.urls),
    path("api/v1/", include("stalwart_site.api_urls")),
]
