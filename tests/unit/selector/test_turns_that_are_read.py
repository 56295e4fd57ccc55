"""What a person can write, and what it asks for."""

from decimal import Decimal

import pytest

from runs.selector import Call, Phrase, Selector
from tests.unit.selector.desk import (
    DESK,
    Asked,
    account,
    asked,
    charge,
    crm,
    look_up,
    mail,
    note,
    receipt,
    refund,
)

FAILED_ORDER = (
    "charge order 4411 40.00, then update the crm for order 4411, then provision the account for order 4411"
)
WITH_A_RECEIPT = (
    "charge order 4411 40.00, then send the receipt for order 4411, then provision the account for order 4411"
)

READ: list[tuple[str, list[Asked]]] = [
    (FAILED_ORDER, [charge(4411, "40.00"), crm(4411), account(4411)]),
    (WITH_A_RECEIPT, [charge(4411, "40.00"), receipt(4411), account(4411)]),
    (f"{FAILED_ORDER}, then send the receipt for order 4411",
     [charge(4411, "40.00"), crm(4411), account(4411), receipt(4411)]),
    # one request
    ("charge order 4411 40.00", [charge(4411, "40.00")]),
    ("refund charge LK-645334 40.00", [refund("LK-645334", "40.00")]),
    ("look up order 4411", [look_up(4411)]),
    # capitals, white space, the end
    ("CHARGE ORDER 4411 40.00, THEN UPDATE THE CRM FOR ORDER 4411", [charge(4411, "40.00"), crm(4411)]),
    ("Look up order 4411.", [look_up(4411)]),
    ("  look   up\torder 4411  ", [look_up(4411)]),
    ("look up\u00a0order 4411", [look_up(4411)]),
    ("look up order\r\n4411\n", [look_up(4411)]),
    ("charge order 1 40.00,\nthen send the receipt for order 1\n", [charge(1, "40.00"), receipt(1)]),
    # words that may be left out
    ("update crm for order 4411", [crm(4411)]),
    ("update the crm for the order 4411", [crm(4411)]),
    ("please look up order 4411", [look_up(4411)]),
    ("Please, look up order 4411.", [look_up(4411)]),
    ("look up order 4411, please", [look_up(4411)]),
    ("look up the order 4411, please, then send the receipt for order 4411", [look_up(4411), receipt(4411)]),
    ("note \"please leave the door\" on order 7", [note("please leave the door", 7)]),
    # joining
    ("look up order 1 then look up order 2", [look_up(1), look_up(2)]),
    ("look up order 1, then look up order 2", [look_up(1), look_up(2)]),
    ("look up order 1 and then look up order 2", [look_up(1), look_up(2)]),
    ("look up order 1, and then look up order 2", [look_up(1), look_up(2)]),
    ("look up order 1 and look up order 2", [look_up(1), look_up(2)]),
    ("look up order 1, and look up order 2", [look_up(1), look_up(2)]),
    ("Look up order 1. Look up order 2.", [look_up(1), look_up(2)]),
    ("Look up order 1.\n\nThen, look up order 2.", [look_up(1), look_up(2)]),
    ("look up order 1. And then look up order 2", [look_up(1), look_up(2)]),
    ("then look up order 1", [look_up(1)]),
    ("And then, please, look up order 1", [look_up(1)]),
    ("charge order 1 40 and charge order 1 40", [charge(1, "40.00"), charge(1, "40.00")]),
    # money
    ("charge order 4411 40", [charge(4411, "40.00")]),
    ("charge order 4411 40.", [charge(4411, "40.00")]),
    ("charge order 4411 40.5", [charge(4411, "40.50")]),
    ("charge order 4411 0.05", [charge(4411, "0.05")]),
    ("charge order 4411 1,250.00", [charge(4411, "1250.00")]),
    ("charge order 4411 1,250, then look up order 4411", [charge(4411, "1250.00"), look_up(4411)]),
    ("charge order 4411 1,234,567.89", [charge(4411, "1234567.89")]),
    ("charge order 4411 40.00. Look up order 4411.", [charge(4411, "40.00"), look_up(4411)]),
    ("charge order 4411 1,234,567,890.00", [charge(4411, "1234567890.00")]),
    # numbers
    ("look up order 0", [look_up(0)]),
    ("look up order 9007199254740991", [look_up(2**53 - 1)]),
    # ids
    ("refund charge lk-Aa9 40.00", [refund("lk-Aa9", "40.00")]),
    ("refund charge ch_12.b 40.00", [refund("ch_12.b", "40.00")]),
    ("refund charge 0044 40.00", [refund("0044", "40.00")]),
    # quoted text and addresses
    ('note "Leave it, then go. And ring THE bell" on order 7',
     [note("Leave it, then go. And ring THE bell", 7)]),
    ("note \u201cleave it and go\u201d on order 7", [note("leave it and go", 7)]),
    ("note \u201cit\u2019s caf\u00e9 \u2615\u201d on order 7", [note("it\u2019s caf\u00e9 \u2615", 7)]),
    ('note "two\nlines" on order 7', [note("two\nlines", 7)]),
    ('write to Ana.Silva+x@Shop.example saying "hi"', [mail("Ana.Silva+x@Shop.example", "hi")]),
    ('Write to ana@shop.example saying "hi". Look up order 7.', [mail("ana@shop.example", "hi"), look_up(7)]),
]  # fmt: skip


@pytest.mark.parametrize(("turn", "calls"), READ, ids=[turn for turn, _ in READ])
def test_a_turn_asks_for(turn: str, calls: list[Asked]) -> None:
    assert asked(turn) == calls


def test_an_amount_has_two_places_and_an_order_is_a_whole_number() -> None:
    args = DESK.read("charge order 4411 40").calls[0].args
    assert (type(args["order"]), str(args["amount"])) == (int, "40.00")


def test_a_call_keeps_the_clause_in_the_persons_own_words() -> None:
    calls = DESK.read("Please charge order 1 40, and then\nUpdate  the CRM for order 1.").calls
    assert [call.text for call in calls] == ["Please charge order 1 40", "Update  the CRM for order 1"]


def test_a_tool_may_have_several_phrases() -> None:
    selector = Selector(
        [*map(Phrase, ["get_order"] * 2, ["look up order {order:d}", "find order #{order:d}"])]
    )
    assert asked("find order #7 and look up order 8", selector) == [look_up(7), look_up(8)]


def test_fifty_requests_are_read_and_a_long_note_is_too() -> None:
    assert len(DESK.read(", then ".join(["look up order 1"] * 50)).calls) == 50
    text = "x" * 60_000
    assert asked(f'note "{text}" on order 7') == [note(text, 7)]


def test_the_example_in_the_package_is_true() -> None:
    call = DESK.read("Please charge order 4411 40.00.").calls[0]
    assert call == Call(
        "charge_card", {"order": 4411, "amount": Decimal("40.00")}, "Please charge order 4411 40.00"
    )
