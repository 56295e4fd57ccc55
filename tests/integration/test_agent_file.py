"""`reconcile:` in an agent file: it is read with the rest, and what is wrong with it is said with its line."""

from pathlib import Path

import pytest

from runs import agentfile
from runs.errors import ConfigurationError
from tests import reconciling

FILE = """agents:
  clerk:
    tools: [read]
    reconcile: {reconcile}
tools:
  - python: tests.world
"""


def _file(folder: Path, reconcile: str) -> Path:
    path = folder / "agent.yaml"
    path.write_text(FILE.format(reconcile=reconcile))
    return path


def test_reconcile_is_the_function_behind_a_dotted_path(tmp_path: Path) -> None:
    [spec] = agentfile.read(_file(tmp_path, "tests.reconciling.reconcile"))
    assert spec.reconcile is reconciling.reconcile


@pytest.mark.parametrize(
    ("reconcile", "said"),
    [
        ("reconcile", "reconcile is no dotted path, such as shop.recovery.reconcile"),
        ("tests.reconciling.nothing", "tests.reconciling.nothing is no function"),
        ("tests.reconciling.SEEN", "tests.reconciling.SEEN is no function"),
        ("tests.reconciling.later", "tests.reconciling.later is no function (or an async one)"),
        ("tests.reconciling.of_two", "tests.reconciling.of_two must take one argument, the run"),
        ("tests.nowhere.reconcile", "the module tests.nowhere cannot be imported"),
        ("[a, b]", "agents.clerk.reconcile: Input should be a valid string"),
    ],
)
def test_what_is_no_function_is_refused_with_file_and_line(tmp_path: Path, reconcile: str, said: str) -> None:
    path = _file(tmp_path, reconcile)
    with pytest.raises(ConfigurationError) as refused:
        agentfile.read(path)
    assert str(refused.value).startswith(f"{path}:4: ") and said in str(refused.value)


def test_a_module_that_fails_when_it_is_imported_is_named_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "failing_shop.py").write_text("raise RuntimeError('no such service')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ConfigurationError, match=r"agent.yaml:4: the module failing_shop fails when it is"):
        agentfile.read(_file(tmp_path, "failing_shop.reconcile"))
