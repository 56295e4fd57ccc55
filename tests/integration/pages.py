"""What the tests of pages share: people who are signed in, and what a page holds."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import URLResolver, get_resolver, reverse

from approvals.models import Answer
from runs.models import Step

LOGIN = "django.contrib.auth.backends.ModelBackend"


def signed_in(login: str, name: str, *roles: str) -> Client:
    """A browser in which this person is signed in."""
    first, _, last = name.partition(" ")
    user = User.objects.create_user(login, first_name=first, last_name=last)
    user.groups.set([Group.objects.get_or_create(name=role)[0] for role in roles])
    client = Client()
    client.force_login(user, backend=LOGIN)
    return client


def routes(resolver: Any = None, before: str = "") -> Iterator[str]:
    """Every pattern of the site, as a match names it, without the ^ of a regular expression."""
    for item in (resolver or get_resolver()).url_patterns:
        route = before + str(item.pattern).removeprefix("^")
        if isinstance(item, URLResolver):
            yield from routes(item, route)
        else:
            yield route


def html(response: Any) -> str:
    """A page as text."""
    return str(response.content.decode())


def words(response: Any) -> str:
    """What a person reads on a page: without tags, in one line."""
    return re.sub(r"\s+", " ", "".join(_Words.of(html(response)))).strip()


def form_of(response: Any) -> dict[str, str]:
    """The hidden fields of a question's form."""
    found = re.findall(r'<input type="hidden"\s+name="(\w+)"\s+value="([^"]*)"', html(response))
    return {name: value for name, value in found if name != "csrfmiddlewaretoken"}


def send(
    client: Client,
    step: Step,
    answer: str,
    sent: dict[str, str] | None = None,
    result_fields: dict[str, str] | None = None,
    **fields: str,
) -> Any:
    """Open a question, or take the form that was opened, and send an answer."""
    address = reverse("question", args=[step.pk])
    form = form_of(client.get(address)) if sent is None else sent
    return client.post(address, {**form, "answer": answer, **fields, **(result_fields or {})})


def answers() -> list[tuple[str, str, str]]:
    """All that was answered: (answer, who, why)."""
    return list(Answer.objects.order_by("pk").values_list("answer", "by", "reason"))


class _Words(HTMLParser):
    SKIPPED = ("script", "style", "template", "title")

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._skipping = 0

    @classmethod
    def of(cls, text: str) -> Iterator[str]:
        parser = cls()
        parser.feed(text)
        yield from parser.found

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self._skipping += tag in self.SKIPPED

    def handle_endtag(self, tag: str) -> None:
        self._skipping -= tag in self.SKIPPED

    def handle_data(self, data: str) -> None:
        if not self._skipping:
            self.found.append(data)
