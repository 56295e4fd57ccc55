"""Who is told, by a real sweep: another program over HTTP, and a person by mail; also where the sweep is killed."""

import email
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.handlers import Message
from django.contrib.auth.models import Group, User

from approvals import webhooks
from approvals.models import Delivery, MailChoice
from runs import services
from runs.access import Actor
from runs.models import Run
from runs.notable import KINDS
from stalwart_site.ports import free_port
from tests.factories import AGENT
from tests.processes import Processes, until
from tests.receiver import Receiver, is_signed, receiving

OLGA = Actor("Olga Petrova", frozenset({"operator"}))


class Mailbox(Message):
    """Keeps what was sent."""

    def __init__(self) -> None:
        super().__init__(email.message.Message)
        self.mails: list[Any] = []

    def handle_message(self, message: Any) -> None:
        self.mails.append(message)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as started:
        yield started


@pytest.fixture
def secret(processes: Processes, receiver: Receiver, settings: Any) -> str:
    """Of a webhook that is told of everything."""
    settings.WEBHOOKS_PLAIN = True
    return webhooks.secret_of(webhooks.add(OLGA, receiver.url, list(KINDS)))


def ask() -> Run:
    """A run of the desk that asks whether to charge."""
    thread = services.start_thread(AGENT, "desk", "Mia Olsen")
    return services.start(AGENT, thread, services.RunRequest(text="charge order 4411 40.00"))


def types(receiver: Receiver) -> list[str]:
    return [message["type"] for message in receiver.told]


def test_a_question_that_nobody_answers_is_told_then_told_again_as_escalated(
    processes: Processes, receiver: Receiver, secret: str
) -> None:
    mailbox = Mailbox()
    lea = User.objects.create_user("lea", email="lea@example.com")
    lea.groups.set([Group.objects.create(name="lead")])
    MailChoice.objects.create(user=lea, kinds=["question.escalated"])
    server = Controller(mailbox, "127.0.0.1", free_port())
    server.start()
    try:
        processes.worker(STALWART_QUESTION_SECONDS="1")
        processes.sweep(STALWART_MAIL=f"smtp+plain://127.0.0.1:{server.port}")
        run = ask()
        until(lambda: len(receiver.posts) == 2 and mailbox.mails, "two messages and a mail")
    finally:
        server.stop()
    assert types(receiver) == ["question.asked", "question.escalated"]
    assert all(is_signed(secret, *post) for post in receiver.posts)
    [mail] = mailbox.mails
    assert mail["To"] == "lea@example.com"
    subject = " ".join(mail["Subject"].split())  # a long header is folded
    assert subject == f"[{run.name}] Nobody answered in time, escalated to lead: Charge 40.00 to order 4411"
    assert f"/questions/{run.steps.get().pk}/" in mail.get_payload()
    run.refresh_from_db()
    assert (run.state, run.steps.get().answer) == ("waiting", "")


def test_a_sweep_that_is_killed_while_it_sends_is_followed_by_one_that_sends_it_again(
    processes: Processes, receiver: Receiver, secret: str
) -> None:
    sweep = processes.sweep(STALWART_DELIVERY_CLAIM_SECONDS="1")  # then it is tried again
    receiver.then = sweep.kill
    processes.worker()
    ask()
    until(lambda: len(receiver.posts) == 1, "the first try")
    assert sweep.process.wait(10) == -signal.SIGKILL
    assert Delivery.objects.get().state == "waiting"
    processes.sweep(STALWART_DELIVERY_CLAIM_SECONDS="1")
    until(lambda: Delivery.objects.get().state == "sent", "the second try")
    assert len(receiver.ids) == 2 and len(set(receiver.ids)) == 1
