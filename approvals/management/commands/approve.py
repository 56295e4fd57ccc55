"""`stalwart approve`: every confirmation that waits in a run now."""

import secrets
from argparse import ArgumentParser
from typing import Any

from approvals.services import Reply, answer
from runs import services
from runs.errors import NotFound
from runs.states import StepState
from stalwart_site.carrying import last_event, title
from stalwart_site.switches import SwitchedCommand, add_switches, faults_of
from stalwart_site.terminal import add_person, find_person, find_run, usage


class Command(SwitchedCommand):
    """Prints what was approved, what the run did then, and how it stands. Exit code 3: it waits again."""

    help = "Approve what a run waits for, as the person with that login; what it asks later is not approved."

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("run", metavar="RUN", help="R-12, or 12")
        add_person(parser)
        add_switches(parser)

    def run(self, options: dict[str, Any]) -> int:
        with usage(self):
            faults = faults_of(options)
        run, who = find_run(options["run"]), find_person(options["login"])
        waiting = run.steps.filter(state=StepState.NEEDS_APPROVAL, answer="").select_related("run__thread")
        steps, before = list(waiting.order_by("number")), last_event(run)
        if not steps:
            state = run.state.replace("_", " ")
            raise NotFound(
                f"{run.name} waits for no approval; it is {state}. `stalwart trace {run.name}` says more."
            )
        if faults:
            services.add_faults(run, faults)
        if options["interrupt"]:
            self.interrupt(run, who, "approve", options)
        for step in [] if options["interrupt"] else steps:
            answer(who, step.pk, Reply("approve", step.digest, secrets.token_hex(16)))
            if not options["json"]:
                self.say(f"approve, says {who.name}: {title(step)}")
        return self.conclude(run, self.follow(run.pk), before, options)
