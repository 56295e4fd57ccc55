"""An operator cancels a live run, and undoes a finished one."""

import pytest

from runs import services
from runs.access import Actor
from runs.engine import advance
from runs.errors import NotAllowed, RunClosed, RunLeased, ThreadBusy
from runs.models import Run
from tests.factories import AGENT, PERSON, answer, approve_all, reply, start, states, until
from tests.world import WORLD

pytestmark = pytest.mark.django_db(transaction=True)
SUPPORT = Actor("Tom Baker", frozenset({"support"}))


def _undo(run: Run) -> Run:
    services.undo(PERSON, run)
    advance(run.pk)
    run.refresh_from_db()
    return run


def test_a_finished_run_is_undone_last_write_first_and_asks_nothing_again(agent: str) -> None:
    run = approve_all(start(agent, "charge 1 40.00, then tag 1"))
    run = _undo(run)
    assert (run.state, WORLD.calls) == ("rolled_back", ["charge", "tag", "untag", "refund"])
    assert list(run.messages.filter(role="agent").values_list("text", flat=True))[-1] == (
        "This run stopped: cancelled by Ana Ferreira. "
        "Undone, latest first: tag (by untag), charge (by refund)."
    )


def test_what_an_abandoned_rollback_left_is_tried_anew(agent: str) -> None:
    WORLD.script = {"mail": ["raises"], "refund": ["raises"] * 4}
    run = until(approve_all(start(agent, "charge 1 40.00, then charge 2 40.00, then mail 1")), "stuck")
    run = answer(run, "abandon", reason="later")
    run = _undo(run)
    assert (run.state, states(run)["charge"]) == ("rolled_back", "undone")
    assert len(WORLD.landed) == 4


def test_a_cancelled_run_is_undone(agent: str) -> None:
    run = answer(start(agent, "charge 1 40.00, then tag 1"), "approve")
    services.cancel(PERSON, run, "the customer rang")
    advance(run.pk)
    run.refresh_from_db()
    assert (
        reply(run) == "This run stopped: cancelled by Ana Ferreira. Undone, latest first: charge (by refund)."
    )


def test_an_undo_is_refused_while_another_run_of_the_thread_is_open(agent: str) -> None:
    run = approve_all(start(agent, "charge 1 40.00"))
    services.start(AGENT, run.thread, services.RunRequest(text="charge 2 40.00"))
    with pytest.raises(ThreadBusy):
        services.undo(PERSON, run)
    assert not Run.objects.get(pk=run.pk).undo_requested_at


def test_no_run_is_started_in_a_thread_whose_run_is_to_be_undone(agent: str) -> None:
    run = approve_all(start(agent, "charge 1 40.00"))
    services.undo(PERSON, run)
    with pytest.raises(ThreadBusy, match="it is to be undone"):
        services.start(AGENT, run.thread, services.RunRequest(text="charge 2 40.00"))


def test_only_an_operator_may(agent: str) -> None:
    run = start(agent, "charge 1 40.00")
    for verb in (services.cancel, services.undo, services.resume):
        with pytest.raises(NotAllowed):
            verb(SUPPORT, run)


def test_a_live_run_is_not_undone_but_cancelled(agent: str) -> None:
    with pytest.raises(RunClosed):
        services.undo(PERSON, answer(start(agent, "charge 1 40.00, then charge 2 40.00"), "approve"))


def test_a_run_that_a_live_worker_holds_is_not_resumed(agent: str) -> None:
    run = start(agent, "charge 1 40.00")
    Run.objects.filter(pk=run.pk).update(lease_owner="worker 7", lease_expires_at="2999-01-01T00:00Z")
    with pytest.raises(RunLeased):
        services.resume(PERSON, run)


def test_a_run_with_nothing_left_to_undo_is_not_undone(agent: str) -> None:
    run = approve_all(start(agent, "mail 1"))
    with pytest.raises(RunClosed, match="nothing that can be undone"):
        services.undo(PERSON, run)
    assert Run.objects.get(pk=run.pk).state == "succeeded"
