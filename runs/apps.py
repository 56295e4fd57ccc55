"""What a run is, and the engine that carries it out."""

from django.apps import AppConfig


class RunsConfig(AppConfig):
    """The engine's side."""

    name = "runs"

    def ready(self) -> None:
        """Programs that are no agents run as an agent that has no file."""
        from runs import agentfile, programs

        agentfile.admit(programs.SPEC)
