"""Processes: how ours stop, and how the children that we start end with us.

Everything here is about two fears: a signal that is lost, and a process that nobody owns any more. Linux can
be asked to signal a child when its parent dies, however it died; elsewhere a child may outlive a parent that
was killed, and `end_leftovers` finds it at the next start.
"""

import contextlib
import ctypes
import math
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FrameType

import psutil

_PR_SET_PDEATHSIG = 1  # linux/prctl.h
# Loaded once, here: between fork and exec no library may be loaded.
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0  # seconds before a child that died is started again
STEADY_SECONDS = 60.0  # a child that lived so long starts again with the first pause


class StopSignals:
    """Counts SIGTERM and SIGINT instead of dying of them. Make it in the main thread, before what it protects.

    A pipe, not a `threading.Event`: an event set in a handler can deadlock with the thread that waits for it.
    """

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        self.count = 0
        self._last = 0.0
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        # One press of Ctrl-C may come twice: from the terminal, and from a `make` that passes it on.
        if time.monotonic() - self._last > 1.0:
            self.count += 1
        self._last = time.monotonic()
        with contextlib.suppress(BlockingIOError):  # full of earlier signals: it is readable
            os.write(self._writer, b"!")

    def ignore(self) -> None:
        """The work is done: one more signal, while the interpreter shuts down, must not change the exit code."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until a stop signal has come, or for so many seconds; returns whether one has come."""
        select.select([self._reader], [], [], seconds)
        return self.count > 0


def signal_me_when_parent_dies(number: int) -> None:
    """Ask the kernel to send this process the signal `number` when its parent ends.

    The kernel means the parent's *thread*: whoever starts the child must do so from a thread that lives
    as long as the child should. A no-op where the kernel cannot do it.
    """
    if _libc is not None:
        _libc.prctl(_PR_SET_PDEATHSIG, number)


def dying_with_parent(number: int = signal.SIGTERM) -> Callable[[], None]:
    """A `preexec_fn` for a child that must get the signal `number` when this process ends."""
    parent = os.getpid()

    def prepare() -> None:
        signal_me_when_parent_dies(number)
        if os.getppid() != parent:  # the parent ended before the request was made
            os._exit(1)

    return prepare


class Child:
    """One process of ours, in a session of its own: the terminal's Ctrl-C reaches the parent alone."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        environment: Mapping[str, str],
        drain: float,
        *,
        may_end: bool = False,
    ) -> None:
        """`drain`: seconds the child gets between SIGTERM and SIGKILL. `may_end`: once it has ended with 0, it was
        asked to, by somebody else than its parent, and is not started again."""
        self.name, self.command, self.environment, self.drain = name, command, environment, drain
        self.may_end = may_end
        self.process: subprocess.Popen[bytes] | None = None
        self._started = 0.0
        self._pause = FIRST_PAUSE
        self._start_at = 0.0

    def start(self) -> None:
        """Start it, without waiting for anything."""
        self._started = time.monotonic()
        self.process = subprocess.Popen(
            self.command,
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=dying_with_parent(),  # noqa: PLW1509 (it runs C alone)
        )

    @property
    def identity(self) -> tuple[int, float] | None:
        """(pid, when it was created): together they name a process for ever."""
        with contextlib.suppress(psutil.Error):
            if self.process is not None:
                return self.process.pid, psutil.Process(self.process.pid).create_time()
        return None

    @property
    def ended(self) -> int | None:
        """Its exit code if it has ended (negative: the signal that ended it)."""
        return self.process.poll() if self.process is not None else None

    def revive(self) -> str | None:
        """Start it again if it has ended, after a pause that doubles; returns a line when that is seen."""
        if self.process is None:
            if time.monotonic() >= self._start_at:
                self.start()
            return None
        code = self.process.poll()
        if code is None:
            return None
        self._kill_group()  # what it left behind
        if code == 0 and self.may_end:
            self.process, self._start_at = None, math.inf
            return f"{self.name} has ended, as it was asked to, and is not started again"
        steady = time.monotonic() - self._started > STEADY_SECONDS
        self._pause = FIRST_PAUSE if steady else min(2 * self._pause, LONGEST_PAUSE)
        self.process, self._start_at = None, time.monotonic() + self._pause
        return f"{self.name} ended ({describe(code)}); it starts again in {self._pause:.0f} s"

    def stop(self, hurry: Callable[[], bool] = lambda: False) -> None:
        """SIGTERM, wait for as long as it may take unless `hurry()`, then SIGKILL to it and all it left."""
        if self.process is None:
            return
        self.process.terminate()
        deadline = time.monotonic() + self.drain
        while self.process.poll() is None and time.monotonic() < deadline and not hurry():
            time.sleep(0.02)
        self._kill_group()
        self.process.wait()
        self.process = None

    def _kill_group(self) -> None:
        assert self.process is not None
        with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS: a group of zombies
            os.killpg(self.process.pid, signal.SIGKILL)


def describe(code: int) -> str:
    """An exit code in words: `exit code 1`, `SIGKILL`."""
    return f"exit code {code}" if code >= 0 else signal.Signals(-code).name


def end_leftovers(identities: Iterable[Sequence[float]], seconds: float = 15.0) -> None:
    """End the processes (pid, created) that still live: children of a parent that was killed."""
    alive = [process for pid, created in identities if (process := _still(int(pid), created))]
    for process in alive:
        with contextlib.suppress(psutil.Error):
            process.terminate()
    for process in psutil.wait_procs(alive, timeout=seconds)[1]:
        with contextlib.suppress(psutil.Error):
            process.kill()


def _still(pid: int, created: float) -> psutil.Process | None:
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        if abs(process.create_time() - created) < 0.1:
            return process
    return None
