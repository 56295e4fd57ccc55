"""The order rules of a rulebook, for whoever must know in which order tools may run."""

from dataclasses import dataclass

from runs.rulebook.shapes import Rulebook


@dataclass(frozen=True)
class OrderRule:
    """`tool` may run only after all of `after` ran in the thread, or, with `one_of`, after any one of them."""

    tool: str
    after: tuple[str, ...]
    one_of: bool = False


def order_rules(rulebook: Rulebook) -> tuple[OrderRule, ...]:
    """The order rules that always hold; one with a condition forbids no route for certain, so it is left out."""
    return tuple(
        OrderRule(
            tool, rule.says.order.after or rule.says.order.after_one_of or (), not rule.says.order.after
        )
        for rule in rulebook.rules
        if rule.says.order and rule.says.when is None
        for tool in rule.says.tools
    )
