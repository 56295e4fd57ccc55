"""`stalwart reset` and a run that somebody holds."""

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db.models.functions import Now

from examples.services.process import Services
from runs.models import Run, Thread, Worker


@pytest.mark.django_db(transaction=True)
def test_nothing_is_reset_while_a_run_is_being_carried_out(
    services: Services, capsys: pytest.CaptureFixture[str]
) -> None:
    Worker.objects.create(name="w")
    run = Run.objects.create(thread=Thread.objects.create(agent="desk", user="u-1"), lease_owner="w")
    Run.objects.update(lease_expires_at=Now() + timedelta(minutes=1))
    with pytest.raises(SystemExit) as refused:
        call_command("reset", yes=True, empty=True)
    assert refused.value.code == 1
    assert capsys.readouterr().err.startswith(f"{run.name} is being carried out; nothing was reset.")
    assert Run.objects.count() == 1

    Run.objects.update(lease_expires_at=Now() - timedelta(minutes=1))
    call_command("reset", yes=True, empty=True)
    assert (Run.objects.count(), Thread.objects.count(), Worker.objects.count()) == (0, 0, 1)
