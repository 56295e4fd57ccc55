"""Whatever condition is accepted: how an amount is written makes no difference to it, only how much it is."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from runs.rulebook.conditions import ConditionFailed, condition
from tests.unit.rulebook.test_conditions import FACTS, TOOLS

TOKENS = """args . amount args.amount args['amount'] history h h.args h.args.amount history[0] history[0].args.amount
user ( ) [ ] { } , : ? ! == != < > <= >= && || + in null true '9' '40' '40.00' 'amount' 0 1 above( below( equal( has(
size( string( .exists(h, .all(h, .map(h, .filter(h, .size() .startsWith('4') .args .amount ['amount'] [0]"""
ATOMS = ["args.amount", "args['amount']", "history[0].args.amount", "user", "'9'", "'40.00'", "null", "true"]
OPERATORS = (" > ", " == ", " < ", " + ", " && ", " || ", " in ")
ONE, TWO = ("above(", "equal(", "(", "[", "size(", "has("), ("above(", "below(", "equal(")


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def made(*parts: str | st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.tuples(*(st.just(part) if isinstance(part, str) else part for part in parts)).map("".join)

    return st.one_of(
        made(inner, st.sampled_from(OPERATORS), inner),
        made(st.sampled_from(ONE), inner, ")"),
        made(st.sampled_from(TWO), inner, ", ", inner, ")"),
        made(inner, " ? ", inner, " : ", inner),
        made("[", inner, "].exists(h, ", inner, ")"),
        made("history.exists(h, ", inner, " == h.args.amount)"),
    )


SENSIBLE = st.recursive(st.sampled_from(ATOMS), _larger, max_leaves=8)
NONSENSE = st.lists(st.sampled_from(TOKENS.split()), min_size=1, max_size=12).map("".join)


def told(source: str, amount: str) -> Any:
    history = [{"tool": "charge", "args": {"order": 1, "amount": amount}, "state": "performed"}]
    facts = FACTS | {"args": {"order": 1, "amount": amount}, "history": history, "user": "40.00"}
    try:
        return condition(source, [TOOLS["charge"]], TOOLS.values()).holds(facts)
    except ConditionFailed:
        return "refused"


@settings(max_examples=300, deadline=None)
@given(st.one_of(SENSIBLE, NONSENSE))
def test_the_way_an_amount_is_written_makes_no_difference(source: str) -> None:
    try:
        found = {told(source, amount) for amount in ("40", "40.0", "40.00", "4E+1")}
    except ValueError:
        return  # refused when the rules are read
    assert len(found) == 1, source
