"""The command line, as real processes: on a machine where nothing runs, and beside `stalwart serve`."""

import json
import os
import pty
import re
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from stalwart_site.ports import free_port
from tests.processes import Started, until

ROOT = Path(__file__).resolve().parents[2]
CLI = [sys.executable, str(ROOT / "manage.py")]
PATIENCE = 60.0
FAILED_ORDER = (
    "charge order 4411 40.00, then update the crm for order 4411, then provision the account for order 4411"
)
FAILED_REPLY = (
    "This run stopped: provision_account failed (RuntimeError). "
    "Undone, latest first: update_crm (by restore_crm), charge_card (by refund_card).\n"
)
RECEIPT_ORDER = (
    "charge order 4411 40.00, then send the receipt for order 4411, then provision the account for order 4411"
)
RECEIPT_REPLY = (
    "This run stopped: provision_account failed (RuntimeError). "
    "Undone, latest first: charge_card (by refund_card). Not undoable, and left as they are: send_receipt.\n"
)


@dataclass(frozen=True)
class Said:
    """What a command printed, and its exit code."""

    out: str
    err: str
    code: int

    def json(self) -> Any:
        """Its output as JSON."""
        return json.loads(self.out)


class Shell:
    """A shell whose state folder is `home`, with no setting of the developer's own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        kept = {name: value for name, value in os.environ.items() if not name.startswith("STALWART_")}
        kept.pop("DATABASE_URL", None)
        self.environment = kept | {"STALWART_HOME": str(home), "STALWART_LEASE_SECONDS": "2"}

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """`stalwart <arguments>`, without waiting for it."""
        return subprocess.Popen(
            [*CLI, *arguments],
            cwd=ROOT,
            env=self.environment | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __call__(self, *arguments: str, **environment: str) -> Said:
        """`stalwart <arguments>`, to its end."""
        return self.all([arguments], **environment)[0]

    def all(self, commands: Sequence[tuple[str, ...]], **environment: str) -> list[Said]:
        """Several at the same time."""
        started = [self.start(*arguments, **environment) for arguments in commands]
        said = [process.communicate(timeout=PATIENCE) for process in started]
        return [Said(*text, process.returncode) for text, process in zip(said, started, strict=True)]

    def order(self, user: str, turn: str, *more: str) -> Said:
        """A turn whose every confirmation is approved, while provisioning is down."""
        fault = ("--fault", "provision_account:down")
        return self("chat", "--agent", "desk", "--user", user, "--answer", "approve", *fault, *more, turn)

    def changes(self, *more: str) -> list[str]:
        """What took place in the practice services, by operation."""
        return [change["operation"] for change in self("changes", "--json", *more).json()]


@pytest.fixture(scope="module")
def shell() -> Iterator[Shell]:
    """A machine where nothing runs, and nothing was ever run."""
    with tempfile.TemporaryDirectory(prefix="stalwart-cli-") as folder:
        Path(folder).chmod(0o711)  # as root the database runs as another account, which must be able to pass
        yield Shell(Path(folder))


@pytest.fixture(scope="module")
def served() -> Iterator[Shell]:
    """A machine on which `stalwart serve` runs."""
    with tempfile.TemporaryDirectory(prefix="stalwart-cli-") as folder, tempfile.TemporaryFile() as output:
        Path(folder).chmod(0o711)
        shell = Shell(Path(folder))
        shell.environment |= {"STALWART_CALL_TIMEOUT_SECONDS": "1", "STALWART_WORKERS": "1"}
        ports = ["--port", str(free_port()), "--services-port", str(free_port())]
        process = subprocess.Popen(
            [*CLI, "serve", "--empty", *ports], cwd=ROOT, env=shell.environment, stdout=output, stderr=output
        )
        serve = Started(process, output)
        try:
            until(
                lambda: "Ctrl-C" in serve.said() or process.poll() is not None, "the house to open", PATIENCE
            )
            assert process.poll() is None, serve.said()
            yield shell
        finally:
            assert serve.stop() == 0, serve.said()


# --- Where nothing runs -----------------------------------------------------------------------------------
def test_a_failed_order_is_undone_and_said_in_one_line(shell: Shell) -> None:
    said = shell.order("u-17", FAILED_ORDER)
    assert said == Said(FAILED_REPLY, "", 0)
    assert shell.changes() == ["charge_card", "update_crm", "restore_crm", "refund_card"]

    trace = shell("trace").out.splitlines()
    assert trace[0] == "R-1  desk with u-17  rolled back"
    assert trace[-6:] == [
        "The tools ran in this order:",
        "1. charge_card",
        "2. update_crm",
        "3. provision_account",
        "4. restore_crm",
        "5. refund_card",
    ]
    key = "key [0-9a-f]{16}"
    for line in (
        "  1  approval  approved by u-17",
        f"  1  write     charge_card {key} -> done",
        f"  3  write     provision_account {key} -> RuntimeError: provisioning is down",
        "     stop      provision_account failed \\(RuntimeError\\)",
        f"  4  undo      restore_crm \\(undoes step 2\\) {key} -> done",
        f"  5  reconcile refund_card \\(undoes step 1\\) {key} -> found: it happened",
        "     stop      rolled back",
    ):
        assert any(re.fullmatch(line, found) for found in trace), (line, trace)


def test_two_commands_at_once_share_the_database_that_one_of_them_started(shell: Shell) -> None:
    chat = ("chat", "--agent", "desk", "--answer", "approve")
    orders = [(*chat, "--user", f"u-4{order}", f"charge order {order} 10.00") for order in (4412, 4415)]
    assert [said.out for said in shell.all(orders)] == [
        "Done: 10.00 charged to order 4412.\n",
        "Done: 10.00 charged to order 4415.\n",
    ]


def test_a_command_that_was_killed_in_the_middle_of_a_call_charges_once(shell: Shell) -> None:
    turn = ("chat", "--agent", "desk", "--user", "u-50", "--answer", "approve", "charge order 4416 10.00")
    killed = shell.start(*turn[:-1], "--fault", "charge_card:slow", turn[-1])
    until(lambda: _charges(shell, 4416) == 1, "the charge to be on the books", PATIENCE)
    family = psutil.Process(killed.pid).children(recursive=True)
    killed.kill()
    killed.communicate()
    assert psutil.wait_procs(family, timeout=10)[1] == []  # the database and the services end with it

    said = shell(*turn[:-1], "look up order 4416")
    left = re.fullmatch(r"(R-\d+) was left unfinished; it goes on first.\n", said.err)
    assert left, said
    assert (said.code, "paid 10.00" in said.out) == (0, True)
    assert shell.changes("--run", left[1]) == ["charge_card"]
    trace = shell("trace", left[1]).out
    assert "-> no answer (process killed)" in trace
    assert "-> found: it happened" in trace


KEY = "[0-9a-f]{16}"
NO_ANSWER = rf"  1  write     request_refund key {KEY} -> no answer \(process (stopped|killed)\)"
FOUND = f"  1  reconcile request_refund key {KEY} -> found: it happened"
SENT_AGAIN = [
    f"  1  reconcile request_refund key {KEY} -> not found",
    f"  1  write     request_refund key {KEY} -> done",
]


@pytest.mark.parametrize(
    ("ticket", "where", "words", "lines", "calls"),
    [
        ("T-90104", "after-write", "after request_refund was made", [NO_ANSWER, FOUND], 1),
        ("T-90103", "during-call", "while request_refund was made", [NO_ANSWER, FOUND], 1),
        ("T-90603", "before-write", "before request_refund left", [NO_ANSWER, *SENT_AGAIN], 2),
    ],
)
def test_a_process_that_is_killed_around_a_refund_refunds_once(
    shell: Shell, ticket: str, where: str, words: str, lines: list[str], calls: int
) -> None:
    proposed = shell("run", ticket, "--json", STALWART_FAULTS="1")
    run, [question] = proposed.json()["run"], proposed.json()["waiting"]
    assert (proposed.code, question["tool"]) == (3, "request_refund")
    if (
        where == "before-write"
    ):  # the ticket's own fault strikes once, here at the call that is sent after the crash
        lines = [*lines[:-1], lines[-1].replace("done", "timeout"), FOUND]

    said = shell("approve", run, "--as", "ana", "--interrupt", where)
    printed = said.out.splitlines()
    assert re.fullmatch(rf"The process stopped: \d+ was killed {words}.*", printed[0]), said
    assert printed[1] == f"Resuming {run} (running) in a fresh process."
    told = [line for line in printed if line.startswith("  1  ")]
    assert len(told) == len(lines), said
    assert all(re.fullmatch(line, found) for line, found in zip(lines, told, strict=True)), said
    order = question["args"]["order_id"]
    done = rf"request_refund {order}: done \(operation {KEY}, {calls} call\(s\)\)"
    assert any(re.fullmatch(done, line) for line in printed), said
    assert (printed[-1], said.code) == ("Status: done", 0)
    assert shell.changes("--run", run).count("request_refund") == 1

    again = shell("run", ticket, "--json")
    assert (again.json()["state"], shell.changes("--run", again.json()["run"])) == ("succeeded", [])


def test_practice_switches_are_refused_outside_practice_and_nothing_is_stored(shell: Shell) -> None:
    run = shell("run", "T-90604", "--json").json()["run"]
    before = shell.all([("journal", run), ("changes",)])
    off = {"STALWART_FAULTS": "0"}
    refused = [
        shell("run", "T-90604", **off),
        shell("approve", run, "--as", "ana", "--interrupt", "after-write", **off),
        shell("approve", run, "--as", "ana", "--fault", "create_return_label:down", **off),
    ]
    for said in refused:
        assert (said.out, said.code, said.err.count("\n")) == ("", 1, 1)
        assert said.err.endswith("set STALWART_FAULTS=1 to allow them.\n") or "allow it" in said.err
    assert shell.all([("journal", run), ("changes",)]) == before
    usage = shell.all(
        [("run", "T-90604", "--interrupt", "after-write"), ("run", "T-90604", "--interrupt", "never")]
    )
    assert [said.code for said in usage] == [2, 2]
    assert shell("run", "T-1").err.startswith("There is no practice ticket T-1; there are: T-40912, ")


def _charges(shell: Shell, order: int) -> int:
    """How many charges of an order are on the books; 0 while there are no books."""
    books, count = shell.home / "services.sqlite3", "SELECT count(*) FROM charges WHERE order_id = ?"
    try:
        with sqlite3.connect(f"file:{books}?mode=ro", uri=True) as db:
            return int(db.execute(count, (order,)).fetchone()[0])
    except sqlite3.OperationalError:
        return 0


# --- Beside `stalwart serve` ------------------------------------------------------------------------------
def test_the_workers_of_a_running_serve_carry_the_turn_out(served: Shell) -> None:
    assert served.order("u-18", RECEIPT_ORDER) == Said(RECEIPT_REPLY, "", 0)
    assert served.changes("--run", "R-1") == ["charge_card", "send_message", "refund_card"]
    assert served("trace", "R-1", "--json").json()["order"] == [
        "charge_card",
        "send_receipt",
        "provision_account",
        "refund_card",
    ]


def test_a_turn_in_portuguese_is_refused_and_nothing_changes(served: Shell) -> None:
    everything = [("runs", "--json"), ("changes",)]
    before = served.all(everything)
    said = served("chat", "--agent", "desk", "--user", "u-30", "cobre o pedido 4411 40,00")
    assert (said.out, said.code, said.err.count("\n")) == ("", 1, 1)
    assert served.all(everything) == before


@pytest.mark.parametrize(
    ("fault", "calls"),
    [
        ("timeout_after_write", ["timeout", "found: it happened"]),
        ("timeout_before_write", ["timeout", "not found", "not found", "done"]),
    ],
)
def test_a_timeout_is_looked_up_and_the_trace_says_so(served: Shell, fault: str, calls: list[str]) -> None:
    chat = ("chat", "--agent", "desk", "--user", "u-31", "--answer", "approve", "--json")
    run = served(*chat, "--fault", f"charge_card:{fault}", "charge order 4417 10.00").json()["run"]
    trace, changes = served.all([("trace", run), ("changes", "--run", run)])
    line = r"^  \d  (?:write    |reconcile) charge_card key [0-9a-f]{16} -> (.*)$"
    assert re.findall(line, trace.out, re.MULTILINE) == calls
    assert changes.out.endswith("\n1 change(s) in the practice services\n")


def test_a_question_nobody_answers_ends_the_command_with_3_and_can_be_answered_later(served: Shell) -> None:
    turn = "charge order 4412 20.00, then send the receipt for order 4412"
    said = served("chat", "--agent", "desk", "--user", "u-19", "--json", turn)
    [question] = said.json()["waiting"]
    assert (said.code, question["text"]) == (3, "Charge 20.00 to order 4412")
    assert question["answers"] == ["approve", "skip", "cancel_all"]

    answer = ("answer", str(question["id"]), "approve", "--as", "ana", "--digest")
    wrong, again = served.all([(*answer, "0" * 64), ("chat", "--agent", "desk", "--user", "u-19", turn)])
    assert (wrong.code, wrong.err.count("\n"), again.code) == (1, 1, 1)
    assert "waits for an answer about charge_card" in again.err

    said = served(*answer, question["digest"])
    assert said.out.startswith("approve, says Ana Ferreira: Charge 20.00 to order 4412\n")
    assert re.search(
        r"^charge_card 4412: done \(operation [0-9a-f]{16}, 1 call\(s\)\)$", said.out, re.MULTILINE
    )
    assert "  Nothing can undo this step once it runs.\n" in said.out
    assert (said.out.splitlines()[-1], said.code) == ("Status: waiting", 3)

    run = question["run"]
    said = served("cancel", run, "--as", "olga", "--reason", "wrong order")
    reply = "This run stopped: cancelled by Olga Petrova. Undone, latest first: charge_card (by refund_card)."
    assert (reply in said.out.splitlines(), said.code) == (True, 0)
    assert "Status: rolled back\n" in said.out


def test_approve_answers_what_waits_now_and_nothing_that_comes_later(served: Shell) -> None:
    turn = "charge order 4413 5.00, then charge order 4413 6.00"
    run = served("chat", "--agent", "desk", "--user", "u-20", "--json", turn).json()["run"]
    codes = []
    for _ in range(3):
        said = served("approve", run, "--as", "tom")
        codes.append(said.code)
    assert codes == [3, 0, 1]
    assert said.err == f"{run} waits for no approval; it is succeeded. `stalwart trace {run}` says more.\n"
    assert served.changes("--run", run) == ["charge_card", "charge_card"]


def test_who_sits_at_the_terminal_is_asked(served: Shell) -> None:
    keyboard, terminal = pty.openpty()
    chat = ["chat", "--agent", "desk", "--user", "u-21", "--as", "ana", "charge order 4414 7.00"]
    process = subprocess.Popen(
        [*CLI, *chat],
        cwd=ROOT,
        env=served.environment,
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.write(keyboard, b"what?\nskip\n")
    out, err = process.communicate(timeout=PATIENCE)
    os.close(keyboard)
    os.close(terminal)
    assert (out, process.returncode) == ("Nothing had been done. Skipped: charge_card.\n", 0)
    assert "charge_card(order = 4414, amount = 7.00)" in err
    assert re.search(r"digest [0-9a-f]{64}", err)
    assert err.count("approve, skip or cancel all? ") == 2


def test_what_cannot_be_is_one_line_and_an_exit_code(served: Shell) -> None:
    chat = ("chat", "--agent", "desk", "--user", "u-22")
    errors = [
        ("trace", "R-999999"),
        ("answer", "99", "approve", "--digest", "0" * 64, "--as", "ana"),
        ("approve", "1", "--as", "nobody"),
        ("cancel", "1", "--as", "ana"),
        (*chat, "--fault", "teleport:down", "charge order 4411 40.00"),
        (*chat, "charge order 4411 40.00, then do magic"),
        ("chat", "--agent", "nobody", "--user", "u-22", "charge order 4411 40.00"),
    ]
    usage = [
        ("reset",),
        (*chat, "--fault", "nonsense", "x"),
        (*chat, "--answer", "maybe", "x"),
        ("runs", "--limit", "0"),
    ]
    said = served.all([*errors, *usage])
    for arguments, one in zip([*errors, *usage], said, strict=True):
        assert (one.out, "Traceback" in one.err) == ("", False), (arguments, one)
    assert [(one.code, one.err.count("\n")) for one in said[: len(errors)]] == [(1, 1)] * len(errors), said
    assert [one.code for one in said[len(errors) :]] == [2] * len(usage), said


def test_a_database_that_cannot_be_reached_is_one_line(served: Shell) -> None:
    said = served("runs", DATABASE_URL="postgresql://nobody@127.0.0.1:1/none")
    assert (said.out, said.code, said.err.count("\n")) == ("", 1, 1)
    assert said.err.startswith("The database cannot be used: ")


def test_a_setting_that_means_nothing_is_one_line(served: Shell) -> None:
    said = served("runs", STALWART_WORKERS="many")
    told = "STALWART_WORKERS is 'many': set it to a whole number from 1 on, such as 2, or not at all.\n"
    assert said == Said("", told, 1)


def test_reset_forgets_runs_and_changes_and_is_for_practice_alone(served: Shell) -> None:
    refused = served("reset", "--yes", STALWART_FAULTS="0")
    assert (refused.code, refused.out) == (1, "")
    assert json.loads(served("journal", "R-1").out.splitlines()[0])["kind"] == "run.started"
    assert served("reset", "--yes", "--empty").code == 0
    runs, changes = served.all([("runs", "--json"), ("changes",)])
    assert (runs.json(), changes.out) == ([], "0 change(s) in the practice services\n")
    assert served.order("u-17", FAILED_ORDER).out == FAILED_REPLY
