"""`stalwart webhooks add|list|test|remove`: the programs that are told what happens."""

from argparse import SUPPRESS, ArgumentParser
from typing import Any

from approvals import webhooks
from approvals.delivering import send_test
from approvals.models import Webhook
from runs.access import Actor
from runs.errors import StalwartError
from runs.notable import KINDS
from stalwart_site.terminal import ERROR, TerminalCommand

TERMINAL = Actor("the terminal", frozenset())


class Command(TerminalCommand):
    """A secret is printed once, when its webhook is added; the page Webhooks of the settings makes a new one."""

    help = "Add, list, try and remove the addresses of programs that are told what happens."

    def arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="add|list|test|remove")
        add = verbs.add_parser("add", help="tell this address from now on, and print its secret, once")
        add.add_argument("url", metavar="URL")
        add.add_argument(
            "--kinds", default=",".join(KINDS), help="with commas between (default: %(default)s)"
        )
        add.add_argument("--agent", default="", help="of the runs of this agent alone")
        listing = verbs.add_parser("list", help="list them, without their secrets")
        test = verbs.add_parser("test", help="send a message that says nothing, now")
        remove = verbs.add_parser("remove", help="tell it nothing more")
        for verb in (test, remove):
            verb.add_argument("id", type=int, metavar="ID", help="its number in the list")
        for verb in (add, listing, test, remove):  # --json may stand at the end, as everywhere
            verb.add_argument("--json", action="store_true", default=SUPPRESS, help="print JSON")

    def run(self, options: dict[str, Any]) -> int:
        verbs = {"add": self._add, "list": self._list, "test": self._test, "remove": self._remove}
        return verbs[options["verb"]](options)

    def _add(self, options: dict[str, Any]) -> int:
        kinds = [kind.strip() for kind in options["kinds"].split(",") if kind.strip()]
        added = webhooks.add(TERMINAL, options["url"], kinds, options["agent"])
        secret = webhooks.secret_of(added)
        if options["json"]:
            self.say_json({"secret": secret} | webhooks.as_json(added))
        else:
            self.say(secret)
            self.stderr.write(f"Webhook {added.pk}. Its secret is not shown again.")
        return 0

    def _list(self, options: dict[str, Any]) -> int:
        found = [webhooks.as_json(row) for row in Webhook.objects.order_by("pk")]
        if options["json"]:
            self.say_json(found)
            return 0
        for item in found:
            self.say(_line(item))
        return 0

    def _test(self, options: dict[str, Any]) -> int:
        message = send_test(webhooks.find(options["id"]))
        went = message.state == "sent"
        if options["json"]:
            self.say_json(
                {"message": message.message, "status": message.status, "error": message.error or None}
            )
        elif went:
            self.say(f"{message.message}: answered {message.status}")
        else:
            raise StalwartError(f"{message.message} did not get there: {message.error}")
        return 0 if went else ERROR

    def _remove(self, options: dict[str, Any]) -> int:
        found = webhooks.find(options["id"])
        found.delete()
        if options["json"]:
            self.say_json({"removed": options["id"]})
        else:
            self.say(f"Webhook {options['id']} ({found.url}) is told nothing more.")
        return 0


def _line(item: dict[str, Any]) -> str:
    parts = [f"{item['id']:>4}", item["url"], ",".join(item["kinds"])]
    parts += [f"agent {item['agent']}"] if item["agent"] else []
    return "  ".join([*parts, *(["disabled"] if item["disabled_at"] else [])])
