"""The program of the failed order prints, line for line, what it promises."""

import runpy
from pathlib import Path
from typing import Any

import pytest

from runs import agentfile

PROGRAM = Path(__file__).resolve().parents[1] / "seed_program"

FIRST = (
    "This run stopped: provision_account failed (RuntimeError). "
    "Undone, latest first: update_crm (by restore_crm), charge_card (by refund_card)."
)
SECOND = (
    "This run stopped: provision_account failed (RuntimeError). "
    "Undone, latest first: charge_card (by refund_card). Not undoable, and left as they are: send_receipt."
)
PRINTED = f"""\
{FIRST}
The tools ran in this order:
1. charge_card
2. update_crm
3. provision_account
4. restore_crm
5. refund_card
{SECOND}
"""


@pytest.mark.django_db(transaction=True)
def test_the_failed_order_as_a_program_prints_what_it_promises(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], settings: Any
) -> None:
    settings.AGENT_FILES = []  # the program brings its own agent
    monkeypatch.chdir(PROGRAM)
    monkeypatch.syspath_prepend(str(PROGRAM))
    monkeypatch.setattr(agentfile, "_known", {})
    runpy.run_path("failed_order.py")
    assert capsys.readouterr().out == PRINTED
