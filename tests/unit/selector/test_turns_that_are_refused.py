"""A turn with one part that is not read is refused as a whole, and the refusal names the part."""

import pickle
import time

import pytest

from runs.selector import Ambiguous, Phrase, Selector, Unread
from tests.unit.selector.desk import DESK, asked, look_up

CHARGE = "charge order 4411 40.00"

REFUSED: list[tuple[str, tuple[str, ...]]] = [
    # one part among good ones
    (f"{CHARGE}, then dance, then look up order 4411", ("dance",)),
    (f"dance, then {CHARGE}, then sing", ("dance", "sing")),
    (f"{CHARGE}. Thank you.", ("Thank you",)),
    (f"{CHARGE}, then update the crm", ("update the crm",)),
    (f"{CHARGE} update crm for order 4411", (f"{CHARGE} update crm for order 4411",)),
    (f"{CHARGE}, update crm for order 4411", (f"{CHARGE}, update crm for order 4411",)),
    (f"{CHARGE}; look up order 1", (f"{CHARGE}; look up order 1",)),
    ("charge orders 4411 and 4412 40.00", ("charge orders 4411", "4412 40.00")),
    ("charge order 4411, 40.00", ("charge order 4411, 40.00",)),
    # stopped in mid-sentence, or begun in one
    (f"{CHARGE}, then", (", then",)),
    (f"{CHARGE} and", ("and",)),
    (f"{CHARGE} and then.", ("and then.",)),
    (f"{CHARGE},", (f"{CHARGE},",)),
    (f"{CHARGE}, then please", ("please",)),
    (f"{CHARGE}, then then look up order 1", (", then then",)),
    (f"{CHARGE} and, then look up order 1", ("and, then",)),
    (f", then {CHARGE}", (", then",)),
    (f". {CHARGE}", (".",)),
    ("then", ("then",)),
    ("charge order 4411", ("charge order 4411",)),
    ("charge", ("charge",)),
    (f"{CHARGE}..", (f"{CHARGE}.",)),
    (f"{CHARGE}. .", (". .",)),
    # not asking for it
    (f"do not {CHARGE}", (f"do not {CHARGE}",)),
    (f"don't {CHARGE}", (f"don't {CHARGE}",)),
    (f"don\u2019t {CHARGE}", (f"don\u2019t {CHARGE}",)),
    ("charge not order 4411 40.00", ("charge not order 4411 40.00",)),
    (f"{CHARGE} and do not update the crm for order 4411", ("do not update the crm for order 4411",)),
    (f"{CHARGE}?", (f"{CHARGE}?",)),
    (f"if it is paid, {CHARGE}", (f"if it is paid, {CHARGE}",)),
    (f'"{CHARGE}"', (f'"{CHARGE}"',)),
    # numbers that are not plain ones
    ("charge order 0x11 40.00", ("charge order 0x11 40.00",)),
    ("look up order -4411", ("look up order -4411",)),
    ("look up order +4411", ("look up order +4411",)),
    ("look up order 4_411", ("look up order 4_411",)),
    ("look up order 4411.0", ("look up order 4411.0",)),
    ("look up order 044", ("look up order 044",)),
    ("look up order 9007199254740992", ("look up order 9007199254740992",)),
    ("look up order 123456789012345678901", ("look up order 123456789012345678901",)),
    ("look up order \u0664\u0664\u0661\u0661", ("look up order \u0664\u0664\u0661\u0661",)),
    ("look up order \uff14\uff14", ("look up order \uff14\uff14",)),
    ("look up order four", ("look up order four",)),
    # amounts that are not plain ones
    ("charge order 4411 40,00", ("charge order 4411 40,00",)),
    ("charge order 4411 1.250,00", ("charge order 4411 1.250,00",)),
    ("charge order 4411 1,25.00", ("charge order 4411 1,25.00",)),
    ("charge order 4411 40.001", ("charge order 4411 40.001",)),
    ("charge order 4411 -40.00", ("charge order 4411 -40.00",)),
    ("charge order 4411 $40.00", ("charge order 4411 $40.00",)),
    ("charge order 4411 4e3", ("charge order 4411 4e3",)),
    ("charge order 4411 nan", ("charge order 4411 nan",)),
    ("charge order 4411 .50", ("charge order 4411 .50",)),
    ("charge order 4411 040.00", ("charge order 4411 040.00",)),
    ("charge order 4411 40. 00", ("00",)),
    ("charge order 4411 1 250.00", ("charge order 4411 1 250.00",)),
    # ids and addresses
    ("refund charge order 40.00", ("refund charge order 40.00",)),
    ("refund charge 40.00 40.00", ("refund charge 40.00 40.00",)),
    (f"refund charge {'a1' * 33} 40.00", (f"refund charge {'a1' * 33} 40.00",)),
    ("refund charge LK-645334; 40.00", ("refund charge LK-645334; 40.00",)),
    ('write to ana@shop saying "hi"', ('write to ana@shop saying "hi"',)),
    (f'write to {"a" * 250}@a.pt saying "hi"', (f'write to {"a" * 250}@a.pt saying "hi"',)),
    # quotation marks
    ('note "" on order 7', ('note "" on order 7',)),
    ('note " " on order 7', ('note " " on order 7',)),
    ("note 'hi' on order 7", ("note 'hi' on order 7",)),
    ('note "a"b on order 7', ('note "a"b on order 7',)),
    ('note "leave it, then look up order 1', ('note "leave it, then look up order 1',)),
    ('note "leave it\nand look up order 1', ('note "leave it\nand look up order 1',)),
    ("write to ana@shop.pt saying \u201chello", ("write to ana@shop.pt saying \u201chello",)),
    ('look up order 1, then note "a and look up order 2', ('note "a and look up order 2',)),
    ('note \u201ca" on order 7 and look up order 1', ('note \u201ca" on order 7 and look up order 1',)),
    ('note \u201ca "b, then look up order 1, then note c" d\u201d on order 7',
     ('note \u201ca "b, then look up order 1, then note c" d\u201d on order 7',)),
    # other languages, whole or in part
    ("cobra o pedido 4411 40,00, depois atualiza o crm",
     ("cobra o pedido 4411 40,00, depois atualiza o crm",)),
    ("cobra o pedido 4411 40.00", ("cobra o pedido 4411 40.00",)),
    (f"{CHARGE}, depois atualiza o crm do pedido 4411", (f"{CHARGE}, depois atualiza o crm do pedido 4411",)),
    (f"{CHARGE}, then envia o recibo", ("envia o recibo",)),
    (f"{CHARGE} e look up order 1", (f"{CHARGE} e look up order 1",)),
    ("consulta a encomenda 4411 e depois envia-a", ("consulta a encomenda 4411 e depois envia-a",)),
    # letters that only look like the right ones
    ("loo\u212a up order 7", ("loo\u212a up order 7",)),
    ("u\u017fe order 7", ("u\u017fe order 7",)),
    ("l\u043eok up order 7", ("l\u043eok up order 7",)),
    ("refund charge \u212a7 40.00", ("refund charge \u212a7 40.00",)),
    ("look up\u2009order 7", ("look up\u2009order 7",)),
]  # fmt: skip


@pytest.mark.parametrize(("turn", "parts"), REFUSED, ids=[ascii(turn) for turn, _ in REFUSED])
def test_a_turn_is_refused_for(turn: str, parts: tuple[str, ...]) -> None:
    with pytest.raises(Unread) as refusal:
        DESK.read(turn)
    assert refusal.value.parts == parts
    assert "Nothing was done." in str(refusal.value)


@pytest.mark.parametrize(
    ("turn", "reason"),
    [
        ("", "The turn is empty."),
        (" \n\t\u00a0", "The turn is empty."),
        ("look up order 7\0", "cannot be shown (U+0000)"),
        ("look up \x1border 7", "cannot be shown (U+001B)"),
        ("look up\x85order 7", "cannot be shown (U+0085)"),
        ("look up order\u200b 7", "cannot be shown (U+200B)"),
        ("look up order\ud800 7", "cannot be shown (U+D800)"),
        ('note "a\u202eb" on order 7', "cannot be shown (U+202E)"),
        ("look up\u2028order 7", "cannot be shown (U+2028)"),
        ("x" * 65_537, "longer than 64 KiB"),
        (f'note "{"é" * 40_000}" on order 7', "longer than 64 KiB"),
        (" and ".join(["look up order 1"] * 51), "more than 50 things"),
        ("then " * 13_000, "more than 50 things"),
    ],
)
def test_what_is_no_turn_is_refused_with_the_reason(turn: str, reason: str) -> None:
    with pytest.raises(Unread) as refusal:
        DESK.read(turn)
    assert reason in str(refusal.value)
    assert refusal.value.parts == ()


def test_the_refusal_says_what_was_not_read_and_what_can_be() -> None:
    desk = Selector([Phrase("charge_card", "charge the order {order:d} {amount:F}"), Phrase("p", "ping")])
    with pytest.raises(Unread) as refusal:
        desk.read("ping, then dance  the\ntango")
    assert str(refusal.value) == (
        'I did not read: "dance the tango". Nothing was done. '
        "I can read: charge order <order> <amount>; ping."
    )
    assert desk.readable == ("charge order <order> <amount>", "ping")


def test_the_refusal_stays_short_however_long_the_turn() -> None:
    with pytest.raises(Unread) as refusal:
        DESK.read(", then ".join(["dance " * 100] * 50))
    assert len(str(refusal.value)) < 1_500
    assert "and 45 more" in str(refusal.value)
    assert len(refusal.value.parts) == 50


def test_a_desk_of_many_phrases_names_the_first_and_counts_the_rest() -> None:
    desk = Selector(Phrase(f"tool_{n}", f"do thing{n}") for n in range(25))
    with pytest.raises(Unread, match="; do thing19; and 5 more"):
        desk.read("dance")


def test_a_desk_without_phrases_reads_nothing() -> None:
    with pytest.raises(Unread, match="There is nothing I can read"):
        Selector([]).read("look up order 7")


def test_two_tools_that_read_the_same_clause_are_never_picked_between() -> None:
    desk = Selector([Phrase("close", "close order {order:d}"), Phrase("shut", "close the order {n:id}")])
    with pytest.raises(Ambiguous) as refusal:
        desk.read("close order 7, then close order LK-7, then close order 8")
    assert str(refusal.value) == (
        'I can read "close order 7" in more than one way: close (order 7) or shut (n "7"). Nothing was done.'
    )
    assert refusal.value.clause == "close order 7"
    assert [call.tool for call in refusal.value.readings] == ["close", "shut"]
    assert refusal.value.parts == ("close order 7", "close order 8")


def test_two_readings_by_one_tool_are_never_picked_between() -> None:
    desk = Selector([Phrase("pay", "pay {what:d}"), Phrase("pay", "pay {what:F}")])
    with pytest.raises(Ambiguous):
        desk.read("pay 40")


def test_two_phrases_that_mean_the_same_call_are_one_reading() -> None:
    desk = Selector(
        [Phrase("get_order", "find order {order:d}"), Phrase("get_order", "find the order {order:d}")]
    )
    assert asked("find order 7", desk) == [look_up(7)]


def test_a_phrase_that_begins_with_a_field_is_read_and_compared_too() -> None:
    desk = Selector([Phrase("get_order", "{order:d} please look up"), Phrase("x", "{n:id} look up")])
    assert asked("LK-7 look up", desk) == [("x", {"n": "LK-7"})]
    with pytest.raises(Ambiguous):
        desk.read("7 look up")


def test_a_quotation_mark_without_its_pair_is_not_paired_with_another_kind() -> None:
    desk = Selector([Phrase("copy", "copy {a:q} to {b:q}")])
    assert asked('copy "x" to \u201cy\u201d', desk) == [("copy", {"a": "x", "b": "y"})]
    with pytest.raises(Unread):
        desk.read('copy \u201cx" to "y\u201d')


def test_what_was_not_read_comes_before_what_is_ambiguous() -> None:
    desk = Selector([Phrase("a", "go"), Phrase("b", "go")])
    with pytest.raises(Unread) as refusal:
        desk.read("go, then dance")
    assert not isinstance(refusal.value, Ambiguous)
    assert refusal.value.parts == ("dance",)
    with pytest.raises(Ambiguous, match="more than one way: a or b"):
        desk.read("go")


def test_a_refusal_survives_a_trip_to_another_process() -> None:
    desk = Selector([Phrase("a", "go"), Phrase("b", "go")])
    with pytest.raises(Ambiguous) as refusal:
        desk.read("go")
    copy = pickle.loads(pickle.dumps(refusal.value))
    assert (str(copy), copy.parts, copy.readings) == (
        str(refusal.value),
        refusal.value.parts,
        refusal.value.readings,
    )


@pytest.mark.parametrize(
    "turn",
    [
        "a" * 65_536,
        '"' * 65_535,
        '"a" ' * 16_000,
        "refund charge " + "a1." * 21_000,
        "refund charge " + "1a" * 32_000 + "- 1",
        "charge order 1 " + "1," * 32_000,
        "write to " + "a." * 30_000 + "@",
        "write to a@" + "a." * 30_000 + "!",
        ". " * 32_000,
        "please, " * 8_000,
        "the " * 16_000,
    ],
    ids=lambda turn: turn[:24],
)
def test_a_turn_made_to_be_slow_is_refused_in_no_time(turn: str) -> None:
    start = time.perf_counter()
    with pytest.raises(Unread):
        DESK.read(turn)
    assert time.perf_counter() - start < 1
