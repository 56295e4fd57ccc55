"""A turn with one part that is not read is refused as a whole, and the refusal names the part."""

import time

import pytest

from runs.selector import Ambiguous, Phrase, Selector, Unread
from tests.unit.selector.desk import BOTH, DESK, DESKS, asked
from tests.unit.selector.languages import TABLES

REFUSED = [
    pytest.param(language, *turn, id=f"{language}: {what}")
    for language, table in TABLES.items()
    for what, turn in table.REFUSED.items()
]
MIXED = [
    "charge order 4411 40.00, depois envia o recibo do pedido 4411",
    "cobra o pedido 4411 40,00, then send the receipt for order 4411",
    "charge order 4411 40.00. Envia o recibo do pedido 4411.",
    "Charge order 4411 40.00, e send the receipt for order 4411",
    "charge o pedido 4411 40.00",
    "charge order 4411 40,00",
    "cobra o pedido 4411 40.00",
    "please cobra o pedido 4411 40,00",
    "por favor charge order 4411 40.00",
    "look up orders 1 e 2",
    "look up order 1, then update the crm for the mesmo order",
    "look up order 1 and send the receipt for ele",
    "reserve três of SKU-1",
    "cobra os pedidos 1 e 2 40,00 each",
]


@pytest.mark.parametrize(("language", "turn", "parts"), REFUSED)
def test_a_turn_is_refused_for(language: str, turn: str, parts: tuple[str, ...]) -> None:
    with pytest.raises(Unread) as refusal:
        DESKS[language].read(turn)
    assert refusal.value.parts == parts
    assert not isinstance(refusal.value, Ambiguous)
    assert "Nothing was done. I can read: " in str(refusal.value)


@pytest.mark.parametrize("turn", MIXED)
def test_a_turn_half_in_one_language_and_half_in_another_is_refused(turn: str) -> None:
    with pytest.raises(Unread) as refusal:
        BOTH.read(turn)
    assert str(refusal.value).endswith(" A turn is in one language: English or Portuguese.")


def test_the_refusal_speaks_of_the_language_in_which_the_most_was_read() -> None:
    with pytest.raises(Unread) as refusal:
        BOTH.read("consulta o pedido 1, depois dance")
    assert refusal.value.parts == ("dance",)
    assert "I can read in Portuguese: cobra pedido <order> <amount>;" in str(refusal.value)


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


def test_a_space_that_only_looks_like_one_is_named() -> None:
    with pytest.raises(Unread) as refusal:
        DESK.read("look up\u2009order  7")
    assert str(refusal.value).startswith('I did not read: "look up(U+2009)order 7".')


@pytest.mark.parametrize(
    ("turn", "language"), [("dance for order 1", "English"), ("dança com o pedido 1", "Portuguese")]
)
def test_the_refusal_speaks_of_the_language_whose_words_they_are(turn: str, language: str) -> None:
    with pytest.raises(Unread, match=f"I can read in {language}: "):
        BOTH.read(turn)


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


def test_a_quotation_mark_without_its_pair_is_not_paired_with_another_kind() -> None:
    desk = Selector([Phrase("copy", "copy {a:q} to {b:q}")])
    assert asked('copy "x" to \u201cy\u201d', desk) == [("copy", {"a": "x", "b": "y"})]
    with pytest.raises(Unread):
        desk.read('copy \u201cx" to "y\u201d')


def test_what_a_list_asks_for_counts_too() -> None:
    with pytest.raises(Unread, match="more than 50 things"):
        DESK.read(f"look up orders {', '.join(map(str, range(50)))} and 50")
    assert len(DESK.read(f"look up orders {', '.join(map(str, range(49)))} and 49").calls) == 50


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
        "and " * 16_000,
        "e " * 32_000,
        "look up order 1 and " * 3_200,
        "x " * 32_000,
        "look up orders " + "1, " * 21_000 + "and 2",
        "look up orders " + ", ".join(map(str, range(9_000))) + " and 0x1",
        "look up order 1 and update crm for " + "same order " * 5_900,
        "look up order 1 and update crm for " + "same " * 13_000,
        "it " * 21_000,
        "update crm for " + "it " * 21_000,
        "por favor " * 6_500,
        "por " * 16_000,
        "order 1 " * 8_000,
        "get_order(" + "order=7, " * 7_000 + ")",
        "get_order(" + "a" * 65_000 + ")",
        "get_order(order=" + "9" * 65_000 + ")",
        "[" * 65_536,
        "(" * 65_536,
        "(a=" * 21_000,
    ],
    ids=lambda turn: turn[:24],
)
def test_a_turn_made_to_be_slow_is_refused_in_no_time(turn: str) -> None:
    start = time.process_time()
    with pytest.raises(Unread):
        BOTH.read(turn)
    # A fifth of a second on any machine that is not busy. What takes the square of a turn's length takes minutes.
    assert time.process_time() - start < 10
