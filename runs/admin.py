"""Django admin: the history of runs, for reading. Nothing is added, changed or deleted here.

A list shows the newest thousand rows, however many there are, and never counts further; what is older is searched for,
by whole ids on indexed columns.
"""

from typing import Any, ClassVar

from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property

from runs.agentfile import spec_of
from runs.models import Attempt, Event, LedgerEntry, Message, Run, Step, Thread, Token, Worker, WorkerOrder
from runs.redaction import data_of
from runs.views.calls import exact_json
from runs.views.finding import MANY, Search


class FirstThousand(Paginator):  # type: ignore[type-arg]
    """Counts no further than a thousand rows."""

    @cached_property
    def count(self) -> int:
        """How many rows the pages go through."""
        rows: QuerySet[Any] = self.object_list  # type: ignore[assignment]
        return rows[:MANY].count()


class History(admin.ModelAdmin):  # type: ignore[type-arg]
    """A model that is only read. Who may see it is its own permission: "Can view …"."""

    paginator = FirstThousand
    list_per_page = 50
    show_full_result_count = False
    actions = None
    ordering: ClassVar[tuple[str, ...]] = ("-pk",)
    run_lookup = "run__in"  # how its rows are found by a run; '' where they are not

    def has_add_permission(self, request: HttpRequest, *args: Any) -> bool:
        """Only the product writes."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """The record is never rewritten."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nor is any of it taken away."""
        return False

    def get_search_fields(self, request: HttpRequest) -> tuple[str, ...]:
        """That there is a search box; what it looks for is said below."""
        return ("pk",) if self.run_lookup else ()

    def get_search_results(
        self, request: HttpRequest, queryset: "QuerySet[Any]", search_term: str
    ) -> "tuple[QuerySet[Any], bool]":
        """Of the runs that the text names: run, ticket, order, user, conversation, key."""
        search = Search.of({"q": search_term})
        if search.text:
            queryset = queryset.filter(**{self.run_lookup: search.runs().order_by().values("pk")})
        return queryset, False


@admin.register(Run)
class RunHistory(History):
    """What one turn, or one request, started."""

    run_lookup = "pk__in"
    list_display = ("name", "state", "thread", "ticket", "subject", "task", "created_at", "ended_at")
    list_select_related = ("thread",)


@admin.register(Step)
class StepHistory(History):
    """The calls of runs, undos among them."""

    list_display = ("id", "run", "number", "tool", "state", "undoes", "calls", "sent_at", "ended_at")
    list_select_related = ("run", "undoes")
    exclude = ("args", "answer_data")  # values: the pages of its run show those that may be seen
    raw_id_fields = ("run", "thread", "entry", "undoes")


@admin.register(LedgerEntry)
class LedgerHistory(History):
    """The named changes, one for each key."""

    run_lookup = "attempts__step__run__in"
    ordering: ClassVar[tuple[str, ...]] = ("key",)
    list_display = ("key", "tool", "state", "calls", "first_sent_at", "settled_at")
    exclude = ("args", "result")


@admin.register(Attempt)
class AttemptHistory(History):
    """Each sending."""

    run_lookup = "step__run__in"
    ordering: ClassVar[tuple[str, ...]] = ("-step_id", "-number")  # "-step" would be in the order of the runs
    list_display = (
        "id",
        "step",
        "number",
        "verdict",
        "error_class",
        "late",
        "worker",
        "sent_at",
        "finished_at",
    )
    list_select_related = ("step",)
    exclude = ("result",)


@admin.register(Event)
class EventHistory(History):
    """The record."""

    list_display = ("id", "run", "step", "kind", "before", "after", "actor", "at")
    list_select_related = ("run", "step")
    exclude = ("data",)
    readonly_fields = ("said",)

    @admin.display(description="data")
    def said(self, event: Event) -> str:
        """What it says beside its state."""
        return exact_json(data_of(event, spec_of(event.run.thread.agent)))


@admin.register(Thread)
class ThreadHistory(History):
    """The conversations."""

    run_lookup = "runs__in"
    list_display = ("id", "agent", "user", "created_at")


@admin.register(Message)
class MessageHistory(History):
    """What was said."""

    list_display = ("id", "run", "role", "summary", "rewound_at", "created_at")
    list_select_related = ("run",)


@admin.register(Token)
class TokenHistory(History):
    """Whose tokens there are; `stalwart token` makes and revokes them."""

    run_lookup = ""
    list_display = ("name", "scope", "agent", "user", "created_at", "last_used_at", "revoked_at")
    exclude = ("hash",)


@admin.register(Worker)
class WorkerHistory(History):
    """The processes of this installation."""

    run_lookup = ""
    list_display = ("name", "kind", "version", "doing", "wanted", "started_at", "seen_at", "stopped_at")


@admin.register(WorkerOrder)
class WorkerOrderHistory(History):
    """What operators had workers do."""

    run_lookup = ""
    list_display = ("worker", "what", "by", "reason", "at")
