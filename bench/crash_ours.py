"""Ours, in a process of its own that may be killed (bench/crash.py).

    python -m bench.crash_ours start AGENT      start the two-write job, and carry it out
    python -m bench.crash_ours recover          carry on what is there
    python -m bench.crash_ours answer           a person who has looked says that the charge happened; then on

Each prints where the run stands, as one line of JSON. STALWART_FAULT_POINT makes it die.
"""

import json
import os
import secrets
import sys
from typing import Any

import django

ORDER = {"order": 4411}


def main() -> None:
    """Do what is asked."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "stalwart_site.settings")
    django.setup()
    verb, *agent = sys.argv[1:]
    if verb == "start":
        start(*agent)
    if verb == "answer":
        answer()
    print(json.dumps(carry_on()))


def start(agent: str) -> None:
    """Two writes: charge a card, then mark the order paid."""
    from runs import services
    from runs.access import Actor

    program = Actor(agent, frozenset(), "agent")
    steps = [
        services.Proposal("charge_card", ORDER | {"amount": "40.00"}),
        services.Proposal("update_crm", ORDER),
    ]
    services.start(program, services.start_thread(program, agent, "u-1"), services.RunRequest(steps=steps))


def answer() -> None:
    """An operator found the charge on the service's books, and says so with what the undo would need."""
    from approvals.services import Reply
    from approvals.services import answer as say
    from runs.access import Actor
    from runs.models import Step

    step = Step.objects.get(state="unknown")
    person = Actor("Olga Petrova", frozenset({"operator"}))
    nonce = secrets.token_hex(16)
    say(person, step.pk, Reply("happened", step.digest, nonce, result={"charge": "CH-1"}))


def carry_on() -> dict[str, Any]:
    """As a worker and the sweep would, until the run rests."""
    from runs.following import follow
    from runs.models import Run, Step

    run = Run.objects.latest("pk")
    reply = follow(run.pk, alone=True)
    calls = Step.objects.get(run=run, tool="charge_card").calls
    return {"state": str(reply.state), "calls": calls, "asks": [question.text for question in reply.waiting]}


if __name__ == "__main__":
    main()
