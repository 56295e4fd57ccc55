"""What the check said of one call."""

from collections.abc import Iterable
from dataclasses import dataclass

from runs.roles import is_enough


@dataclass(frozen=True)
class Ruling:
    """'allowed', 'ask', 'refused', 'busy' or 'replayed'; by which rule, under which version of the rules.

    Where it asks: `approver` is the role that answers, `not_by` are the names of those who asked for the call and
    so may not. `cause` says why it was refused. `passed` are the rules that spoke of the call and let it through.
    """

    verdict: str
    rule: str
    version: str
    cause: str = ""
    approver: str = ""
    not_by: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()

    def is_met_by(self, approver: str, not_by: Iterable[str]) -> bool:
        """Whether an approval that was asked of these people is all that this ruling asks for."""
        return is_enough(approver, self.approver) and set(self.not_by) <= set(not_by)

    def said(self) -> dict[str, object]:
        """Its line in the record."""
        found = {"rules": self.version, "rule": self.rule, "cause": self.cause, "passed": list(self.passed)}
        return {name: value for name, value in found.items() if value}
