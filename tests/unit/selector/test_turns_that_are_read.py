"""What a person can write, and what it asks for."""

from decimal import Decimal

import pytest

from runs.selector import Call, Phrase, Selector, Unread
from tests.unit.selector.desk import BOTH, DESK, DESKS, Asked, asked, look_up, note
from tests.unit.selector.languages import TABLES

READ = [
    pytest.param(language, *turn, id=f"{language}: {what}")
    for language, table in TABLES.items()
    for what, turn in table.READ.items()
]
MONEY = [
    pytest.param(language, *said, id=f"{language}: {what}")
    for language, table in TABLES.items()
    for what, said in table.MONEY.items()
]
PAY = {
    "en": ("pay {what:F} for {order:d}", "pay {} for 7"),
    "pt": ("paga {what:F} de {order:d}", "paga {} de 7"),
}


@pytest.mark.parametrize("table", ["READ", "REFUSED", "AMBIGUOUS", "MONEY"])
def test_every_turn_has_its_twin_in_every_language_that_ships(table: str) -> None:
    english = list(getattr(TABLES["en"], table))
    for language, tables in TABLES.items():
        assert list(getattr(tables, table)) == english, language


@pytest.mark.parametrize(("language", "turn", "calls"), READ)
def test_a_turn_asks_for(language: str, turn: str, calls: list[Asked]) -> None:
    assert asked(turn, DESKS[language]) == calls


@pytest.mark.parametrize(("language", "turn", "calls"), READ)
def test_a_desk_of_both_languages_reads_a_turn_of_either(
    language: str, turn: str, calls: list[Asked]
) -> None:
    assert asked(turn, BOTH) == calls


@pytest.mark.parametrize(("language", "turn", "calls"), READ)
def test_every_reading_has_a_text_that_reads_in_that_way_alone(
    language: str, turn: str, calls: list[Asked]
) -> None:
    text = DESKS[language].read(turn).text
    assert asked(text, DESKS[language]) == calls
    assert asked(text, BOTH) == calls
    assert DESKS[language].read(text).text == text


@pytest.mark.parametrize(("language", "currency", "said", "amount"), MONEY)
def test_an_amount_may_name_the_agents_money_and_no_other(
    language: str, currency: str, said: str, amount: Decimal | None
) -> None:
    says, turn = PAY[language]
    desk = Selector([Phrase("pay", says, language)], [language], currency)
    if amount is None:
        with pytest.raises(Unread):
            desk.read(turn.format(said))
    else:
        assert asked(turn.format(said), desk) == [("pay", {"what": amount, "order": 7})]


def test_an_amount_has_two_places_and_an_order_is_a_whole_number() -> None:
    args = DESK.read("charge order 4411 40").calls[0].args
    assert (type(args["order"]), str(args["amount"])) == (int, "40.00")


def test_a_call_keeps_the_clause_in_the_persons_own_words() -> None:
    calls = DESK.read("Please charge order 1 40, and then\nUpdate  the CRM for order 1.").calls
    assert [call.text for call in calls] == ["Please charge order 1 40", "Update  the CRM for order 1"]


def test_each_call_of_a_list_keeps_the_whole_of_it() -> None:
    calls = DESK.read("Look up orders 1,\n2 and 3, then look up order 4").calls
    assert [call.text for call in calls] == [*["Look up orders 1,\n2 and 3"] * 3, "look up order 4"]


def test_a_tool_may_have_several_phrases() -> None:
    selector = Selector(
        [*map(Phrase, ["get_order"] * 2, ["look up order {order:d}", "find order #{order:d}"])]
    )
    assert asked("find order #7 and look up order 8", selector) == [look_up(7), look_up(8)]


@pytest.mark.parametrize(
    ("says", "turn", "items"),
    [
        ("look up {x:id+}", "look up LK-1, ch_2 and 0044", ["LK-1", "ch_2", "0044"]),
        ("write {x:q+}", 'write "a, b", "c and d" and "e"', ["a, b", "c and d", "e"]),
        ("write to {x:email+}", "write to a@b.pt and c@d.pt", ["a@b.pt", "c@d.pt"]),
        ("pay {x:F+}", "pay 40, 1,250.00 and 0.05", [Decimal("40.00"), Decimal("1250.00"), Decimal("0.05")]),
        ("take {x:n+}", "take two and 3", [2, 3]),
        ("{x:d+} look up", "1, 2, and 3 look up", [1, 2, 3]),
    ],
)
def test_a_list_of_each_type(says: str, turn: str, items: list[int | str | Decimal]) -> None:
    assert asked(turn, Selector([Phrase("tool", says)])) == [("tool", {"x": item}) for item in items]


def test_a_list_may_stand_beside_what_is_not_counted() -> None:
    desk = Selector([Phrase("add_note", "note {note:q} on orders {order:d+}")])
    assert asked('note "x and y" on orders 1 and 2', desk) == [note("x and y", 1), note("x and y", 2)]


def test_letters_written_as_two_characters_are_the_same_letters() -> None:
    turn = "devolve a cobranc\u0327a LK-1 40,00"
    assert asked(turn, DESKS["pt"]) == asked("devolve a cobrança LK-1 40,00", DESKS["pt"])


def test_fifty_requests_are_read_and_a_long_note_is_too() -> None:
    assert len(DESK.read(", then ".join(["look up order 1"] * 50)).calls) == 50
    text = "x" * 60_000
    assert asked(f'note "{text}" on order 7') == [note(text, 7)]


def test_the_example_in_the_package_is_true() -> None:
    call = DESK.read("Please charge order 4411 40.00.").calls[0]
    assert call == Call(
        "charge_card", {"order": 4411, "amount": Decimal("40.00")}, "Please charge order 4411 40.00"
    )
