"""`stalwart answer`: one answer to one question, bound to what was shown."""

import json
import secrets
from argparse import ArgumentParser
from typing import Any

from approvals.services import Reply, answer
from runs.services import ANSWERS
from stalwart_site.carrying import CarryingCommand, find_question, last_event, title
from stalwart_site.terminal import add_person, find_person, usage

EVERY_ANSWER = tuple(answer for answers in ANSWERS.values() for answer in answers)


class Command(CarryingCommand):
    """Prints what was answered, what the run did then, and how it stands. Exit code 3: it waits again."""

    help = "Answer a question, as the person with that login."

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("question", metavar="STEP", type=int, help="the question's number")
        parser.add_argument("answer", type=_word, choices=EVERY_ANSWER)
        parser.add_argument("--digest", required=True, help="the 64 hex digits that the question shows")
        add_person(parser)
        parser.add_argument("--reason", default="", help="why; needed to abandon")
        parser.add_argument("--reference", default="", help="where it was undone; needed for done_by_hand")
        parser.add_argument("--result", help="JSON: the fields of what happened, for the undo to use")
        parser.add_argument("--nonce", help="the same nonce again is the same answer (default: a new one)")

    def run(self, options: dict[str, Any]) -> int:
        with usage(self):
            result = _object(options["result"])
        step = find_question(options["question"])
        who, before = find_person(options["login"]), last_event(step.run)
        said = Reply(
            options["answer"],
            options["digest"],
            options["nonce"] or secrets.token_hex(16),
            options["reason"],
            options["reference"],
            result,
        )
        what = title(step)
        answer(who, step.pk, said)
        if not options["json"]:
            self.say(f"{said.answer.replace('_', ' ')}, says {who.name}: {what}")
        return self.conclude(step.run, self.follow(step.run_id), before, options)


def _word(text: str) -> str:
    return text.strip().lower().replace("-", "_").replace(" ", "_")


def _object(text: str | None) -> dict[str, Any] | None:
    try:
        found = json.loads(text) if text else None
    except ValueError:
        found = ""
    if found is None or isinstance(found, dict):
        return found
    raise ValueError('--result is a JSON object, such as {"charge": "ch_1"}')
