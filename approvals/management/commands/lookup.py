"""`stalwart lookup`: have an unknown outcome looked up now."""

from argparse import ArgumentParser
from typing import Any

from runs import services
from stalwart_site.carrying import CarryingCommand, find_question, last_event, looked_up
from stalwart_site.terminal import add_person, find_person


class Command(CarryingCommand):
    """Prints what the lookup said, what the run did then, and how it stands. Exit code 3: it is still asked."""

    help = (
        "Ask the service what became of a call whose outcome is not known, as the operator with that login."
    )

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("question", metavar="STEP", type=int, help="the question's number")
        add_person(parser)

    def run(self, options: dict[str, Any]) -> int:
        step = find_question(options["question"])
        who, before = find_person(options["login"]), last_event(step.run)
        services.look_up(who, step.pk)
        reply = self.follow(step.run_id)
        if not options["json"]:
            for line in looked_up(step, before):
                self.say(line)
        return self.conclude(step.run, reply, before, options)
