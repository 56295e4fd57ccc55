"""What a run is, and the engine that carries it out."""

from django.apps import AppConfig


class RunsConfig(AppConfig):
    """The engine's side."""

    name = "runs"
