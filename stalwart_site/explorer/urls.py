"""The addresses of the explorer."""

from django.urls import path

from stalwart_site.explorer import views

urlpatterns = [
    path("explorer/", views.explorer, name="explorer"),
    path("explorer/<slug:stop>/<slug:resume>/", views.explorer_case, name="explorer-case"),
]
