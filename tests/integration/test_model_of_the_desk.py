"""The failed order of the desk, decided by a scripted model: the same record as the selector's, over real services."""

from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
import yaml

from examples.services.process import Services
from runs import agentfile, services
from runs.engine import advance
from runs.models import Attempt, Run
from tests.factories import AGENT, approve_all, reply, until
from tests.flows import EXAMPLES, fresh_books, on_the_books
from tests.scripted import SCRIPT, SECTION, Says

if TYPE_CHECKING:
    from pytest_django import Settings

pytestmark = pytest.mark.django_db(transaction=True)
READ = (
    "charge order 4411 40.00, then update the crm for order 4411, then provision the account for order 4411"
)
NOT_READ = "see order 4411 through: the money, the crm, the account"
CHARGE = ("charge_card", {"order": 4411, "amount": "40.00"})
CRM = ("update_crm", {"order": 4411})
PROVISION = ("provision_account", {"order": 4411})


@pytest.fixture
def books(services: Services, settings: "Settings", tmp_path: Path) -> httpx.Client:
    """Fresh books; and the desk as its file has it, but that its model is asked what the selector does not read."""
    books = fresh_books(services, settings)
    settings.AGENT_FILES = []
    file = yaml.safe_load((EXAMPLES / "desk/agent.yaml").read_text())
    file["agents"]["desk"] |= SECTION
    file["rulebook"] = str(EXAMPLES / "desk/rules.yaml")
    path = tmp_path / "agent.yaml"
    path.write_text(yaml.safe_dump(file))
    agentfile._known.pop("desk", None)
    agentfile.register(path)
    return books


@pytest.fixture(autouse=True)
def _desk_of_the_house(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests find the desk as they left it."""
    monkeypatch.setattr(agentfile, "_known", dict(agentfile._known))
    monkeypatch.setattr(agentfile, "_configured", list(agentfile._configured))


def failed_order(books: httpx.Client, turn: str, *says: Says) -> Run:
    """The order whose provisioning is down, on fresh books, to its end."""
    books.post("/reset").raise_for_status()
    SCRIPT.reset(*says)
    thread = services.start_thread(AGENT, "desk", "u-17")
    run = services.start(AGENT, thread, services.RunRequest(text=turn, faults={"provision_account": "down"}))
    advance(run.pk)
    return until(approve_all(run), "rolled_back")


def record(run: Run, books: httpx.Client) -> list[str]:
    """All that the record says of what was done, but for times, keys, who decided, and the service's own ids."""
    steps = run.steps.order_by("number").values_list(
        *("number", "tool", "args", "state", "calls", "asks", "asked", "warnings", "error_class", "error"),
        *("undoes__number", "entry__state", "entry__args", "entry__calls"),
    )
    events = run.events.exclude(kind__startswith="model.").exclude(
        kind__in=("step.proposed", "step.deciding")
    )
    lines = events.order_by("pk").values_list("step__number", "kind", "before", "after", "actor")
    attempts = Attempt.objects.filter(step__run=run).order_by("step__number", "number")
    tries = attempts.values_list("step__number", "number", "verdict", "error_class", "late")
    whole = [*steps, *lines, *tries, run.state, run.stop, run.subject, reply(run), on_the_books(books, run)]
    charge = run.steps.get(tool="refund_card").args["charge"]
    return [str(line).replace(charge, "its charge") for line in whole]


@pytest.mark.parametrize(
    ("says", "requests"),
    [(([CHARGE], [CRM], [PROVISION]), 3), (([CHARGE, CRM, PROVISION],), 1)],
    ids=["one call at a time", "three calls at once"],
)
def test_the_failed_order_gives_the_same_record_whoever_decides(
    books: httpx.Client, says: tuple[Says, ...], requests: int
) -> None:
    by_selector = failed_order(books, READ)
    read = record(by_selector, books)
    by_model = failed_order(books, NOT_READ, *says)
    assert (by_model.model, by_model.requests, SCRIPT.asked) == (SECTION["model"], requests, requests)
    assert record(by_model, books) == read
    assert reply(by_model) == (
        "This run stopped: provision_account failed (RuntimeError). "
        "Undone, latest first: update_crm (by restore_crm), charge_card (by refund_card)."
    )


def test_what_is_read_never_asks_the_model(books: httpx.Client) -> None:
    assert failed_order(books, READ).requests == SCRIPT.asked == 0
