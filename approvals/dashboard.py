"""The figures of the dashboard: how runs ended, how long people took, what died, what could not be undone.

All of the last so many days, by the day in the console's time zone. Each figure is one query on an index.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.db import connection
from django.db.models import Count, F
from django.utils import timezone

from runs.models import Event, Step
from runs.states import RunState, StepState
from runs.views.looks import RUN_LOOKS
from runs.views.moments import midnight, span

WINDOWS = (1, 7, 30)  # days
OUTCOMES = (
    RunState.SUCCEEDED,
    RunState.ROLLED_BACK,
    RunState.HANDED_OVER,
    RunState.FAILED,
    RunState.ABANDONED,
)
UNDONE_WELL, UNDONE_BADLY = (StepState.PERFORMED,), (StepState.UNDO_STUCK, StepState.CANCELLED)
WIDTH, HEIGHT = 640, 150  # of the chart, in its own units
LABELS = 7  # so many days have room for their names
NOT_ENDED = "not ended"


@dataclass(frozen=True)
class Bar:
    """A part of a day's column, to a tenth of the chart's units."""

    y: str
    height: str
    state: str
    words: str


@dataclass(frozen=True)
class Column:
    """A day of the chart: where it stands, what it is made of from below, and its name, '' where there is no room."""

    x: str
    bars: tuple[Bar, ...]
    label: str


@dataclass(frozen=True)
class Day:
    """One day: how many runs that started then ended how, in the order of OUTCOMES; `rest` have not ended."""

    day: date
    counts: tuple[int, ...]
    rest: int

    @property
    def total(self) -> int:
        """All runs that started then."""
        return sum(self.counts) + self.rest


@dataclass(frozen=True)
class Chart:
    """The columns of the days, drawn; the table beside it has the same figures."""

    columns: tuple[Column, ...]
    breadth: str  # of each column
    most: int  # runs of one day
    width: int = WIDTH
    height: int = HEIGHT


@dataclass(frozen=True)
class Figure:
    """One number of the head: what it is, and what it comes from."""

    name: str
    value: str
    more: str


@dataclass(frozen=True)
class Dashboard:
    """The whole page. `outcomes` are (state, word) in the order of a column, from below."""

    days: int
    outcomes: tuple[tuple[str, str], ...]
    table: tuple[Day, ...]
    chart: Chart
    figures: tuple[Figure, ...]
    causes: tuple[tuple[str, int], ...]
    unknown: tuple[Step, ...]


def dashboard(days: int) -> Dashboard:
    """The figures of the last `days` days, today included."""
    today = timezone.localdate()
    first = today - timedelta(days=days - 1)
    since = midnight(first)
    table = tuple(runs_by_day([first + timedelta(days=number) for number in range(days)]))
    unknown = Step.objects.asking().filter(asks="outcome").select_related("run").order_by("asked_at")
    oldest = tuple(unknown[:5])
    figures = (_ended(table), _answered(since), _undone(since), _doubtful(oldest, unknown.count()))
    causes = tuple(_causes(since))
    outcomes = tuple((str(state), RUN_LOOKS[state].word) for state in OUTCOMES)
    return Dashboard(days, outcomes, table, _chart(table), figures, causes, oldest)


# Day by day: a time is compared with its ends alone, and nothing is computed for each of many runs.
RUNS_BY_DAY = """
SELECT day, state, count
  FROM unnest(%s::date[], %s::timestamptz[], %s::timestamptz[]) AS days (day, begins, ends),
       LATERAL (SELECT state, count(*) FROM runs_run
                 WHERE created_at >= begins AND created_at < ends GROUP BY state) AS counted
"""


def runs_by_day(days: Sequence[date]) -> list[Day]:
    """How the runs that started on each of these days ended."""
    begins = [midnight(day) for day in days]
    ends = [midnight(day + timedelta(days=1)) for day in days]
    counts: dict[date, dict[str, int]] = {}
    with connection.cursor() as cursor:
        cursor.execute(RUNS_BY_DAY, [list(days), begins, ends])
        for day, state, count in cursor.fetchall():
            counts.setdefault(day, {})[state] = count
    return [_day(day, counts.get(day, {})) for day in days]


def _day(day: date, counts: Mapping[str, int]) -> Day:
    ended = tuple(counts.get(state, 0) for state in OUTCOMES)
    return Day(day, ended, sum(counts.values()) - sum(ended))


def _chart(table: tuple[Day, ...]) -> Chart:
    most = max((day.total for day in table), default=0)
    pitch = WIDTH / len(table)
    breadth = min(pitch * 0.7, 44)
    every = -(-len(table) // LABELS)
    last = len(table) - 1
    columns = (
        Column(
            _tenths(pitch * (number + 0.5) - breadth / 2),
            tuple(_bars(day, most)),
            f"{day.day:%-d %b}" if (last - number) % every == 0 else "",
        )
        for number, day in enumerate(table)
    )
    return Chart(tuple(columns), _tenths(breadth), most)


def _bars(day: Day, most: int) -> Iterable[Bar]:
    y = float(HEIGHT)
    for state, word, count in _parts(day):
        height = count * (HEIGHT - 4) / most
        y -= height
        yield Bar(_tenths(y), _tenths(height), state, f"{day.day:%-d %b}: {count} {word}")


def _tenths(length: float) -> str:
    return f"{length:.1f}"


def _parts(day: Day) -> Iterable[tuple[str, str, int]]:
    """The parts of a day's column that are there, from below: state, word, count."""
    for state, count in zip(OUTCOMES, day.counts, strict=True):
        if count:
            yield str(state), RUN_LOOKS[state].word, count
    if day.rest:
        yield "live", NOT_ENDED, day.rest


def _ended(table: tuple[Day, ...]) -> Figure:
    done, ended = sum(day.counts[0] for day in table), sum(sum(day.counts) for day in table)
    return Figure("runs done", _share(done, ended), f"{done:,} of {ended:,} that ended")


def _answered(since: datetime) -> Figure:
    """Half of the answers took no longer than the median, nine in ten no longer than the ninth tenth."""
    sql = """
        SELECT count(*), percentile_cont(ARRAY[0.5, 0.9]) WITHIN GROUP (ORDER BY at - asked_at)
          FROM approvals_answer WHERE at >= %s AND asked_at IS NOT NULL
    """
    with connection.cursor() as cursor:
        cursor.execute(sql, [since])
        count, quantiles = cursor.fetchone()
    if not count:
        return Figure("from question to answer", "–", "nothing was answered")
    median, slow = (_short(span(value)) for value in quantiles)
    return Figure("from question to answer", median, f"median of {count:,}; nine in ten: {slow}")


def _undone(since: datetime) -> Figure:
    undos = Step.objects.filter(undoes__isnull=False, created_at__gte=since).order_by()
    counts = dict(undos.values_list("state").annotate(count=Count("*")))
    well = sum(counts.get(state, 0) for state in UNDONE_WELL)
    badly = sum(counts.get(state, 0) for state in UNDONE_BADLY)
    return Figure("undos that worked", _share(well, well + badly), f"{badly:,} stuck or abandoned")


def _doubtful(oldest: Sequence[Step], count: int) -> Figure:
    if not oldest or oldest[0].asked_at is None:
        return Figure("unknown outcomes", "0", "nothing is in doubt")
    age = _short(span(timezone.now() - oldest[0].asked_at))
    return Figure("unknown outcomes", f"{count:,}", f"the oldest for {age}")


def _causes(since: datetime) -> Iterable[tuple[str, int]]:
    """Of the calls that were under way when their worker went: why it went, as far as is known."""
    found = (
        Event.objects.filter(kind="step.interrupted", at__gte=since)
        .order_by()
        .annotate(cause=F("data__cause"))
        .values_list("cause")
        .annotate(Count("pk"))
    )
    for cause, count in sorted(found, key=lambda row: -row[1]):
        yield str(cause or "not known"), count


def _share(part: int, whole: int) -> str:
    return f"{100 * part // whole} %" if whole else "–"


def _short(words: str) -> str:
    return "under 5 s" if words == "now" else words
