"""What holds of every turn."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.selector import Unread
from runs.selector.english import CONNECTIVES
from tests.unit.selector.desk import DESK, Asked, account, asked, charge, crm, look_up, note, receipt, refund

JOINTS = st.sampled_from(
    [", then ", " then ", " and then ", ", and then ", " and ", ", and ", ". ", ".\n", ". Then ",
     " THEN\n", " then, "]
)  # fmt: skip
PIECES = st.sampled_from(
    ["charge", "order", "the", "please", "then", "and", ",", ".", "4411", "40.00", '"', "\u201c", "\u201d",
     " ", "note", "on", "refund", "LK-1", "\n", "\u00a0", "\u2019", "{", "}", "\\", "not",
     "update crm for order 7"]
)  # fmt: skip
ANY_TEXT = (
    st.text()
    | st.text(st.characters(codec=None))
    | st.lists(PIECES).map(" ".join)
    | st.lists(PIECES).map("".join)
)

ORDERS = st.integers(0, 2**53 - 1)
AMOUNTS = st.decimals(0, 999_999, places=2)
IDS = st.from_regex(r"[A-Z]{2}-[0-9]{1,9}", fullmatch=True)
NOTES = st.text(
    st.characters(categories=["L", "N", "P", "S"], exclude_characters='"\u201c\u201d'), min_size=1
)
QUOTED_NOTES = NOTES | st.sampled_from(["a, then b", "go and then stop. Then", "look up order 1"])


@st.composite
def clauses(draw: st.DrawFn) -> tuple[str, Asked]:
    """A clause that is read, and what it asks for."""
    order, amount, charged, words = draw(ORDERS), draw(AMOUNTS), draw(IDS), draw(QUOTED_NOTES)
    return draw(
        st.sampled_from(
            [
                (f"charge order {order} {amount}", charge(order, str(amount))),
                (f"charge the order {order} {amount:,}", charge(order, str(amount))),
                (f"refund charge {charged} {amount}", refund(charged, str(amount))),
                (f"update the crm for order {order}", crm(order)),
                (f"please provision account for order {order}", account(order)),
                (f"Send the receipt for order {order}", receipt(order)),
                (f"look up order {order}", look_up(order)),
                (f'note "{words}" on order {order}', note(words, order)),
                (f"note \u201c{words}\u201d on the order {order}", note(words, order)),
            ]
        )
    )


TURNS = st.lists(clauses(), min_size=1, max_size=8)
GARBAGE = st.sampled_from(
    ["dance", "do not charge order 1 1", "4411", "the", '"quoted"', "cobra o pedido 1", "!", "{x}"]
)


def quoted_from(text: str) -> tuple[tuple[str, ...], str]:
    """The clauses that were read, and no message; or those that were not, and the message."""
    try:
        return tuple(call.text for call in DESK.read(text).calls), ""
    except Unread as refusal:
        return refusal.parts, str(refusal)


def joined(parts: list[str], draw: st.DataObject) -> str:
    """The parts as one turn, with any connectives."""
    turn = parts[0]
    for part in parts[1:]:
        turn += draw.draw(JOINTS) + part
    return turn + draw.draw(st.sampled_from(["", ".", ".\n", " "]))


@given(ANY_TEXT)
def test_any_text_is_read_or_refused_and_raises_nothing_else(text: str) -> None:
    quoted, message = quoted_from(text)
    assert all(part and part in text for part in quoted)
    assert "Nothing was done." in message or (quoted and not message)
    message.encode()


@given(TURNS, st.data())
def test_a_turn_reads_the_same_however_it_is_joined(
    turn: list[tuple[str, Asked]], draw: st.DataObject
) -> None:
    parts = [text for text, _ in turn]
    calls = [call for _, call in turn]
    assert asked(joined(parts, draw)) == calls
    reading = DESK.read(joined(parts, draw))
    assert [call.text for call in reading.calls] == parts


@given(TURNS, GARBAGE, st.data())
def test_one_part_that_is_not_read_refuses_the_whole_wherever_it_stands(
    turn: list[tuple[str, Asked]], garbage: str, draw: st.DataObject
) -> None:
    parts = [text for text, _ in turn]
    parts.insert(draw.draw(st.integers(0, len(parts))), garbage)
    with pytest.raises(Unread) as refusal:
        DESK.read(joined(parts, draw))
    assert refusal.value.parts == (garbage,)


@given(
    TURNS,
    st.sampled_from([" ".join(words) for words in CONNECTIVES]),
    st.sampled_from([" ", ", "]),
    st.data(),
)
def test_a_turn_that_stops_at_a_connective_is_refused(
    turn: list[tuple[str, Asked]], connective: str, before: str, draw: st.DataObject
) -> None:
    text = joined([text for text, _ in turn], draw).rstrip(" .\n")
    with pytest.raises(Unread) as refusal:
        DESK.read(f"{text}{before}{connective}")
    assert refusal.value.parts == (f"{before}{connective}".strip(),)
