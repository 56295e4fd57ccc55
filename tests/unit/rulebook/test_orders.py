"""The shape in which others read the order rules."""

from runs.rulebook import OrderRule, Rule, Rulebook, order_rules
from runs.rulebook.shapes import Order, RuleSection


def test_each_tool_of_an_order_rule_is_one_line_and_a_conditional_rule_is_none() -> None:
    all_of = RuleSection(tools=("charge", "tag"), order=Order(after=("read", "find")))
    one_of = RuleSection(tools=("mail",), order=Order(after_one_of=("charge", "tag")))
    sometimes = RuleSection(tools=("mail",), when="user == 'u-1'", order=Order(after=("pay",)))
    book = Rulebook(tuple(Rule(str(n), says) for n, says in enumerate((all_of, one_of, sometimes))))

    assert order_rules(book) == (
        OrderRule("charge", ("read", "find")),
        OrderRule("tag", ("read", "find")),
        OrderRule("mail", ("charge", "tag"), one_of=True),
    )
    assert order_rules(Rulebook()) == ()
