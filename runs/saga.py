"""A saga: the steps of a Python program that is not an agent, undone in reverse where it fails or dies (S2).

    with Saga("provision box") as saga:
        box = saga.step("provision", provision, undo="deprovision", undo_args={"box": "$result.id"})
        saga.step("dns", add_dns, args={"name": "box-7"}, undo="shop.dns.del_dns")

A clean exit commits, and nothing is undone. Any exception undoes the steps before it, last first, whatever can be,
and is raised again; undos that failed are its `__cause__`, one UndosFailed that names them all. A process that
dies is cleaned up after by the workers, or by `recover()`, from the rows alone (docs/sagas.md).
"""

import functools
import inspect
import os
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, cast, overload

from asgiref.sync import sync_to_async

from runs.agentfile import PROGRAMS
from runs.errors import (
    BadInput,
    ConfigurationError,
    LeaseLost,
    SagaStopped,
    UndoFailed,
    UndoNotBound,
    UndosFailed,
)
from runs.following import Reply, follow
from runs.models import Run
from runs.programs import plan
from runs.states import RunState
from runs.tools.registry import finished, refuse_unrun
from runs.undertaking import Doing, Undertaking

__all__ = ["AsyncSaga", "Saga", "SagaStopped", "UndoFailed", "UndoNotBound", "UndosFailed", "recover"]

P = ParamSpec("P")
T = TypeVar("T")
Handler = str | Callable[..., Any]


class Saga:
    """A context manager; with `async with` its steps are awaited; as a decorator it is the first argument."""

    def __init__(self, name: str, *, ticket: str = "", by: str = "") -> None:
        """`by` is who runs the program, for the record; its file's name unless it is given. Raises BadInput."""
        by = by or _program()
        for field, text, least, most in (
            ("name", name, 1, 100),
            ("ticket", ticket, 0, 100),
            ("by", by, 1, 200),
        ):
            if not isinstance(text, str) or not least <= len(text) <= most or "\x00" in text:
                raise BadInput(f"Text of {least} to {most} characters is needed.", field=f"/{field}")
        self.name, self.ticket, self.by = name, ticket, by
        self._run: Undertaking | None = None
        self._pid, self._over = 0, False
        self._one_step = threading.Lock()

    @property
    def run(self) -> str:
        """The id that people say: R-1042."""
        return self._held.name

    # --- With, and async with -------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        """Record that the saga begins, and hold its run."""
        if self._run is not None:
            raise SagaStopped(f"{self.name} was begun already: make another Saga for another time.")
        self._run, self._pid = Undertaking(self.name, self.ticket, self.by), os.getpid()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Commit, or undo. Raises SagaStopped where the program is through and its run was stopped all the same."""
        if os.getpid() != self._pid:
            return  # a child that was forked inside: the saga is its parent's
        self._over = True
        try:
            self._commit() if error is None else self._undo(error)
        finally:
            self._held.let_go()

    async def __aenter__(self) -> "AsyncSaga":
        await sync_to_async(self.__enter__)()
        return AsyncSaga(self)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await sync_to_async(self.__exit__)(kind, error, trace)

    # --- A step ---------------------------------------------------------------------------------------------

    def step(
        self,
        name: str,
        action: Callable[..., T],
        *,
        args: Mapping[str, Any] | None = None,
        undo: Handler | None = None,
        undo_args: Mapping[str, Any] | None = None,
        lookup: Handler | None = None,
        retries: int = 0,
        timeout: float | None = None,
    ) -> T:
        """Carry `action` out and return what it returns; before it is called, its row is committed.

        args        JSON; recorded, and passed by name. A first parameter called `call` receives the `Call`.
        undo        the `@tool` that undoes it: itself, its dotted path, or its name in the action's own module
        undo_args   JSON, with `$args.x` and `$result.y` for what the step was given and returned
        lookup      the `@tool` that is given the key, and says whether the step took effect
        retries     how often an undo that failed is tried again
        timeout     seconds that the call may take; twice that later it can no longer arrive

        Raises what the action raises; BadInput and ConfigurationError before anything is sent; UndoNotBound
        after it, where what it returned lacks what its undo needs; SagaStopped; LeaseLost.
        """
        with self._alone() as held:
            planned = plan(
                name,
                action,
                args=args,
                undo=undo,
                undo_args=undo_args,
                lookup=lookup,
                retries=retries,
                timeout=timeout,
            )
            doing = held.intend(planned)
            try:
                with doing:
                    doing.result = finished(doing.plan.function(doing.sending.call))
            finally:
                held.settle()
        return cast(T, _result(doing))

    @property
    def _held(self) -> Undertaking:
        if self._run is None:
            raise SagaStopped(f"{self.name} has not begun: use it in a with statement.")
        return self._run

    @property
    def _live(self) -> Undertaking:
        if self._over:
            raise SagaStopped(f"{self.name} is over: its steps belong inside its with statement.")
        return self._held

    @contextmanager
    def _alone(self) -> Iterator[Undertaking]:
        """Steps come one after another, in the process that began the saga."""
        live = self._live
        if os.getpid() != self._pid:
            raise SagaStopped(f"{self.name} is another process's: it was begun before this one was forked.")
        if not self._one_step.acquire(blocking=False):
            raise SagaStopped(f"Another step of {self.name} is under way: its steps come one after another.")
        try:
            yield live
        finally:
            self._one_step.release()

    # --- The end --------------------------------------------------------------------------------------------

    def _commit(self) -> None:
        reply = self._held.finish()
        if reply.state != RunState.SUCCEEDED:
            failed = _failed(reply)
            raise SagaStopped(f"{reply.run} was not committed. {reply.text or reply.state}") from failed

    def _undo(self, error: BaseException) -> None:
        if isinstance(error, LeaseLost):
            return  # somebody else holds it, and undoes it
        try:
            failed = _failed(self._held.undo(error))
        except (Exception, LeaseLost) as trouble:  # noqa: BLE001 (whatever it is, the program's own error is raised)
            failed = _not_undone_here(self._held.name, trouble)
        if failed:
            failed.__cause__, failed.__context__ = error.__cause__, error.__context__
            error.__cause__ = failed

    # --- As a decorator -------------------------------------------------------------------------------------

    @overload
    def __call__(self, function: Callable[Concatenate["Saga", P], T]) -> Callable[P, T]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate["AsyncSaga", P], Coroutine[Any, Any, T]]
    ) -> Callable[P, Coroutine[Any, Any, T]]: ...

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Each call of the function is a saga of its own, which is its first argument.

        Raises ConfigurationError for a generator.
        """
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise ConfigurationError(
                f"{function.__qualname__} is a generator: it would be left before its steps run. Use `with` inside."
            )
        if inspect.iscoroutinefunction(function):
            return self._around_async(function)

        @functools.wraps(function)
        def carried_out(*args: Any, **kwargs: Any) -> Any:
            with Saga(self.name, ticket=self.ticket, by=self.by) as saga:
                return function(saga, *args, **kwargs)

        return carried_out

    def _around_async(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        async def carried_out(*args: Any, **kwargs: Any) -> Any:
            async with Saga(self.name, ticket=self.ticket, by=self.by) as saga:
                return await function(saga, *args, **kwargs)

        return carried_out


class AsyncSaga:
    """What `async with Saga(…)` gives: the same steps, to be awaited; an action may be a coroutine function."""

    def __init__(self, saga: Saga) -> None:
        self._saga = saga

    @property
    def run(self) -> str:
        """The id that people say: R-1042."""
        return self._saga.run

    async def step(self, name: str, action: Callable[..., Any], **named: Any) -> Any:
        """As `Saga.step`. A task that is cancelled in the middle leaves the step in doubt."""
        with self._saga._alone() as held:
            doing = await sync_to_async(held.intend)(plan(name, action, **named))
            try:
                with doing:
                    doing.result = doing.plan.function(doing.sending.call)
                    refuse_unrun(doing.result)
                    if inspect.isawaitable(doing.result):
                        doing.result = await doing.result
            finally:
                await sync_to_async(held.settle)()
        return _result(doing)


def _program() -> str:
    """What runs here, by its file; a package by its folder."""
    path = Path(sys.argv[0] if sys.argv else "")
    return (path.parent if path.name == "__main__.py" else path).name or "a program"


def _result(doing: Doing) -> Any:
    if doing.unprotected:
        raise UndoNotBound(f"{doing.plan.name} took effect, and cannot be undone: {doing.unprotected}")
    return doing.result


def recover() -> list[Reply]:
    """Undo the sagas whose process died, from their rows alone. Workers do the same where there are any.

    Called twice, or twice at once, it undoes once: what another process holds is waited for. A saga that was
    committed is left alone. Returns where each one stands.
    """
    dead = Run.objects.with_work().filter(thread__agent=PROGRAMS).order_by("pk")
    return [follow(pk, alone=True) for pk in list(dead.values_list("pk", flat=True))]


def _failed(reply: Reply) -> UndosFailed | None:
    """One error for everything about which a person is asked."""
    failed = [UndoFailed(f"{waiting.text} (question {waiting.id})") for waiting in reply.waiting]
    many = f"{len(failed)} questions" if len(failed) > 1 else "a question"
    return UndosFailed(f"{reply.run} is not all undone: {many} for a person", failed) if failed else None


def _not_undone_here(run: str, trouble: BaseException) -> UndosFailed:
    why = f"{type(trouble).__name__}: {trouble}"
    return UndosFailed(
        f"{run} was not undone by this process, and a worker goes on with it", [UndoFailed(why)]
    )
