"""The site itself."""

from django.apps import AppConfig


class SiteConfig(AppConfig):
    """Holds `stalwart_site`'s commands (serve, worker, web, sweep)."""

    name = "stalwart_site"
