"""The practice services, as the tools of every example reach them, and the lookup that their writes share."""

import os

from runs.tools import Call, tool
from runs.tools.http import Service
from runs.tools.lookups import Answer, did_not_happen, happened


def _address() -> str:
    return os.environ.get("STALWART_SERVICES_URL", "http://127.0.0.1:8701")


services = Service(_address)


@tool
def find_operation(call: Call, key: str) -> Answer:
    """What the services' register of keys says about a call."""
    found = services.find(call, f"/operations/{key}")
    return happened(found["result"]) if found else did_not_happen()
