"""What the tests of sagas share: a program of three steps, one that fails, and one whose process is gone."""

import pytest

from runs.engine import advance
from runs.models import Run
from runs.saga import Saga
from tests.boxes import add_dns, cool, provision, warm
from tests.factories import expire

DONE = ["provision s", "add_dns box-s", "warm box-s"]
UNDONE = ["cool box-s", "del_dns box-s", "deprovision box-s"]


class Unhealthy(Exception):
    """The program's own error."""


def three_steps(saga: Saga, fails: BaseException | None = None) -> None:
    """Provision a box, name it, warm it up; then the program's own check."""
    saga.step("provision", provision, undo="deprovision", undo_args={"box": "$result.id"})
    saga.step("dns", add_dns, args={"box": "box-s"}, undo="tests.boxes.del_dns")
    saga.step("cache", warm, args={"box": "box-s"}, undo=cool)
    if fails:
        raise fails


def failing(error: BaseException) -> Run:
    """A saga whose program raises this after three steps."""
    with pytest.raises(type(error)) as caught, Saga("provision box") as saga:
        three_steps(saga, error)
    assert caught.value is error
    return Run.objects.get()


def died() -> Run:
    """A saga whose process is gone after two steps, and its lease with it."""
    saga = Saga("provision box")
    saga.__enter__()
    saga.step("provision", provision, undo="deprovision", undo_args={"box": "$result.id"})
    saga.step("dns", add_dns, args={"box": "box-s"}, undo="del_dns")
    saga._held.let_go()
    return expire(Run.objects.latest("pk"))


def taken_over() -> None:
    """Another worker carries the one run on, whose lease has run out."""
    assert advance(expire(Run.objects.get()).pk, "another worker")
