"""A phrase that could not be read without guessing is refused when it is compiled."""

import pytest

from runs.selector import Phrase, PhraseError, Selector

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
    ],
)
def test_a_phrase_is_read(says: str, turn: str, args: dict[str, int | str]) -> None:
    assert Selector([Phrase("tool", says)]).read(turn).calls[0].args == args
