"""A saga of a program that runs in an event loop: its steps are awaited, and so are the handlers of its undos."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest
from asgiref.sync import sync_to_async
from django.core.exceptions import SynchronousOnlyOperation
from django.db import connection

from runs import engine, undertaking
from runs.errors import ConfigurationError, SagaStopped, UndosFailed
from runs.models import Run
from runs.saga import AsyncSaga, Saga
from tests import boxes
from tests.boxes import add_dns, provision, warm, world
from tests.factories import question
from tests.sagas import Unhealthy

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("boxes_world")]
T = TypeVar("T")


def in_loop(program: Coroutine[Any, Any, T]) -> T:
    """Run the program, and hang up the connection of its loop's thread, which the test database would wait for."""

    async def whole() -> T:
        try:
            return await program
        finally:
            await sync_to_async(lambda: connection.close())()

    return asyncio.run(whole())


async def provision_async(size: str = "s") -> dict[str, Any]:
    """A program's own coroutine."""
    await asyncio.sleep(0)
    return provision(size)


async def two_steps(saga: AsyncSaga) -> dict[str, Any]:
    box: dict[str, Any] = await saga.step(
        "provision", provision_async, undo="tests.boxes.deprovision", undo_args={"box": "$result.id"}
    )
    await saga.step("cache", warm, args={"box": box["id"]}, undo=boxes.cool_later)
    return box


def test_async_steps_are_committed_on_a_clean_exit() -> None:
    async def program() -> dict[str, Any]:
        async with Saga("provision box") as saga:
            return await two_steps(saga)

    assert in_loop(program()) == {"id": "box-s"}
    assert (world(), Run.objects.get().state) == (["provision s", "warm box-s"], "succeeded")


def test_async_steps_are_undone_in_reverse_and_an_async_handler_is_awaited() -> None:
    error = Unhealthy()

    async def program() -> None:
        async with Saga("provision box") as saga:
            await two_steps(saga)
            raise error

    with pytest.raises(Unhealthy) as caught:
        in_loop(program())
    assert caught.value is error
    assert world() == ["provision s", "warm box-s", "cool_later box-s", "deprovision box-s"]


@pytest.mark.parametrize("raised", [RuntimeError("no cache"), asyncio.CancelledError()])
def test_what_an_async_handler_raises_is_a_failed_undo(raised: BaseException) -> None:
    boxes.FAILS["cool_later"] = [raised]
    error = Unhealthy()

    async def program() -> None:
        async with Saga("provision box") as saga:
            await two_steps(saga)
            raise error

    with pytest.raises(Unhealthy):
        in_loop(program())
    assert isinstance(error.__cause__, UndosFailed)
    assert world()[-1] == "deprovision box-s"
    assert question(Run.objects.get()).tool == "tests.boxes.cool_later"


def test_an_async_handler_is_awaited_in_a_program_without_a_loop_and_so_is_an_action() -> None:
    with pytest.raises(Unhealthy), Saga("provision box") as saga:
        box: Any = saga.step("provision", provision_async)
        saga.step("cache", warm, args={"box": box["id"]}, undo=boxes.cool_later)
        raise Unhealthy
    assert world() == ["provision s", "warm box-s", "cool_later box-s"]


def test_an_error_in_an_async_action_undoes_the_rest_and_not_itself() -> None:
    async def fails() -> None:
        await asyncio.sleep(0)
        raise RuntimeError("the cache is down")

    async def program() -> None:
        async with Saga("provision box") as saga:
            await two_steps(saga)
            await saga.step("more cache", fails, undo="tests.boxes.cool", undo_args={"box": "b"})

    with pytest.raises(RuntimeError, match="the cache is down"):
        in_loop(program())
    assert world() == ["provision s", "warm box-s", "cool_later box-s", "deprovision box-s"]


def test_a_task_that_is_cancelled_in_mid_step_leaves_that_step_in_doubt() -> None:
    async def hangs() -> None:
        await asyncio.sleep(60)

    async def program() -> None:
        async with Saga("provision box") as saga:
            await two_steps(saga)
            await saga.step("slow", hangs)

    async def cancelled() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(program(), 1)

    in_loop(cancelled())
    assert world() == ["provision s", "warm box-s", "cool_later box-s", "deprovision box-s"]
    assert (
        question(Run.objects.get()).question
        == "Did slow take effect? It was being sent when the run stopped."
    )


def test_a_task_that_is_cancelled_before_its_step_was_called_leaves_nothing_in_doubt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The intent is being committed, in its own thread, when the task is cancelled."""
    commit, task = engine.commit, list[asyncio.Task[Any]]()

    def slow_commit(*args: Any) -> Any:
        done = commit(*args)
        if Run.objects.filter(steps__tool="slow", steps__state="sent").exists():
            task[0].get_loop().call_soon_threadsafe(task[0].cancel)
            monkeypatch.setattr(undertaking, "commit", commit)
        return done

    async def program() -> None:
        task.extend(one for one in [asyncio.current_task()] if one)
        async with Saga("provision box") as saga:
            await two_steps(saga)
            monkeypatch.setattr(undertaking, "commit", slow_commit)
            await saga.step("slow", add_dns, args={"box": "b"})

    with pytest.raises(asyncio.CancelledError):
        in_loop(program())
    assert world() == ["provision s", "warm box-s", "cool_later box-s", "deprovision box-s"]
    run = Run.objects.get()
    assert (run.state, run.steps.get(tool="slow").state) == ("rolled_back", "failed")


def test_steps_that_are_gathered_are_refused_they_come_one_after_another() -> None:
    async def program() -> None:
        async with Saga("provision box") as saga:
            await asyncio.gather(
                saga.step("one", provision_async, undo="tests.boxes.deprovision", undo_args={"box": "b"}),
                saga.step("two", provision_async),
            )

    with pytest.raises(SagaStopped, match="come one after another"):
        in_loop(program())


def test_an_async_function_is_decorated_and_an_async_generator_is_refused() -> None:
    @Saga("provision box")
    async def program(saga: AsyncSaga, size: str) -> Any:
        return await saga.step("provision", provision_async, args={"size": size})

    assert in_loop(program("m")) == {"id": "box-m"}

    async def steps(saga: AsyncSaga) -> Any:
        yield 1

    with pytest.raises(ConfigurationError, match="is a generator"):
        Saga("provision box")(steps)


def test_an_action_that_is_an_async_generator_has_not_run() -> None:
    async def lazy() -> Any:
        provision()
        yield 1

    async def program() -> None:
        async with Saga("provision box") as saga:
            await saga.step("provision", lazy)

    with pytest.raises(TypeError, match="nothing of it has run"):
        in_loop(program())
    assert world() == []


def test_a_saga_in_an_async_generator_that_is_closed_is_undone() -> None:
    async def boxes_made() -> Any:
        async with Saga("provision box") as saga:
            yield await two_steps(saga)

    async def program() -> None:
        made = boxes_made()
        await anext(made)
        await made.aclose()

    in_loop(program())
    assert world() == ["provision s", "warm box-s", "cool_later box-s", "deprovision box-s"]


def test_a_saga_without_await_is_refused_inside_a_loop() -> None:
    async def program() -> None:
        with Saga("provision box"):
            pass

    with pytest.raises(SynchronousOnlyOperation):
        in_loop(program())
