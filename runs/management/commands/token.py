"""`stalwart token create|list|revoke`: the tokens of the API."""

from argparse import SUPPRESS, ArgumentParser
from typing import Any

from django.contrib.auth.models import User

from runs import tokens
from runs.access import roles_of
from runs.agentfile import agent
from runs.errors import BadInput, NotFound
from runs.models import Token
from stalwart_site.terminal import TerminalCommand

SCOPES = ("agent", "approver", "operator")


class Command(TerminalCommand):
    """A token is printed once, when it is made; the database keeps its hash alone."""

    help = "Make, list and revoke the tokens of the API."

    def arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="create|list|revoke")
        create = verbs.add_parser("create", help="make a token and print it, once")
        create.add_argument("--name", required=True, help="whose or what it is for")
        create.add_argument("--scope", required=True, choices=SCOPES, help="what it may do")
        create.add_argument("--agent", default="", help="limit an agent's token to this agent")
        create.add_argument("--user", default="", help="the login of whom an approver or operator acts as")
        listing = verbs.add_parser("list", help="list the tokens, without what opens anything")
        revoke = verbs.add_parser("revoke", help="end a token now")
        revoke.add_argument("id", type=int, metavar="ID", help="its number in the list")
        for verb in (create, listing, revoke):  # --json may stand at the end, as everywhere
            verb.add_argument("--json", action="store_true", default=SUPPRESS, help="print JSON")

    def run(self, options: dict[str, Any]) -> int:
        return {"create": self._create, "list": self._list, "revoke": self._revoke}[options["verb"]](options)

    def _create(self, options: dict[str, Any]) -> int:
        name, scope = options["name"].strip(), options["scope"]
        if not 1 <= len(name) <= 100:
            raise BadInput("A name of 1 to 100 characters is needed.")
        user = _person(scope, options["user"])
        token, text = tokens.make(name, scope, agent=_agent(scope, options["agent"]), user=user)
        if options["json"]:
            self.say_json({"token": text} | _as_json(token))
        else:
            self.say(text)
            self.stderr.write(f"Token {token.pk} of scope {scope}. It is not shown again.")
        return 0

    def _list(self, options: dict[str, Any]) -> int:
        found = Token.objects.select_related("user").order_by("pk")
        if options["json"]:
            self.say_json([_as_json(token) for token in found])
            return 0
        for token in found:
            self.say(_line(token))
        return 0

    def _revoke(self, options: dict[str, Any]) -> int:
        token = Token.objects.select_related("user").filter(pk=options["id"]).first()
        if token is None:
            raise NotFound(f"There is no token {options['id']}; `stalwart token list` shows them.")
        if not tokens.revoke(token):
            raise BadInput(f"Token {token.pk} was revoked before.")
        token.refresh_from_db()
        if options["json"]:
            self.say_json(_as_json(token))
        else:
            self.say(f"Token {token.pk} ({token.name}) is revoked.")
        return 0


def _agent(scope: str, name: str) -> str:
    if name and scope != "agent":
        raise BadInput("--agent is for tokens of scope agent.")
    return agent(name).name if name else ""


def _person(scope: str, login: str) -> User | None:
    """Whom the token acts as: an answer is always a person's."""
    if scope == "agent":
        if login:
            raise BadInput("An agent's token is no person's: leave --user out.")
        return None
    user = User.objects.filter(username=login, is_active=True).first()
    if user is None:
        raise NotFound(f"A token of scope {scope} needs --user, the login of a person; {login!r} is none.")
    if scope == "operator" and "operator" not in roles_of(user):
        raise BadInput(f"{login} has not the role operator: an administrator gives it.")
    return user


def _line(token: Token) -> str:
    parts = [f"{token.pk:>4}", f"{token.scope:<8}", f"{token.name:<24}"]
    parts += [f"agent {token.agent}"] if token.agent else []
    parts += [f"user {token.user.get_username()}"] if token.user else []
    used = f"used {token.last_used_at:%Y-%m-%d %H:%M} UTC" if token.last_used_at else "never used"
    return "  ".join([*parts, "revoked" if token.revoked_at else used])


def _as_json(token: Token) -> dict[str, Any]:
    times = {name: getattr(token, name) for name in ("created_at", "last_used_at", "revoked_at")}
    return {
        "id": token.pk,
        "name": token.name,
        "scope": token.scope,
        "agent": token.agent or None,
        "user": token.user.get_username() if token.user else None,
        **{name: when.isoformat() if when else None for name, when in times.items()},
    }
