"""A turn that can be read in more than one way is never picked from: its readings are what a person chooses from."""

import pickle
from decimal import Decimal

import pytest

from runs.selector import Ambiguous, Phrase, Selector, Unread
from tests.unit.selector.desk import BOTH, DESKS, Asked, asked, look_up, plain
from tests.unit.selector.languages import TABLES

AMBIGUOUS = [
    pytest.param(language, *turn, id=f"{language}: {what}")
    for language, table in TABLES.items()
    for what, turn in table.AMBIGUOUS.items()
]


def refused(desk: Selector, turn: str) -> Ambiguous:
    with pytest.raises(Ambiguous) as refusal:
        desk.read(turn)
    return refusal.value


@pytest.mark.parametrize(("language", "turn", "readings"), AMBIGUOUS)
def test_each_reading_is_offered_with_a_text_that_reads_in_that_way_alone(
    language: str, turn: str, readings: list[list[Asked]]
) -> None:
    for desk in (DESKS[language], BOTH):
        refusal = refused(desk, turn)
        assert [[plain(call) for call in reading.calls] for reading in refusal.readings] == readings
        assert [asked(reading.text, desk) for reading in refusal.readings] == readings


def test_two_tools_that_read_the_same_clause_are_never_picked_between() -> None:
    desk = Selector([Phrase("close", "close order {order:d}"), Phrase("shut", "close the order {n:id}")])
    refusal = refused(desk, "close order 7, then close order LK-7, then close order 8")
    assert str(refusal) == (
        'I can read "close order 7" in more than one way: close(order=7) or shut(n="7"). '
        "Nothing was done. Write one of these in its place."
    )
    assert refusal.clause == "close order 7"
    assert refusal.parts == ("close order 7", "close order 8")
    assert [reading.text for reading in refusal.readings] == [
        'close(order=7). shut(n="LK-7"). close(order=8)',
        'close(order=7). shut(n="LK-7"). shut(n="8")',
        'shut(n="7"). shut(n="LK-7"). close(order=8)',
        'shut(n="7"). shut(n="LK-7"). shut(n="8")',
    ]
    as_told = 'close(order=7), then close order LK-7, then shut(n="8")'
    assert [call.tool for call in desk.read(as_told).calls] == ["close", "shut", "shut"]


def test_more_readings_than_anybody_can_choose_from_are_not_offered() -> None:
    desk = Selector([Phrase("close", "close order {order:d}"), Phrase("shut", "close the order {n:id}")])
    refusal = refused(desk, " and ".join(["close order 7"] * 50))
    assert refusal.readings == ()
    assert 'close(order=7) or shut(n="7"). Nothing was done. Write one of these in its place.' in str(refusal)


def test_a_reference_that_could_be_to_more_than_anybody_can_choose_from_is_not_read() -> None:
    named = ". ".join(f"look up order {order}" for order in range(9))
    with pytest.raises(Unread) as refusal:
        DESKS["en"].read(f"{named}. Update the crm for the same order")
    assert not isinstance(refusal.value, Ambiguous)
    assert refusal.value.parts == ("Update the crm for the same order",)


@pytest.mark.parametrize("referring", ["send receipt for the same order", "send receipt for it"])
def test_a_reference_is_not_decided_by_what_fits(referring: str) -> None:
    desk = Selector(
        [Phrase("find", "find order {x:id}"), Phrase("send", "send receipt for [order {order:d}]")]
    )
    assert asked(f"find order 7, then {referring}", desk)[1] == ("send", {"order": 7})
    with pytest.raises(Unread) as refusal:
        desk.read(f"find order LK-7, then find order 7, then {referring}")
    assert refusal.value.parts == (referring,)


def test_the_same_in_a_list_is_what_was_named_before_it() -> None:
    desk = Selector([Phrase("look", "look up order {o:d}"), Phrase("add", "add {sku:id+} to order {o:id}")])
    turn = "look up order 7, then add A1, A2 and A3 to the same order"
    assert asked(turn, desk)[1:] == [("add", {"sku": sku, "o": "7"}) for sku in ("A1", "A2", "A3")]


def test_two_readings_by_one_tool_are_never_picked_between() -> None:
    desk = Selector([Phrase("pay", "pay {what:d}"), Phrase("pay", "pay {what:F}")])
    assert [reading.text for reading in refused(desk, "pay 40").readings] == [
        "pay(what=40)",
        "pay(what=40.00)",
    ]
    for text, kind in (("pay(what=40)", int), ("pay(what=40.00)", Decimal), ("pay 40.00", Decimal)):
        assert type(desk.read(text).calls[0].args["what"]) is kind


def test_a_list_and_two_requests_are_never_picked_between() -> None:
    desk = Selector(
        [Phrase("both", "look up {x:d+}"), Phrase("one", "look up {x:d}"), Phrase("next", "{x:d} next")]
    )
    assert asked("look up 1 and 2", desk) == [("both", {"x": 1}), ("both", {"x": 2})]
    desk = Selector(
        [Phrase("both", "look up {x:d+} next"), Phrase("one", "look up {x:d}"), Phrase("next", "{x:d} next")]
    )
    refusal = refused(desk, "look up 1 and 2 next, then look up 3")
    assert refusal.parts == ("look up 1 and 2 next, then look up 3",)
    assert [reading.text for reading in refusal.readings] == [
        "one(x=1). next(x=2). one(x=3)",
        "both(x=1). both(x=2). one(x=3)",
    ]


def test_many_ways_to_the_same_calls_hide_no_other_reading() -> None:
    desk = Selector(
        [Phrase("close", "close {x:d}"), Phrase("shut", "close {x:d}")]
        + [Phrase("look", says) for says in ("look up {x:d+} next", "look up {x:d}", "{x:d} next")]
    )
    same = ", then ".join(["look up 1 and 2 next"] * 6)
    assert len(asked(same, desk)) == 12
    assert [reading.calls[0].tool for reading in refused(desk, f"close 7, then {same}").readings] == [
        "close",
        "shut",
    ]


def test_two_languages_that_read_a_turn_in_two_ways_are_never_picked_between() -> None:
    desk = Selector([Phrase("sum", "total {x:F}", "en"), Phrase("all", "total {x:F}", "pt")], ["en", "pt"])
    refusal = refused(desk, " total 40 ")
    assert refusal.parts == ("total 40",)
    assert [reading.text for reading in refusal.readings] == ["sum(x=40.00)", "all(x=40.00)"]
    assert asked("total 1.250", desk) == asked("all(x=1250.00)", desk)  # no English amount
    assert asked("total 1,250", desk) == asked("sum(x=1250.00)", desk)  # no Portuguese one


def test_two_languages_that_read_a_turn_in_one_way_are_one_reading() -> None:
    desk = Selector([Phrase("sum", "total {x:F}", "en"), Phrase("sum", "total {x:F}", "pt")], ["en", "pt"])
    assert asked("total 40", desk) == asked("sum(x=40.00)", desk)


def test_two_phrases_that_mean_the_same_call_are_one_reading() -> None:
    desk = Selector(
        [Phrase("get_order", "find order {order:d}"), Phrase("get_order", "find the order {order:d}")]
    )
    assert asked("find order 7", desk) == [look_up(7)]


def test_a_phrase_that_begins_with_a_field_is_read_and_compared_too() -> None:
    desk = Selector([Phrase("get_order", "{order:d} please look up"), Phrase("x", "{n:id} look up")])
    assert asked("LK-7 look up", desk) == [("x", {"n": "LK-7"})]
    refused(desk, "7 look up")


def test_what_was_not_read_comes_before_what_is_ambiguous() -> None:
    desk = Selector([Phrase("a", "go"), Phrase("b", "go")])
    with pytest.raises(Unread) as refusal:
        desk.read("go, then dance")
    assert not isinstance(refusal.value, Ambiguous)
    assert refusal.value.parts == ("dance",)
    assert "more than one way: a() or b()" in str(refused(desk, "go"))


def test_a_long_way_to_read_a_turn_is_cut_in_the_message_and_whole_in_the_reading() -> None:
    desk = Selector([Phrase("a", "say {x:q}"), Phrase("b", "say {x:q}")])
    refusal = refused(desk, f'say "{"x" * 1000}"')
    assert len(str(refusal)) < 600
    assert asked(refusal.readings[1].text, desk) == [("b", {"x": "x" * 1000})]


def test_a_refusal_survives_a_trip_to_another_process() -> None:
    refusal = refused(Selector([Phrase("a", "go"), Phrase("b", "go")]), "go")
    copy = pickle.loads(pickle.dumps(refusal))
    assert (str(copy), copy.parts, copy.readings) == (str(refusal), refusal.parts, refusal.readings)
