"""`python -m tests.crash.carry_out`: carries runs out, each in a process of its own that may be made to die.

Django is loaded once; every request is a fork of it. A request is a line of JSON on stdin, `{"run": 1042,
"point": "after-call:update_crm"}`; an empty point means: to the run's end. The answers, on stdout, are
`{"pid": 4711}` at once, and `{"exit": -9}` when the process is gone.

What a process does is what the sweep and a worker do together: it looks for what should be moving, and
advances that. It ends with 0 when the run has ended.
"""

import json
import os
import signal
import sys
import time
from typing import Any
from unittest import mock

PATIENCE = 60  # seconds, after which a process that was forgotten ends by itself


def main() -> None:
    """Serve until stdin is closed."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "stalwart_site.settings")
    import django

    django.setup()
    from runs import engine, recovery  # noqa: F401 (loaded once, before the first fork)
    from runs.agentfile import agents

    agents()
    for line in sys.stdin:
        _serve(json.loads(line))


def _serve(request: dict[str, Any]) -> None:
    pid = os.fork()
    if pid == 0:
        _become(request)
    _say({"pid": pid})
    _, status = os.waitpid(pid, 0)
    _say({"exit": os.waitstatus_to_exitcode(status)})


def _become(request: dict[str, Any]) -> None:
    """The child: carry the run out, and exit without a look at what the parent had open."""
    from stalwart_site.processes import signal_me_when_parent_dies

    code = 1
    try:
        signal_me_when_parent_dies(signal.SIGKILL)
        signal.alarm(PATIENCE)
        os.environ["STALWART_FAULT_POINT"] = request["point"]
        carry_out(request["run"])
        code = 0
    except BaseException:  # noqa: BLE001 (it is said, and the exit code tells it)
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(code)


def carry_out(run_id: int) -> None:
    """Find what should be moving, and advance it, until this run has ended."""
    from django.apps import apps

    from runs.engine import advance
    from runs.models import Run
    from runs.recovery import sweep
    from runs.states import RUN_ENDS

    # The nudges of callers are lost, as if a worker had taken them and died: the sweep finds what they were for.
    apps.get_model("django_q", "OrmQ")._default_manager.all().delete()
    nudged: list[int] = []
    with mock.patch("runs.recovery.nudge", nudged.append):
        while not Run.objects.filter(pk=run_id, state__in=RUN_ENDS, late=False).exists():
            sweep()
            if run_id in nudged:
                advance(run_id)
            nudged.clear()
            time.sleep(0.01)


def _say(answer: dict[str, int]) -> None:
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
