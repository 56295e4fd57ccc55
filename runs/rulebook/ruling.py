"""What the check said of one call."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Ruling:
    """'allowed', 'ask' or 'refused', by which rule, under which version of the rules."""

    verdict: str
    rule: str
    version: str
