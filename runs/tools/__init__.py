"""What the author of a tool needs: the decorator, the call, and how a tool says that it failed.

from runs.tools import Call, InDoubt, Refused, Unavailable, tool
from runs.tools.http import Service
"""

from runs.errors import InDoubt, Refused, Unavailable
from runs.tools.registry import Call, tool

__all__ = ["Call", "InDoubt", "Refused", "Unavailable", "tool"]
