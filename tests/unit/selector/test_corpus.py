"""A corpus of turns (corpus.yaml), and what must become of each: read exactly, refused by its parts, or handed back."""

import re
import shlex
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from runs.selector import Ambiguous, Phrase, Selector, Unread
from tests.unit.selector import desk as asked_of
from tests.unit.selector.desk import BOTH, DESK, PHRASES, Asked, asked, plain

GROUPS = yaml.safe_load((Path(__file__).parent / "corpus.yaml").read_text())["groups"]
COUNTER = Selector(
    [
        Phrase("find", "find order {order:d}"),
        Phrase("close", "close order {order:d}"),
        Phrase("shut", "close the order {number:id}"),
        Phrase("pay", "pay {what:d}"),
        Phrase("pay", "pay {what:F}"),
        Phrase("show", "show {order:d}"),
        Phrase("now", "{order:d} now"),
        Phrase("show_all", "show {order:d+} now"),
        Phrase("sum", "total {what:F}", "en"),
        Phrase("all", "total {what:F}", "pt"),
    ],
    ["en", "pt"],
)
DESKS = {"en": DESK, "both": BOTH, "dollars": Selector(PHRASES, currency="USD"), "counter": COUNTER}

Values = Mapping[str, Callable[[str], Any]]
# How the corpus writes a call: its name, then its arguments in this order.
OF_COUNTER: Mapping[str, tuple[str, Values]] = {
    **{name: (name, {"order": int}) for name in ("find", "close", "show", "now", "show_all")},
    **{name: (name, {"what": Decimal}) for name in ("sum", "all")},
    "shut": ("shut", {"number": str}),
    "pay_order": ("pay", {"what": int}),
    "pay_amount": ("pay", {"what": Decimal}),
}
TYPES = {"charge": (int, str), "reserve": (int, str), "refund": (str, str), "mail": (str, str)}


def call(written: str) -> Asked:
    name, *args = shlex.split(written)
    if name in OF_COUNTER:
        tool, values = OF_COUNTER[name]
        return tool, {key: as_type(arg) for (key, as_type), arg in zip(values.items(), args, strict=True)}
    if name == "note":
        return asked_of.note(args[1], int(args[0]))
    types = TYPES.get(name, (int,))
    found: Asked = getattr(asked_of, name)(*(as_type(arg) for as_type, arg in zip(types, args, strict=True)))
    return found


def of(kind: str) -> list[Any]:
    """The turns that come to this, each as (desk, turn, what is expected of it)."""
    return [
        pytest.param(
            DESKS[group["desk"]], *_parted(said), id=f"{group['name']}: {ascii(_parted(said)[0])[:60]}"
        )
        for group in GROUPS
        if group["come_to"] == kind
        for said in group["turns"]
    ]


def _parted(said: str | list[Any]) -> tuple[str, list[Any]]:
    """A turn, and what is expected of it."""
    turn, *expected = [said] if isinstance(said, str) else said
    return turn, expected


ALL = [one.values for kind in ("read", "unread", "ambiguous", "no_turn") for one in of(kind)]


def test_the_corpus_is_large_and_holds_every_kind() -> None:
    sizes = {group["name"]: len(group["turns"]) for group in GROUPS}
    assert sum(sizes.values()) == len(ALL) >= 300
    assert len({(id(desk), turn) for desk, turn, _ in ALL}) == len(ALL), "a turn is there twice"
    for name in (
        "English",
        "misspelt",
        "other languages",
        "instructions to a machine",
        "numbers in odd forms",
    ):
        assert sizes[name] >= 45, name
    assert sum(group["come_to"] == "ambiguous" and len(group["turns"]) for group in GROUPS) >= 20


@pytest.mark.parametrize(("desk", "turn", "calls"), of("read"))
def test_it_is_read_as_exactly_these_calls(desk: Selector, turn: str, calls: list[str]) -> None:
    assert asked(turn, desk) == [call(written) for written in calls]


@pytest.mark.parametrize(("desk", "turn", "parts"), of("unread"))
def test_it_is_refused_as_a_whole_and_the_parts_are_named(
    desk: Selector, turn: str, parts: list[str]
) -> None:
    with pytest.raises(Unread) as refusal:
        desk.read(turn)
    assert not isinstance(refusal.value, Ambiguous)
    assert list(refusal.value.parts) == (parts or [turn.strip()])


@pytest.mark.parametrize(("desk", "turn", "readings"), of("ambiguous"))
def test_it_is_handed_back_with_every_reading(desk: Selector, turn: str, readings: list[list[str]]) -> None:
    with pytest.raises(Ambiguous) as refusal:
        desk.read(turn)
    found = [[plain(each) for each in reading.calls] for reading in refusal.value.readings]
    assert found == [[call(written) for written in calls] for calls in readings]
    assert [asked(reading.text, desk) for reading in refusal.value.readings] == found


@pytest.mark.parametrize(("desk", "turn", "nothing"), of("no_turn"))
def test_it_holds_what_cannot_be_shown(desk: Selector, turn: str, nothing: list[str]) -> None:
    with pytest.raises(Unread, match=r"holds a character that cannot be shown \(U\+") as refusal:
        desk.read(turn)
    assert refusal.value.parts == ()


# --- Turns that are almost those of the corpus --------------------------------------------------------------
QUOTED = re.compile(r'"[^"]*"|\u201c[^\u201d]*\u201d')
READ = [
    turn
    for desk, turn, _ in (one.values for one in of("read"))
    if desk is DESK and "(" not in QUOTED.sub("", turn)
]
REFUSED = [
    turn
    for group in GROUPS
    if group["name"] in ("misspelt", "other languages", "instructions to a machine")
    for turn, _ in map(_parted, group["turns"])
]
LOOK_ALIKES = {
    **{str(digit): [chr(base + digit) for base in (0xFF10, 0x660, 0x966, 0x1D7CE)] for digit in range(10)},
    ".": ["\uff0e", "\u00b7", "\u3002", "\u066b", "\u2024"],
    ",": ["\uff0c", "\u066c", "\u201a", "\u060c"],
    "-": ["\u2212", "\u2013", "\u2010", "\u2011", "\uff0d"],
    " ": ["\u00a0", "\u2009", "\u202f", "\u3000", "\u200b", "\u2060", " \u200f", "\u202e", "\u00ad"],
    "o": ["\u043e", "\u03bf", "\u00f6"],
    "e": ["\u0435", "\u00e9", "e\u0301"],
    "a": ["\u0430", "\u00e1"],
    "r": ["\u0433", "\u1d63"],
    "s": ["\u017f", "\u0455"],
    "k": ["\u212a", "\u03ba"],
}
WORDS = """two three the please same it and then each , . order orders for 1 2 40.00 1,250 LK-1 charge look up refund
receipt 0x1 -1 or not""".split()  # noqa: SIM905
IN_WORDS = {"one": 1, "two": 2, "three": 3, "twelve": 12}
# What asks for each tool, in the words of the desk.
VERBS = {
    "charge_card": "charge",  # also the noun of a refund
    "refund_card": "refund",
    "update_crm": "update",
    "provision_account": "provision",
    "send_receipt": "send",
    "get_order": "look",
    "add_note": "note",
    "write_mail": "write",
    "reserve": "reserve",
}


def read(turn: str) -> list[Asked] | None:
    """What the turn asks for; None where it is refused."""
    try:
        return asked(turn, DESK)
    except Unread:
        return None


def unquoted(turn: str) -> list[int]:
    """The places of a turn that are in no quotation marks."""
    held = {at for found in QUOTED.finditer(turn) for at in range(*found.span())}
    return [at for at in range(len(turn)) if at not in held]


@given(st.sampled_from(READ), st.data())
def test_a_character_that_only_looks_like_the_right_one_changes_no_call(
    turn: str, draw: st.DataObject
) -> None:
    places = [at for at in unquoted(turn) if turn[at] in LOOK_ALIKES]
    at = draw.draw(st.sampled_from(places))
    other = draw.draw(st.sampled_from(LOOK_ALIKES[turn[at]]))
    changed = f"{turn[:at]}{other}{turn[at + 1 :]}"
    assert read(changed) in (None, read(turn)), ascii(changed)


@given(st.sampled_from(READ), st.sampled_from("abcdefghijklmnopqrstuvwxyz-'_"), st.data())
def test_a_letter_that_is_wrong_in_a_word_changes_no_call(
    turn: str, letter: str, draw: st.DataObject
) -> None:
    outside = set(unquoted(turn))
    words = [found.span() for found in re.finditer(r"\S+", turn) if not re.search(r'[0-9@"]', found[0])]
    start, end = draw.draw(st.sampled_from([(start, end) for start, end in words if start in outside]))
    at = draw.draw(st.integers(start, end - 1))
    changed = draw.draw(
        st.sampled_from(
            [
                f"{turn[:at]}{turn[at + 1 :]}",
                f"{turn[:at]}{letter}{turn[at:]}",
                f"{turn[:at]}{letter}{turn[at + 1 :]}",
                f"{turn[:at]}{turn[at + 1 : end][:1]}{turn[at]}{turn[at + 2 :]}",
            ]
        )
    )
    assert read(changed) in (None, read(turn)), changed


def values_in(turn: str) -> set[object]:
    """Whatever has a digit, or is a number in words, outside quotation marks."""
    words = QUOTED.sub(" ", turn).replace("\u00a0", " ").split()
    return {
        value(word.strip(".,")) for word in words if re.search("[0-9@]", word) or word.lower() in IN_WORDS
    }


def value(word: str) -> object:
    plain_word = str(IN_WORDS.get(word.lower(), word)).replace(",", "")
    return Decimal(plain_word) if re.fullmatch(r"[0-9]+(\.[0-9]+)?", plain_word) else word


@given(st.lists(st.sampled_from(READ), min_size=1, max_size=3), st.data())
def test_of_a_turn_that_is_read_no_value_and_no_verb_is_left_out(
    turns: list[str], draw: st.DataObject
) -> None:
    """Whatever is dropped, doubled, moved or put in between: what is read has every value of the turn, and no other."""
    words = re.findall(r'"[^"]*"|\u201c[^\u201d]*\u201d|\S+', ". ".join(turn.rstrip(" .") for turn in turns))
    for _ in range(draw.draw(st.integers(0, 3))):
        at = draw.draw(st.integers(0, len(words) - 1))
        does = draw.draw(st.sampled_from(["drop", "double", "swap", "put in"]))
        if does == "drop" and len(words) > 1:
            del words[at]
        elif does == "double":
            words.insert(at, words[at])
        elif does == "swap":
            other = draw.draw(st.integers(0, len(words) - 1))
            words[at], words[other] = words[other], words[at]
        else:
            words.insert(at, draw.draw(st.sampled_from(WORDS)))
    turn = " ".join(words)
    calls = read(turn)
    if calls is not None:
        said = {
            value(str(each))
            for _, args in calls
            for name, each in args.items()
            if name not in ("note", "body")
        }
        assert said == values_in(turn), turn
        plain_turn = QUOTED.sub("", turn)
        verbs = {
            tool: len(re.findall(rf"\b{verb}\b", plain_turn, re.IGNORECASE)) for tool, verb in VERBS.items()
        }
        verbs["charge_card"] -= verbs["refund_card"]
        assert {tool for tool, _ in calls} == {tool for tool, times in verbs.items() if times}, turn
        assert len(calls) >= sum(verbs.values()), turn


@given(
    st.sampled_from(READ),
    st.sampled_from(REFUSED),
    st.sampled_from([", then ", " and ", ". ", "\n"]),
    st.booleans(),
)
def test_a_turn_that_is_refused_refuses_whatever_it_stands_beside(
    good: str, bad: str, joint: str, first: bool
) -> None:
    parts = [bad, good] if first else [good, bad]
    assert read(joint.join(parts)) is None
