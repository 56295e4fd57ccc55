"""What holds of every turn, in every language."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.selector import Ambiguous, Reading, Unread, grammar, shipped
from tests.unit.selector import desk as asked_of
from tests.unit.selector.desk import BOTH, DESKS, Asked, asked, plain
from tests.unit.selector.languages import TABLES

LANGUAGE = st.sampled_from(shipped())
PIECES = st.sampled_from(sorted({piece for table in TABLES.values() for piece in table.PIECES}))
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
QUOTED_NOTES = NOTES | st.sampled_from(
    ["a, then b", "go and then stop. Then", "look up order 1", "vai e depois para", "get_order(order=1)"]
)


def in_marks(amount: str, language: str) -> str:
    """An amount as this language writes it."""
    spoken = grammar(language)
    return amount.translate(str.maketrans(".,", spoken.decimal_mark + spoken.group_mark))


@st.composite
def clauses(draw: st.DrawFn, language: str) -> tuple[str, Asked]:
    """A clause that is read, and what it asks for."""
    order, amount, charged, words = draw(ORDERS), draw(AMOUNTS), draw(IDS), draw(QUOTED_NOTES)
    template, what = draw(st.sampled_from(TABLES[language].CLAUSES))
    text = template.format(
        order=order,
        amount=in_marks(str(amount), language),
        grouped=in_marks(f"{amount:,}", language),
        charged=charged,
        words=words,
    )
    given_to = {"charge": (order, str(amount)), "refund": (charged, str(amount)), "note": (words, order)}
    return text, getattr(asked_of, what)(*given_to.get(what, (order,)))


@st.composite
def turns(draw: st.DrawFn) -> tuple[str, list[tuple[str, Asked]]]:
    """A language, and clauses of it."""
    language = draw(LANGUAGE)
    return language, draw(st.lists(clauses(language), min_size=1, max_size=8))


def joined(parts: list[str], language: str, draw: st.DataObject) -> str:
    """The parts as one turn, with any connectives."""
    turn = parts[0]
    for part in parts[1:]:
        turn += draw.draw(st.sampled_from(TABLES[language].JOINTS)) + part
    return turn + draw.draw(st.sampled_from(["", ".", ".\n", " "]))


def readings_of(text: str) -> tuple[tuple[Reading, ...], Unread | None]:
    """What the turn could be, and the refusal where it is not one thing."""
    try:
        return (BOTH.read(text),), None
    except Ambiguous as refusal:
        return refusal.readings, refusal
    except Unread as refusal:
        return (), refusal


@given(ANY_TEXT)
def test_any_text_is_read_or_refused_and_raises_nothing_else(text: str) -> None:
    readings, refusal = readings_of(text)
    if refusal is None:
        [reading] = readings
        assert all(call.text and call.text in text for call in reading.calls)
    else:
        assert all(part and part in text for part in refusal.parts)
        assert "Nothing was done." in str(refusal)
        str(refusal).encode()


@given(ANY_TEXT)
def test_whatever_can_be_read_has_a_text_that_reads_in_that_way_alone(text: str) -> None:
    readings, _ = readings_of(text)
    for reading in readings:
        assert asked(reading.text, BOTH) == [plain(call) for call in reading.calls]


@given(turns(), st.data())
def test_a_turn_reads_the_same_however_it_is_joined(
    turn: tuple[str, list[tuple[str, Asked]]], draw: st.DataObject
) -> None:
    language, said = turn
    parts, calls = [text for text, _ in said], [call for _, call in said]
    text = joined(parts, language, draw)
    assert asked(text, DESKS[language]) == calls
    reading = BOTH.read(text)
    assert [call.text for call in reading.calls] == parts
    assert asked(reading.text, BOTH) == calls


@given(turns(), st.data())
def test_one_part_that_is_not_read_refuses_the_whole_wherever_it_stands(
    turn: tuple[str, list[tuple[str, Asked]]], draw: st.DataObject
) -> None:
    language, said = turn
    parts = [text for text, _ in said]
    garbage = draw.draw(st.sampled_from(TABLES[language].GARBAGE))
    parts.insert(draw.draw(st.integers(0, len(parts))), garbage)
    with pytest.raises(Unread) as refusal:
        DESKS[language].read(joined(parts, language, draw))
    assert refusal.value.parts == (garbage,)


@given(turns(), st.data())
def test_a_turn_that_goes_on_in_another_language_is_refused(
    turn: tuple[str, list[tuple[str, Asked]]], draw: st.DataObject
) -> None:
    language, said = turn
    other = draw.draw(st.sampled_from([code for code in shipped() if code != language]))
    rest, _ = draw.draw(clauses(other))
    text = joined([text for text, _ in said], language, draw).rstrip(" .\n")
    joint = draw.draw(st.sampled_from(TABLES[language].JOINTS + TABLES[other].JOINTS))
    with pytest.raises(Unread) as refusal:
        BOTH.read(f"{text}{joint}{rest}")
    assert not isinstance(refusal.value, Ambiguous)


@given(turns(), st.sampled_from([" ", ", "]), st.data())
def test_a_turn_that_stops_at_a_connective_is_refused(
    turn: tuple[str, list[tuple[str, Asked]]], before: str, draw: st.DataObject
) -> None:
    language, said = turn
    connective = draw.draw(st.sampled_from(grammar(language).connectives))
    text = joined([text for text, _ in said], language, draw).rstrip(" .\n")
    with pytest.raises(Unread) as refusal:
        DESKS[language].read(f"{text}{before}{connective}")
    assert refusal.value.parts == (f"{before}{connective}".strip(),)


@given(
    LANGUAGE,
    st.lists(ORDERS, min_size=2, max_size=50, unique=True),
    AMOUNTS,
)
def test_a_list_is_one_call_for_each_in_the_order_in_which_they_are_named(
    language: str, orders: list[int], amount: object
) -> None:
    *first, last = map(str, orders)
    says = {"en": "charge orders {} and {} {} each", "pt": "cobra os pedidos {} e {} {} cada"}[language]
    turn = says.format(", ".join(first), last, in_marks(str(amount), language))
    assert asked(turn, DESKS[language]) == [asked_of.charge(order, str(amount)) for order in orders]
