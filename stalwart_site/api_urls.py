"""Every address under /api/v1, without a slash at its end."""

from django.urls import path, re_path, register_converter

from approvals.api import Answers, LookUp, OneQuestion, Questions
from approvals.handover_api import (
    AllHandovers,
    ClaimHandover,
    HandoverNotes,
    OneHandover,
    ReleaseHandover,
    ResolveHandover,
)
from runs.api.catalogue import Agents, Tools
from runs.api.documents import Docs, Schema
from runs.api.endpoint import NoSuchAddress
from runs.api.operating import ResumeRun, RunJournal, UndoRun
from runs.api.planning import Plans
from runs.api.runs import CancelRun, CloseRun, OneRun, RunEvents, Runs, RunSteps
from runs.api.threads import OneThread, Threads, Turns
from runs.api.workers import DrainWorker, PauseWorker, ResumeWorker, Workers

NUMBER = r"[1-9][0-9]{0,17}"  # fits the database's 64 bits


class RunId:
    """R-1042, or 1042."""

    regex = f"(?:R-)?{NUMBER}"

    def to_python(self, value: str) -> int:
        """The number."""
        return int(value.removeprefix("R-"))

    def to_url(self, value: int) -> str:
        """What people say."""
        return f"R-{value}"


class StepId:
    """The id of a step."""

    regex = NUMBER

    def to_python(self, value: str) -> int:
        """The number."""
        return int(value)

    def to_url(self, value: int) -> str:
        """The number."""
        return str(value)


register_converter(RunId, "run")
register_converter(StepId, "step")

app_name = "api"
urlpatterns = [
    path("threads", Threads.as_view(), name="threads"),
    path("threads/<uuid:thread>", OneThread.as_view(), name="thread"),
    path("threads/<uuid:thread>/turns", Turns.as_view(), name="turns"),
    path("runs", Runs.as_view(), name="runs"),
    path("runs/<run:run>", OneRun.as_view(), name="run"),
    path("runs/<run:run>/events", RunEvents.as_view(), name="run-events"),
    path("runs/<run:run>/steps", RunSteps.as_view(), name="run-steps"),
    path("runs/<run:run>/close", CloseRun.as_view(), name="run-close"),
    path("runs/<run:run>/cancel", CancelRun.as_view(), name="run-cancel"),
    path("runs/<run:run>/undo", UndoRun.as_view(), name="run-undo"),
    path("runs/<run:run>/resume", ResumeRun.as_view(), name="run-resume"),
    path("runs/<run:run>/journal", RunJournal.as_view(), name="run-journal"),
    path("runs/<run:run>/handover", OneHandover.as_view(), name="handover"),
    path("runs/<run:run>/handover/claim", ClaimHandover.as_view(), name="handover-claim"),
    path("runs/<run:run>/handover/release", ReleaseHandover.as_view(), name="handover-release"),
    path("runs/<run:run>/handover/notes", HandoverNotes.as_view(), name="handover-notes"),
    path("runs/<run:run>/handover/resolve", ResolveHandover.as_view(), name="handover-resolve"),
    path("handovers", AllHandovers.as_view(), name="handovers"),
    path("questions", Questions.as_view(), name="questions"),
    path("questions/<step:step>", OneQuestion.as_view(), name="question"),
    path("questions/<step:step>/look-up", LookUp.as_view(), name="look-up"),
    path("questions/<step:step>/answer", Answers.as_view(), name="answer"),
    path("workers", Workers.as_view(), name="workers"),
    path("workers/<step:worker>/pause", PauseWorker.as_view(), name="worker-pause"),
    path("workers/<step:worker>/resume", ResumeWorker.as_view(), name="worker-resume"),
    path("workers/<step:worker>/drain", DrainWorker.as_view(), name="worker-drain"),
    path("plan", Plans.as_view(), name="plan"),
    path("tools", Tools.as_view(), name="tools"),
    path("agents", Agents.as_view(), name="agents"),
    path("schema", Schema.as_view(), name="schema"),
    path("docs", Docs.as_view(), name="docs"),
    re_path("", NoSuchAddress.as_view(), name="nothing"),
]
