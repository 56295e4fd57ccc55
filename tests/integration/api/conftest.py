"""Who calls: an agent, the people, and nobody; and a world that is as it was."""

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import Group, User

from examples.services.process import Services
from runs import tokens
from runs.engine import advance
from runs.models import Run
from tests.integration.api.caller import Caller


def person(login: str, name: str, *roles: str) -> User:
    """Somebody with these roles."""
    first, _, last = name.partition(" ")
    user = User.objects.create_user(login, first_name=first, last_name=last)
    user.groups.set([Group.objects.get_or_create(name=role)[0] for role in roles])
    return user


@pytest.fixture
def bot(db: None) -> Caller:
    """The agent desk."""
    return Caller(tokens.make("desk bot", "agent", agent="desk")[1])


@pytest.fixture
def other_bot(db: None) -> Caller:
    """The agent of another shop: its token is limited to it."""
    return Caller(tokens.make("returns bot", "agent", agent="returns")[1])


@pytest.fixture
def ana(db: None) -> Caller:
    """A person of the role support, who answers."""
    return Caller(tokens.make("ana", "approver", user=person("ana", "Ana Ferreira", "support"))[1])


@pytest.fixture
def tom(db: None) -> Caller:
    """Another one."""
    return Caller(tokens.make("tom", "approver", user=person("tom", "Tom Baker", "support"))[1])


@pytest.fixture
def olga(db: None) -> Caller:
    """An operator."""
    return Caller(tokens.make("olga", "operator", user=person("olga", "Olga Petrova", "operator"))[1])


@pytest.fixture
def world(services: Services, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of the practice services, on fresh books."""
    monkeypatch.setenv("STALWART_SERVICES_URL", services.url)
    httpx.post(f"{services.url}/reset", trust_env=False).raise_for_status()
    yield services.url


@pytest.fixture
def parked(bot: Caller) -> Callable[..., dict[str, Any]]:
    """Start a run of these steps, and carry it out up to its question; returns the run."""

    def start(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
        body = {"agent": "desk", "user": "u-17", "steps": list(steps), **more}
        started = bot.post("/runs", body)
        assert started.status == 201, started.body
        return carry_out(bot, started.body)

    return start


def carry_out(caller: Caller, run: dict[str, Any]) -> dict[str, Any]:
    """Advance a run as a worker would, and read it again."""
    advance(int(run["id"].removeprefix("R-")))
    return dict(caller.get(f"/runs/{run['id']}").body)


def row_of(run: dict[str, Any]) -> Run:
    """The row behind it."""
    return Run.objects.get(pk=run["id"].removeprefix("R-"))
