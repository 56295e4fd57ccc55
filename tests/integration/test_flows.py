"""Every flow of the example agents, through the engine, over real HTTP: the services' own books say what happened."""

from typing import TYPE_CHECKING

import httpx
import pytest

from examples.services.process import Services
from tests.factories import states
from tests.flows import FLOWS, Flow, carry_out, fresh_books, on_the_books, operations, start_flow, undos

if TYPE_CHECKING:
    from pytest_django import Settings

pytestmark = pytest.mark.django_db(transaction=True)

# The warehouse refuses T-90605's reship, whatever happens: see test_resolver.py.
GOES_THROUGH = {name: flow for name, flow in FLOWS.items() if flow.ticket != "T-90605"}
ATOMIC = {
    name: flow for name, flow in FLOWS.items() if flow.agent in ("desk", "returns-atomic") and flow.writes
}
KEEPS = {name: flow for name, flow in FLOWS.items() if flow.agent == "returns" and flow.writes}


@pytest.fixture
def books(services: Services, settings: "Settings") -> httpx.Client:
    """The services' own books, fresh."""
    return fresh_books(services, settings)


@pytest.mark.parametrize("flow", GOES_THROUGH.values(), ids=GOES_THROUGH)
def test_a_flow_that_goes_well_makes_each_of_its_changes_once(books: httpx.Client, flow: Flow) -> None:
    run = carry_out(start_flow(flow))
    assert run.state == "succeeded"
    assert on_the_books(books, run) == operations(flow.writes)


@pytest.mark.parametrize("flow", ATOMIC.values(), ids=ATOMIC)
def test_a_flow_whose_last_write_is_refused_is_undone_latest_first(books: httpx.Client, flow: Flow) -> None:
    *done, last = flow.writes
    run = carry_out(start_flow(flow, {last: "refused"}))
    assert run.state == ("rolled_back" if done else "failed")
    assert on_the_books(books, run) == operations([*done, *undos(done)])
    assert states(run)[last] == "failed"


@pytest.mark.parametrize("flow", KEEPS.values(), ids=KEEPS)
def test_a_flow_that_keeps_what_it_did_is_handed_over_when_its_last_write_is_refused(
    books: httpx.Client, flow: Flow
) -> None:
    *done, last = flow.writes
    run = carry_out(start_flow(flow, {last: "refused"}))
    assert (run.state, on_the_books(books, run)) == ("handed_over", operations(done))


def test_there_are_flows_of_every_example_agent() -> None:
    assert {flow.agent for flow in FLOWS.values()} == {"desk", "returns", "returns-atomic", "resolver"}
    assert len(FLOWS) >= 9
