"""Other programs are told: one message for each event, signed, at least once, and never of what did not happen."""

import base64
import socket
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now
from pytest_django import Settings

from approvals import delivering, posting, webhooks
from approvals.delivering import deliver, deliver_due
from approvals.models import Delivery, Webhook
from approvals.notices import hand_out
from approvals.posting import NotPublic, address_of
from runs import services
from runs.access import Actor
from runs.errors import BadInput, Conflict
from runs.escalating import escalate_expired
from runs.models import Event, Notice
from runs.notable import KINDS
from tests.factories import AGENT, answer, make_agent, question, start, until
from tests.receiver import Receiver, is_signed, receiving
from tests.vault import IBAN
from tests.world import WORLD

pytestmark = pytest.mark.django_db
OLGA = Actor("Olga Petrova", frozenset({"operator"}))


@pytest.fixture(autouse=True)
def _practice(settings: Settings) -> None:
    """Plain HTTP to this machine, and short pauses."""
    settings.WEBHOOKS_PRIVATE = settings.WEBHOOKS_PLAIN = True
    settings.DELIVERY_RETRY_SECONDS = 0


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as started:
        yield started


@pytest.fixture
def webhook(receiver: Receiver) -> Webhook:
    """It is told of everything."""
    return webhooks.add(OLGA, f"{receiver.url}/hook", list(KINDS))


def tell() -> int:
    """What a sweep does."""
    hand_out()
    return deliver_due()


def types(receiver: Receiver) -> list[str]:
    return [message["type"] for message in receiver.told]


# --- What is told -------------------------------------------------------------------------------------
def test_a_program_is_told_of_a_question_and_of_the_end(
    agent: str, webhook: Webhook, receiver: Receiver
) -> None:
    run = start(agent, "charge 1 40.00", user="mia")
    assert tell() == 1
    step = question(run)
    event = run.events.get(kind="step.needs_approval")
    assert receiver.told == [
        {
            "type": "question.asked",
            "timestamp": event.at.isoformat(),
            "data": {
                "agent": "tester",
                "for": "support",
                "kind": "confirm",
                "question": step.pk,
                "run": run.name,
                "step": 1,
                "text": "Asked to confirm: Charge 40.00 to order 1",
                "url": f"http://localhost:8700/questions/{step.pk}/",
                "version": run.version,
            },
        }
    ]
    answer(run, "approve")
    assert tell() == 1
    ended = receiver.told[1]
    assert (ended["type"], ended["data"]["state"]) == ("run.ended", "succeeded")
    assert ended["data"]["text"] == f"{run.name} of mia: done"
    assert ended["data"]["url"] == f"http://localhost:8700/runs/{run.pk}/"


def test_an_escalation_a_stuck_run_and_a_handover_are_told(
    agent: str, webhook: Webhook, receiver: Receiver
) -> None:
    WORLD.script = {"tag": ["raises"], "refund": ["refuses"] * 4}
    run = start(agent, "charge 1 40.00, then tag 2")
    run.steps.filter(asks="confirm").update(expires_at=Now() - timedelta(seconds=1))
    escalate_expired()
    answer(answer(run, "approve"), "approve")
    run = until(run, "stuck")
    answer(run, "abandon", reason="the bank is closed")
    tell()
    assert sorted(types(receiver)) == sorted(["question.asked"] * 3 + list(KINDS)[1:])
    escalated = next(message["data"] for message in receiver.told if message["type"] == "question.escalated")
    assert escalated["for"] == "lead"
    assert escalated["text"].startswith("Nobody answered in time, escalated to lead: Charge 40.00")
    opened = next(message["data"] for message in receiver.told if message["type"] == "handover.opened")
    assert (opened["reason"], opened["url"]) == (
        "undo_stuck",
        f"http://localhost:8700/handovers/{run.pk}/",
    )


def test_it_is_told_what_it_asked_for_of_the_agent_that_it_asked_for(
    tmp_path: Path, agent: str, receiver: Receiver
) -> None:
    webhooks.add(OLGA, f"{receiver.url}/ends", ["run.ended"], agent)
    other = make_agent(tmp_path, "another")
    start(agent, "pay 1")
    start(other, "pay 1", user="u-2")
    start(agent, "charge 2 40.00", user="u-3")
    assert tell() == 1
    assert [message["data"]["agent"] for message in receiver.told] == [agent]


def test_nobody_is_told_of_what_was_rolled_back(agent: str, webhook: Webhook, receiver: Receiver) -> None:
    with transaction.atomic():
        start(agent, "charge 1 40.00")
        assert Notice.objects.count() == 1
        transaction.set_rollback(True)
    assert (tell(), Notice.objects.count(), receiver.posts) == (0, 0, [])


def test_where_nobody_asked_the_outbox_is_emptied_all_the_same(agent: str) -> None:
    start(agent, "pay 1")
    assert Notice.objects.count() == 1
    assert hand_out() == 1
    assert (Notice.objects.count(), Delivery.objects.count()) == (0, 0)


def test_a_write_that_nobody_is_told_of_puts_nothing_into_the_outbox(agent: str) -> None:
    start(agent, "pay 1, then pay 2, then pay 3")
    assert [notice.event.kind for notice in Notice.objects.select_related("event")] == ["run.succeeded"]


def test_what_a_tool_hides_is_told_to_nobody(tmp_path: Path, webhook: Webhook, receiver: Receiver) -> None:
    vault = make_agent(tmp_path, "vault", ["transfer", "recall", "stop"], "tests.vault")
    steps = [services.Proposal("transfer", {"iban": IBAN})]
    run = services.start(AGENT, services.start_thread(AGENT, vault, "mia"), services.RunRequest(steps=steps))
    until(run, "waiting")
    tell()
    assert receiver.told[0]["data"]["text"] == "Asked to confirm: Transfer 40.00 to [redacted]"
    assert IBAN not in receiver.posts[0][1]


# --- At least once, under one id ------------------------------------------------------------------------
def test_two_sweeps_send_one_message(agent: str, webhook: Webhook, receiver: Receiver) -> None:
    start(agent, "pay 1")
    assert [tell(), tell(), hand_out()] == [1, 0, 0]
    assert len(receiver.posts) == 1


def test_a_receiver_that_fails_is_tried_again_under_the_same_id(
    agent: str, webhook: Webhook, receiver: Receiver
) -> None:
    receiver.answers = [500, 302, 200]
    start(agent, "pay 1")
    assert [tell(), tell(), tell(), tell()] == [0, 0, 1, 0]
    assert len(receiver.posts) == 3 and len(set(receiver.ids)) == 1
    assert len({body for _, body in receiver.posts}) == 1
    message = Delivery.objects.get()
    assert (message.state, message.tries, message.status, message.error) == ("sent", 3, 200, "")


def test_a_sweep_that_dies_after_the_sending_sends_it_again_under_the_same_id(
    agent: str, webhook: Webhook, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(agent, "pay 1")
    hand_out()
    with monkeypatch.context() as patch:

        def die(*args: Any) -> None:
            raise KeyboardInterrupt

        patch.setattr(delivering, "_write_down", die)
        with pytest.raises(KeyboardInterrupt):
            deliver_due()
    assert deliver_due() == 0, "it is claimed for a minute"
    Delivery.objects.update(due_at=Now())
    assert deliver_due() == 1
    assert len(receiver.ids) == 2 and len(set(receiver.ids)) == 1


def test_a_sweep_that_dies_while_it_hands_out_leaves_the_outbox_as_it_was(
    agent: str, webhook: Webhook, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(agent, "pay 1")
    with monkeypatch.context() as patch, pytest.raises(ZeroDivisionError):
        patch.setattr(Notice.objects, "filter", lambda **_: 1 / 0)
        hand_out()
    assert (Notice.objects.count(), Delivery.objects.count()) == (1, 0)
    assert (tell(), len(receiver.posts)) == (1, 1)


def test_it_is_given_up_after_so_many_tries_and_says_why(
    agent: str, webhook: Webhook, receiver: Receiver, settings: Settings
) -> None:
    settings.DELIVERY_TRIES = 3
    receiver.answers = [503] * 5
    start(agent, "pay 1")
    assert [tell() for _ in range(5)] == [0] * 5
    message = Delivery.objects.get()
    assert (message.state, message.tries, message.error) == ("dead", 3, "answered 503")
    assert len(receiver.posts) == 3


def test_one_that_is_down_costs_one_try_at_a_time_and_keeps_nobody_waiting(
    agent: str, webhook: Webhook, receiver: Receiver, settings: Settings
) -> None:
    settings.DELIVERY_RETRY_SECONDS = 30
    with receiving() as other:
        webhooks.add(OLGA, other.url, list(KINDS))
        receiver.answers = [500]
        for user in ("u-1", "u-2", "u-3"):
            start(agent, "pay 1", user=user)
        assert tell() == 3
        assert (len(receiver.posts), len(other.posts)) == (1, 3)
        assert tell() == 0
        Delivery.objects.update(due_at=Now())  # half a minute later
        assert tell() == 3
    assert len(set(receiver.ids)) == 3


def test_one_that_answers_410_is_sent_nothing_more(agent: str, webhook: Webhook, receiver: Receiver) -> None:
    receiver.answers = [410]
    start(agent, "pay 1")
    start(agent, "pay 1", user="u-2")
    tell()
    webhook.refresh_from_db()
    assert webhook.disabled_at is not None and "410" in webhook.disabled_because
    start(agent, "pay 1", user="u-3")
    assert (tell(), len(receiver.posts)) == (0, 1)


@pytest.mark.django_db(transaction=True)
def test_sweeps_at_the_same_time_send_each_message_once(
    agent: str, webhook: Webhook, receiver: Receiver
) -> None:
    for number in range(8):
        start(agent, "pay 1", user=f"u-{number}")
    together = threading.Barrier(3)

    def sweep() -> None:
        together.wait()
        for _ in range(3):
            tell()
        connection.close()

    sweeps = [threading.Thread(target=sweep) for _ in range(3)]
    for thread in sweeps:
        thread.start()
    for thread in sweeps:
        thread.join()
    assert (len(receiver.ids), len(set(receiver.ids))) == (8, 8)


def test_what_cannot_be_put_into_words_is_told_and_holds_up_nothing(
    agent: str, webhook: Webhook, receiver: Receiver
) -> None:
    run = start(agent, "charge 1 40.00")
    event = Event.objects.create(run=run, kind="run.failed", after="no such state", actor="engine")
    assert Notice.objects.filter(event=event).exists()
    assert tell() == 2
    assert receiver.told[1]["data"]["text"] == f"{run.name}: run.ended"


# --- It was us -----------------------------------------------------------------------------------------
def test_every_message_is_signed(agent: str, webhook: Webhook, receiver: Receiver) -> None:
    start(agent, "pay 1")
    tell()
    headers, body = receiver.posts[0]
    secret = webhooks.secret_of(webhook)
    assert secret.startswith("whsec_")
    assert is_signed(secret, headers, body)
    assert not is_signed(secret, headers, body + " ")
    assert not is_signed(webhooks.secret_of(Webhook()), headers, body)
    assert headers["content-type"] == "application/json"


def test_the_signature_is_that_of_the_standard() -> None:
    # The example of the specification of Standard Webhooks.
    key = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    body = '{"test": 2432232314}'
    made = webhooks.signature(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", body)
    assert made == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_for_a_day_after_a_rotation_both_secrets_hold(
    agent: str, webhook: Webhook, receiver: Receiver
) -> None:
    old = webhooks.secret_of(webhook)
    new = webhooks.rotate(webhook)
    start(agent, "pay 1")
    tell()
    assert old != new and is_signed(old, *receiver.posts[0]) and is_signed(new, *receiver.posts[0])
    Webhook.objects.update(rotated_at=Now() - timedelta(days=1, seconds=1))
    start(agent, "pay 1", user="u-2")
    tell()
    assert is_signed(new, *receiver.posts[1]) and not is_signed(old, *receiver.posts[1])


def test_the_database_holds_no_secret(webhook: Webhook) -> None:
    secret = webhooks.secret_of(webhook).removeprefix("whsec_")
    assert secret not in str(list(Webhook.objects.values()))


# --- Where messages go ----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example/",
        "ftp://hooks.example/",
        "https://",
        "https://user:pass@hooks.example/",
        "https://hooks.example/#part",
        "https://hooks.example/a b",
        "https://hooks.example/\x00",
        "https://hooks.example:99999/",
        "https://hooks.example/" + "a" * 500,
    ],
)
def test_an_address_that_messages_may_not_leave_for_is_refused(url: str, settings: Settings) -> None:
    settings.WEBHOOKS_PLAIN = False
    with pytest.raises(BadInput):
        webhooks.add(OLGA, url, ["run.ended"])
    assert not Webhook.objects.exists()


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "10.1.2.3",
        "192.168.0.1",
        "169.254.169.254",
        "::1",
        "fd00::1",
        "::ffff:10.0.0.1",
    ],
)
def test_nothing_leaves_for_a_private_address(host: str, settings: Settings) -> None:
    settings.WEBHOOKS_PRIVATE = False
    with pytest.raises(NotPublic):
        address_of(host, 443)


def test_a_name_that_leads_to_a_private_address_is_a_try_that_failed(
    agent: str, webhook: Webhook, receiver: Receiver, settings: Settings
) -> None:
    settings.WEBHOOKS_PRIVATE = False
    start(agent, "pay 1")
    assert tell() == 0
    assert "STALWART_WEBHOOKS_PRIVATE" in Delivery.objects.get().error
    assert receiver.posts == []


def test_the_connection_is_made_to_the_address_that_was_looked_at(receiver: Receiver) -> None:
    asked: list[str] = []
    look_up = socket.getaddrinfo

    def once(host: str, *args: Any, **more: Any) -> Any:
        asked.append(host)
        return look_up(host, *args, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", once)
        assert posting.post(receiver.url, "{}", {}) == 204
    assert asked[0] == "localhost" and set(asked[1:]) <= {"127.0.0.1"}
    assert receiver.posts[0][0]["host"] == receiver.url.removeprefix("http://")


def test_the_same_address_twice_is_a_conflict(webhook: Webhook) -> None:
    with pytest.raises(Conflict):
        webhooks.add(OLGA, webhook.url, ["run.ended"])


@pytest.mark.parametrize(("kinds", "agent"), [([], ""), (["run.started"], ""), (["run.ended"], "nobody")])
def test_what_is_not_there_cannot_be_asked_for(kinds: list[str], agent: str) -> None:
    with pytest.raises(BadInput):
        webhooks.add(OLGA, "https://hooks.example/", kinds, agent)


def test_a_message_that_is_being_sent_is_not_sent_beside_it(
    agent: str, webhook: Webhook, receiver: Receiver
) -> None:
    start(agent, "pay 1")
    hand_out()
    message = Delivery.objects.get()
    Delivery.objects.update(due_at=Now() + timedelta(seconds=60))  # claimed by another
    assert not deliver(message.pk)
    assert receiver.posts == []
