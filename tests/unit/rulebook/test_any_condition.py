"""Whatever condition is accepted: how an amount is written makes no difference to it, only how much it is."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from runs.rulebook.conditions import ConditionFailed, condition
from tests.unit.rulebook.test_conditions import FACTS, TOOLS

PIECES = st.sampled_from(
    [
        "args",
        ".",
        "amount",
        "args.amount",
        "args['amount']",
        "history",
        "h",
        "h.args",
        "h.args.amount",
        "history[0]",
        "history[0].args.amount",
        "user",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        "?",
        "!",
        "==",
        "!=",
        "<",
        ">",
        "<=",
        ">=",
        "&&",
        "||",
        "+",
        "in",
        "null",
        "true",
        "'9'",
        "'40'",
        "'40.00'",
        "'amount'",
        "0",
        "1",
        "above(",
        "below(",
        "equal(",
        "has(",
        "size(",
        "string(",
        ".exists(h,",
        ".all(h,",
        ".map(h,",
        ".filter(h,",
        ".size()",
        ".startsWith('4')",
        ".args",
        ".amount",
        "['amount']",
        "[0]",
    ]
)
AMOUNTS = st.recursive(
    st.sampled_from(
        ["args.amount", "'9'", "'40.00'", "user", "args['amount']", "history[0].args.amount", "null", "true"]
    ),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from([" > ", " == ", " < ", " + ", " && ", " || ", " in "]), inner).map(
            "".join
        ),
        st.tuples(st.sampled_from(["above(", "equal(", "(", "[", "size(", "has("]), inner, st.just(")")).map(
            "".join
        ),
        st.tuples(
            st.sampled_from(["above(", "below(", "equal("]), inner, st.just(", "), inner, st.just(")")
        ).map("".join),
        st.tuples(inner, st.just(" ? "), inner, st.just(" : "), inner).map("".join),
        st.tuples(st.just("["), inner, st.just("].exists(h, "), inner, st.just(")")).map("".join),
        st.tuples(st.just("history.exists(h, "), inner, st.just(" == h.args.amount)")).map("".join),
    ),
    max_leaves=8,
)


def told(source: str, amount: str) -> Any:
    history = [{"tool": "charge", "args": {"order": 1, "amount": amount}, "state": "performed"}]
    facts = FACTS | {"args": {"order": 1, "amount": amount}, "history": history, "user": "40.00"}
    try:
        return condition(source, [TOOLS["charge"]], TOOLS.values()).holds(facts)
    except ConditionFailed:
        return "refused"


@settings(max_examples=300, deadline=None)
@given(st.one_of(AMOUNTS, st.lists(PIECES, min_size=1, max_size=12).map("".join)))
def test_the_way_an_amount_is_written_makes_no_difference(source: str) -> None:
    try:
        found = {told(source, amount) for amount in ("40", "40.0", "40.00", "4E+1")}
    except ValueError:
        return  # refused when the rules are read
    assert len(found) == 1, source
