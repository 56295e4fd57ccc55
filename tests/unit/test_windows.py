"""Until when a write can be undone: the three ways in which a tool says it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from runs import agentfile
from runs.errors import ConfigurationError
from runs.tools import Call, tool
from runs.tools.registry import ATTRIBUTE, Tool
from runs.tools.windows import Window, ask_until_when, closed, closes_at, still_open, until, words

NOON = datetime(2026, 3, 20, 12, tzinfo=UTC)


def _closes(said: str, result: Any = None, **more: Any) -> datetime | None:
    return closes_at(said, more.get("args", {}), result, more.get("sent_at"), more.get("asked"))


def test_a_length_of_time_counts_from_the_first_sending() -> None:
    assert _closes("48h", sent_at=NOON) == NOON + timedelta(hours=48)
    assert _closes("48h") is None


def test_a_field_of_the_result_or_of_the_arguments_holds_the_moment() -> None:
    assert _closes("$result.pickup.at", {"pickup": {"at": "2026-03-20T12:00:00Z"}}) == NOON
    assert _closes("$args.until", args={"until": "2026-03-20T14:00:00+02:00"}) == NOON


@pytest.mark.parametrize("value", ["soon", "2026-03-20", "2026-03-20T12:00:00", 12, None, {}])
def test_a_field_that_holds_no_moment_closes_nothing(value: Any) -> None:
    assert _closes("$result.at", {"at": value}) is None
    assert _closes("$result.other", {"at": value}) is None


def test_what_a_tool_said_last_counts() -> None:
    assert _closes("collection", asked=NOON) == NOON
    assert _closes("collection") is None


@pytest.mark.parametrize(
    ("said", "in_words"),
    [("collection", "collection"), ("$result.picked_up", "picked up"), ("48h", "48h after it was sent")],
)
def test_what_ends_it_in_words(said: str, in_words: str) -> None:
    assert words(said) == in_words


@pytest.mark.parametrize("answer", [until(NOON), until("2026-03-20T12:00:00Z"), still_open(), closed()])
def test_a_tool_says_until_when(answer: Window) -> None:
    assert ask_until_when(_asked(answer), Call("k", "ship")) == answer


@pytest.mark.parametrize("moment", ["soon", "2026-03-20", datetime(2026, 3, 20), "9999-12-31T23:00:00-05:00"])
def test_a_moment_needs_a_date_a_time_and_a_zone(moment: Any) -> None:
    with pytest.raises(ValueError, match="a date, a time and a zone"):
        until(moment)


@pytest.mark.parametrize("answer", ["tomorrow", None, RuntimeError("down")])
def test_a_tool_that_fails_says_so(answer: Any) -> None:
    assert ask_until_when(_asked(answer), Call("k", "ship")).said == "failed"


def _asked(answer: Any) -> Tool:
    def collection(key: str) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    found: Tool = getattr(tool(collection), ATTRIBUTE)
    return found


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("next week", "a length of time such as 48h"),
        ("$result", "a length of time such as 48h"),
        ("nobody", "no tool called nobody"),
    ],
)
def test_what_says_nothing_is_refused_where_the_agent_is_read(tmp_path: Path, said: str, why: str) -> None:
    path = tmp_path / "agent.yaml"
    tools = [{"python": "tests.for_a_while"}, {"book": {"reversible_until": said}}]
    path.write_text(yaml.safe_dump({"agents": {"one": {"tools": ["book"]}}, "tools": tools}))
    with pytest.raises(ConfigurationError, match=why):
        agentfile.read(path)
