"""What the page of a question shows: plain data, without HTML, and nothing in it queries the database."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from runs.left import Left
from runs.parking import says_irreversible
from runs.views.calls import Argument, UndoWords
from runs.views.looks import Look

SAID_WORDS = {
    "happened": "it happened",
    "did_not_happen": "it did not happen",
    "not_yet": "it is not there yet",
    "cannot_say": "it cannot say",
    "failed": "the lookup failed",
}
ANSWER_WORDS = {
    "approve": "approve",
    "skip": "skip this step",
    "cancel_all": "cancel all",
    "happened": "it happened",
    "did_not_happen": "it did not happen",
    "send_again": "send again",
    "retry": "retry",
    "done_by_hand": "done by hand",
    "abandon": "abandon",
}


@dataclass(frozen=True)
class PlanRow:
    """One step of the run, as this question's page shows it."""

    number: int
    sentence: str
    look: Look
    at: datetime | None
    detail: str
    undo: UndoWords | None
    is_this: bool = False


@dataclass(frozen=True)
class Evidence:
    """Something the decision can rest on, where it comes from and how old it is."""

    source: str
    text: str
    by: str
    at: datetime | None


@dataclass(frozen=True)
class Choice:
    """One answer. `effect` says what it triggers; `last_look` where a second panel comes first."""

    value: str
    label: str
    effect: str
    shortcut: str
    last_look: bool = False
    needs: str = ""  # reason | reference


@dataclass(frozen=True)
class Given:
    """An answer that was given: `Answered by Ana Ferreira, 14:02 UTC: approve`."""

    by: str
    words: str
    reason: str
    at: datetime | None
    nonce: str = ""


@dataclass(frozen=True)
class Try:
    """One sending, and what came of it, word for word."""

    number: int
    sent_at: datetime
    finished_at: datetime | None
    verdict: str
    error: str


@dataclass(frozen=True)
class LookedUp:
    """One answer of the lookup, as the record has it."""

    at: datetime
    words: str
    error: str


@dataclass(frozen=True)
class Lookup:
    """The tool that says what became of the call, what it said, and what it would settle."""

    tool: str
    answers: tuple[LookedUp, ...]  # the newest first
    next_at: datetime | None  # by itself
    is_under_way: bool  # somebody asked for it
    effect: str


@dataclass(frozen=True)
class QuestionPage:
    """Everything that the page of a question shows."""

    step_id: int
    number: int
    kind: str
    look: Look
    title: str
    tool: str
    arguments: tuple[Argument, ...]
    exact: str
    warnings: tuple[str, ...]
    plan: tuple[PlanRow, ...]
    plan_hidden: int
    left: tuple[Left, ...]
    undo: UndoWords | None
    evidence: tuple[Evidence, ...]
    choices: tuple[Choice, ...]
    tries: tuple[Try, ...]
    in_effect: tuple[PlanRow, ...]
    result_fields: tuple[str, ...]
    settles_at: datetime | None
    is_early: bool
    lookup: Lookup | None
    lookup_said: str
    settled: str  # how a lookup settled it, in a sentence
    key: str
    error: str
    agent: str
    user: str
    thread_id: Any
    run_id: int
    run_name: str
    run_look: Look
    run_rests: bool  # it has ended, or waits for somebody
    ticket: str
    subject: str
    asked_at: datetime | None
    expires_at: datetime | None
    escalation: Look | None  # nobody answered in time
    is_open: bool
    step_look: Look
    digest: str
    approver: str
    not_by: tuple[str, ...]  # those who asked for it, where a rule wants somebody else
    may_answer: bool
    asked_for_it: bool
    given: Given | None

    @property
    def is_irreversible(self) -> bool:
        """Nothing undoes it: it was parked with a warning, which the page repeats word for word."""
        return says_irreversible(self.warnings)

    @property
    def grouped_digest(self) -> str:
        """The first 12 digits, in groups, to compare with somebody on the telephone."""
        return " ".join(self.digest[at : at + 4] for at in range(0, 12, 4))
