"""The rulebook: what an agent may call, when, and who must say yes."""

from runs.rulebook.orders import OrderRule, order_rules
from runs.rulebook.ruling import Ruling
from runs.rulebook.shapes import Rule, Rulebook

__all__ = ["OrderRule", "Rule", "Rulebook", "Ruling", "order_rules"]
