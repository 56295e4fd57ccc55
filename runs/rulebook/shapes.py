"""`rules.yaml` as it is written: what a rule may say, and of which kind it is."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


class Strict(BaseModel):
    """An unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


def _several(value: object) -> object:
    return [value] if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_several), Field(min_length=1)]  # one name, or a list


class Order(Strict):
    """The tool runs only after all of `after`, or after one of `after_one_of`, ran in the same conversation."""

    after: Names | None = None
    after_one_of: Names | None = None


class RuleSection(Strict):
    """One rule: which tools it speaks of, when, and what it says."""

    tools: Names
    when: str | None = None
    order: Order | None = None


@dataclass(frozen=True)
class Rule:
    """A rule of a rulebook."""

    name: str
    says: RuleSection


@dataclass(frozen=True)
class Rulebook:
    """The rules of an agent file, in the order in which they are written."""

    rules: tuple[Rule, ...] = ()
