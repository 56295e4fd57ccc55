"""Who may do what: roles of people, scopes of tokens. Every view and every endpoint names one of these rules.

| role | may |
| --- | --- |
| support | see everything of the console, answer confirmations, take care of handovers |
| lead | what support may, and the confirmations that need a lead |
| operator | settle unknown outcomes and stuck undos; cancel, undo, resume runs; pause workers; webhooks; handovers |
| admin | Django admin, and what an operator may |

A token has one scope: `agent` starts runs and proposes calls, `approver` answers as its person, `operator`
acts as its person and answers what its person may. An agent's token can never answer.
"""

from dataclasses import dataclass
from typing import Any

from runs.agentfile import PROGRAMS
from runs.models import Step, Token
from runs.roles import INCLUDES


@dataclass(frozen=True)
class Actor:
    """Who asks: a person in the browser, or a token. `roles` is what they may act as."""

    name: str
    roles: frozenset[str]
    scope: str = "person"  # or agent, approver, operator
    agent: str = ""  # an agent's token may be limited to one agent
    user_id: int | None = None
    token_id: int | None = None
    login: str = ""  # of a person

    @property
    def may_answer_at_all(self) -> bool:
        """A person, or the token of one."""
        return self.scope != "agent"


def roles_of(user: Any) -> frozenset[str]:
    """The roles of a signed-in person, those included in them too."""
    if not user.is_authenticated or not user.is_active:
        return frozenset()
    if user.is_superuser:
        return frozenset(INCLUDES["admin"])
    names = user.groups.values_list("name", flat=True)
    return frozenset().union(*(INCLUDES.get(name, set()) for name in names))


def person(user: Any) -> Actor:
    """A signed-in person."""
    login = user.get_username()
    return Actor(user.get_full_name() or login, roles_of(user), user_id=user.pk, login=login)


def bearer(token: Token) -> Actor:
    """The holder of an API token."""
    if token.scope == "agent" or token.user is None:
        return Actor(token.name, frozenset(), "agent", agent=token.agent, token_id=token.pk)
    roles = roles_of(token.user)
    if token.scope == "approver":
        roles -= {"operator", "admin"}
    login = token.user.get_username()
    name = token.user.get_full_name() or login
    return Actor(name, roles, token.scope, user_id=token.user_id, token_id=token.pk, login=login)


def may_see(actor: Actor) -> bool:
    """Look at runs, questions and conversations: whoever has a role, and an agent's token."""
    return actor.scope == "agent" or bool(actor.roles)


def may_see_agent(actor: Actor, agent: str) -> bool:
    """An agent's token that is limited to one agent sees that agent alone."""
    return may_see(actor) and actor.agent in ("", agent)


def may_plan(actor: Actor, agent: str) -> bool:
    """Try a plan of this agent: nothing is stored and nothing is sent, so whoever may see the agent."""
    return may_see_agent(actor, agent)


def may_start(actor: Actor, agent: str) -> bool:
    """Start a run, propose a call: an agent's token, or a person who tries the agent out. A saga is its program's."""
    return may_see_agent(actor, agent) and actor.scope in ("agent", "person") and agent != PROGRAMS


def may_answer(actor: Actor, step: Step) -> bool:
    """Answer this question: the role that it asks for, nobody who asked for the call, and never an agent's token."""
    return actor.may_answer_at_all and step.approver in actor.roles and not asked_for(actor, step)


def asked_for(actor: Actor, step: Step) -> bool:
    """Whether this question needs a second pair of eyes, and theirs are the first (the rule four_eyes)."""
    return bool({actor.name.casefold(), actor.login.casefold()} & {name.casefold() for name in step.not_by})


def may_operate(actor: Actor) -> bool:
    """Cancel, undo and resume runs; see the workers, pause, resume and drain them."""
    return actor.scope in ("person", "operator") and "operator" in actor.roles


def may_set_webhooks(actor: Actor) -> bool:
    """Say which programs are told of runs: whoever operates, since a message says what runs do."""
    return may_operate(actor)


def may_handle(actor: Actor) -> bool:
    """Claim, note and resolve a handover: whoever has a role, and never an agent's token."""
    return actor.may_answer_at_all and bool(actor.roles)
