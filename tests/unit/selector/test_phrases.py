"""A phrase that could not be read without guessing is refused when it is compiled."""

from decimal import Decimal

import pytest

from runs.selector import Phrase, PhraseError, Selector, Unread
from tests.unit.selector.desk import asked

BAD = [
    ("look up {x}", "the field x has no type"),
    ("look up {x:}", "the field x has no type"),
    ("look up {x:w}", "the field x has the unknown type w"),
    ("look up {x:5d}", "the field x has the unknown type 5d"),
    ("look up {x:whole}", "the field x has the unknown type whole"),
    ("look up {x:>d}", "the field x has the unknown type >d"),
    ("look up {}", '"" cannot be the name'),
    ("look up {:d}", '"" cannot be the name'),
    ("look up {1x:d}", '"1x" cannot be the name'),
    ("look up {_x:d}", '"_x" cannot be the name'),
    ("look up {a.b:d}", '"a.b" cannot be the name'),
    ("look up {a[b]:d}", '"a[b]" cannot be the name'),
    ("look up {a-b:d}", '"a-b" cannot be the name'),
    ("look up {é:d}", '"é" cannot be the name'),
    ("look up {x:d} {x:d}", "the field x is there twice"),
    ("look up {x:d} {x:id}", "the field x is there twice"),
    ("look up {a:d}{b:d}", "is not one field with a space on either side"),
    ("look up {a:id}-{b:id}", "is not one field with a space on either side"),
    ("look up order{a:d}", "is not one field with a space on either side"),
    ("look up {a:d}th", "is not one field with a space on either side"),
    ("look up {x :d", "is not one field with a space on either side"),
    ("look up {{x}}", "is not one field with a space on either side"),
    ("look up x}", "is not one field with a space on either side"),
    ("search and replace {x:id}", '"and" joins two requests'),
    ("look up {x:id} Then go", '"Then" joins two requests'),
    ("charge {x:d}, {y:F}", "is not one field with a space on either side"),
    ("charge, {x:d}", '"charge," is not a plain English word'),
    ("why? {x:d}", '"why?" is not a plain English word'),
    ("send. {x:d}", '"send." is not a plain English word'),
    ("say \"hi\" {x:d}", '"hi"" is not a plain English word'),
    ("café {x:d}", '"café" is not a plain English word'),
    ("loo\u212a up {x:d}", "is not a plain English word"),
    ("look up {x:d} [order]", '"[order]" is not a plain English word'),
    ("look up [order {x:d} now]", '"[order" is not a plain English word'),
    ("look up [{x:d}]", "is not one field with a space on either side"),
    ("look up ([order {x:d}])", '"([order" is not a plain English word'),
    ("send [order {x:d}] to [order {y:d}]", "only one part of it can be in brackets"),
    ("look up [orders {x:d+}]", "a list cannot be in brackets"),
    ("charge {x:d+} {y:F+} each", "it has two lists"),
    ("charge {x:d+} {y:F}", 'a number beside a list is of each item or of all of them: say "each"'),
    ("reserve {y:n} of {x:id+}", 'a number beside a list is of each item or of all of them: say "each"'),
    ("look up #{x:d+}", "the list x has a sign at it"),
    ("look up {x:d++}", "is not one field with a space on either side"),
    ("look up {x:+}", "the field x has no type"),
    ("look up {x:list+}", "the field x has the unknown type list"),
    ("{x:d}", "it has no word of its own"),
    ("the {x:d} please", "it has no word of its own"),
    ("the", "it has no word of its own"),
    (" ", "it has no word of its own"),
    ("", "it has no word of its own"),
]  # fmt: skip


@pytest.mark.parametrize(("says", "reason"), BAD, ids=[ascii(says) for says, _ in BAD])
def test_a_phrase_is_refused(says: str, reason: str) -> None:
    with pytest.raises(PhraseError) as refusal:
        Selector([Phrase("look", says)])
    assert reason in str(refusal.value)
    assert str(refusal.value).startswith(f'look says "{says}": ')


def test_a_phrase_needs_a_tool() -> None:
    with pytest.raises(PhraseError, match="names no tool"):
        Selector([Phrase("", "look up {x:d}")])


def test_one_bad_phrase_refuses_the_set() -> None:
    with pytest.raises(PhraseError):
        Selector([Phrase("good", "look up {x:d}"), Phrase("bad", "look at {x}")])


@pytest.mark.parametrize(
    ("says", "turn", "args"),
    [
        ("check in", "check in", {}),
        ("Check the customer's e-mail", "check customer\u2019s E-MAIL", {}),
        ("The total", "total", {}),
        ("Look up {order:d}.", "look up 7.", {"order": 7}),
        ("move #{a:d} up {b:d}%", "move #7 up 8%", {"a": 7, "b": 8}),
        ("pay ${x:d}", "pay $7", {"x": 7}),
        ("send {from:id} {class:id}", "send A1 B2", {"from": "A1", "class": "B2"}),
        ("copy {a:q} {b:q}", 'copy "x" "y z"', {"a": "x", "b": "y z"}),
        ("list 3 things", "list 3 things", {}),
        ("close the {x:d}", "close the 7", {"x": 7}),
        ("[order {x:d}] please", "order 7", {"x": 7}),
        ("move [order {x:d}] to {y:d}", "move order 7 to 8", {"x": 7, "y": 8}),
        ("all {x:id} each", "all A1 each", {"x": "A1"}),
    ],
)
def test_a_phrase_is_read(says: str, turn: str, args: dict[str, int | str]) -> None:
    assert Selector([Phrase("tool", says)]).read(turn).calls[0].args == args


def test_a_sign_of_a_phrase_is_not_the_sign_of_an_amount_too() -> None:
    desk = Selector([Phrase("pay", "pay ${x:F}")], currency="USD")
    assert asked("pay $40", desk) == [("pay", {"x": Decimal("40.00")})]
    for turn in ("pay $$40", "pay $40 dollars", "pay 40"):
        with pytest.raises(Unread):
            desk.read(turn)


def test_a_phrase_says_once_what_it_is_called() -> None:
    desk = Selector([Phrase("send", "send receipt for [order {order:d}]"), Phrase("look", "look up {x:d+}")])
    assert desk.readable == ("send receipt for order <order>", "look up <x>, … and <x>")


def test_phrases_of_other_languages_are_left_alone() -> None:
    desk = Selector([Phrase("look", "look up {x:d}"), Phrase("look", "procura e {x}", "pt")])
    assert desk.readable == ("look up <x>",)
    with pytest.raises(PhraseError, match='"e" joins two requests'):
        Selector([Phrase("look", "procura e {x:d}", "pt")], ["pt"])
    with pytest.raises(PhraseError, match='"Em seguida" joins two requests'):
        Selector([Phrase("look", "procura Em seguida {x:d}", "pt")], ["pt"])
    desk = Selector([Phrase("look", "procura em {x:d} dias", "pt")], ["pt"])  # no connective by itself
    assert asked("procura em 7 dias em seguida procura em 8 dias", desk) == [
        ("look", {"x": 7}),
        ("look", {"x": 8}),
    ]
    with pytest.raises(PhraseError, match='"procurâ" is not a plain English word'):
        Selector([Phrase("look", "procurâ {x:d}")])
