"""How a worker that holds its run no more went: by a deploy, killed, or frozen for longer than its lease."""

import os
import socket
import subprocess
import sys
from datetime import timedelta

import pytest
from django.conf import settings
from django.db.models.functions import Now

from runs.models import Worker
from runs.transitions import clock
from runs.workers import beat, cause_of_death, stopped

pytestmark = pytest.mark.django_db
HOST = socket.gethostname()


def test_a_process_that_lives_has_lost_its_lease() -> None:
    assert cause_of_death(f"{HOST}:{os.getpid()}:abcd", clock()) == "lost_lease"


def test_a_process_that_is_gone_was_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
    assert cause_of_death(f"{HOST}:{gone.pid}:abcd", clock()) == "killed"


def test_of_another_machine_no_more_is_known() -> None:
    beat("elsewhere:1")
    assert cause_of_death("elsewhere:2:abcd", clock()) == "killed"
    assert cause_of_death("not a name of ours", clock()) == "killed"


def test_a_worker_that_was_told_to_stop_went_by_a_deploy() -> None:
    beat("pod-7:1")
    stopped("pod-7:1")
    assert cause_of_death("pod-7:23:abcd", clock()) == "deploy"


def test_a_deploy_before_the_run_was_last_seen_alive_is_not_its_cause() -> None:
    Worker.objects.create(name="pod-7:1", stopped_at=Now())
    later = clock() + timedelta(seconds=settings.LEASE_SECONDS + 1)
    assert cause_of_death("pod-7:23:abcd", later) == "killed"
