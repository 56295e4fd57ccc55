"""The site itself."""

from django.apps import AppConfig


class SiteConfig(AppConfig):
    """Holds the commands that start and keep a house."""

    name = "stalwart_site"
