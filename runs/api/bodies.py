"""What comes in, as pydantic models: bodies and query strings. They check them, and are the OpenAPI schema.

Every member is of exactly its type, and an unknown one is an error. What goes out: runs/api/shapes.py.
"""

from typing import Any, Self
from uuid import UUID

from pydantic import ConfigDict, Field, model_validator

from runs.api.shapes import DIGEST, LONGEST_WAIT, MAX_MESSAGE, MESSAGE, AnswerWord, Faults, Kind, Shape
from runs.digest import MAX_INTEGER
from runs.states import RunState


class Body(Shape):
    """A request's body."""

    model_config = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True)


class NewThread(Body):
    """A conversation of one user with one agent."""

    agent: str = Field(min_length=1, max_length=100, examples=["desk"])
    user: str = Field(min_length=1, max_length=200, examples=["u-17"])


class NewTurn(Body):
    """What the user says: it is read as a whole, or refused as a whole."""

    text: str = Field(min_length=1, examples=["charge order 4411 40.00, then update the crm for order 4411"])
    message: str = Field(default="", max_length=MAX_MESSAGE, description=MESSAGE)
    faults: Faults = Field(default_factory=dict)


class NewStep(Body):
    """One call that the run shall make. Money is text: "40.00"."""

    tool: str = Field(min_length=1, max_length=100, examples=["charge_card"])
    args: dict[str, Any] = Field(default_factory=dict, examples=[{"order": 4411, "amount": "40.00"}])
    text: str = Field(default="", max_length=2000, description="The part of the turn that it comes from.")


class NewRun(Body):
    """A run in a thread, or in a new thread of this agent and user; of a turn, or of the steps themselves."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "agent": "desk",
                    "user": "u-17",
                    "ticket": "T-40912",
                    "steps": [{"tool": "charge_card", "args": {"order": 4411, "amount": "40.00"}}],
                }
            ]
        }
    )

    agent: str = Field(default="", max_length=100, description="With `user`: a new thread.")
    user: str = Field(default="", max_length=200)
    thread: UUID | None = Field(
        default=None, strict=False, description="In place of `agent` and `user`: this thread."
    )
    text: str = Field(
        default="", description="The user's turn. Without `steps` it is read into the calls it asks for."
    )
    message: str = Field(default="", max_length=MAX_MESSAGE, description=MESSAGE)
    steps: list[NewStep] = Field(default_factory=list)
    open: bool = Field(
        default=False, description="The agent proposes more steps later, and closes the run when it is done."
    )
    task: str = Field(default="", max_length=100)
    ticket: str = Field(default="", max_length=100, examples=["T-40912"])
    subject: str = Field(default="", max_length=100, examples=["order 4411"])
    faults: Faults = Field(default_factory=dict)

    @model_validator(mode="after")
    def _in_one_place(self) -> Self:
        if self.thread and (self.agent or self.user):
            raise ValueError("either a thread, or an agent and a user: a thread has both")
        if not self.thread and not (self.agent and self.user):
            raise ValueError("a thread is needed, or an agent and a user")
        return self


class NewPlan(Body):
    """Calls that are tried and not made: in a thread, or as if in a new one of this agent and user."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"agent": "desk", "text": "charge order 4411 40.00, then send the receipt for order 4411"}
            ]
        }
    )

    agent: str = Field(default="", max_length=100, examples=["desk"])
    user: str = Field(default="", max_length=200, examples=["u-17"])
    thread: UUID | None = Field(
        default=None, strict=False, description="In place of `agent` and `user`: what it did before counts."
    )
    text: str = Field(
        default="", description="A turn. Without `steps` it is read into the calls it asks for."
    )
    steps: list[NewStep] = Field(default_factory=list, description="At most 100.")
    task: str = Field(default="", max_length=100)
    ticket: str = Field(default="", max_length=100, examples=["T-40912"])
    subject: str = Field(default="", max_length=100, examples=["order 4411"])

    @model_validator(mode="after")
    def _in_one_place(self) -> Self:
        if bool(self.thread) == bool(self.agent or self.user) or (self.user and not self.agent):
            raise ValueError("either a thread, or an agent: a thread has both agent and user")
        return self


class Cancel(Body):
    """Why the run shall stop."""

    reason: str = Field(default="", max_length=2000, examples=["The customer withdrew the order."])


class Nothing(Body):
    """No members: an empty body or `{}`."""


class Order(Body):
    """Why a worker shall do it."""

    reason: str = Field(default="", max_length=500, examples=["The card service is down."])


class NewAnswer(Body):
    """What a person says to a question, bound to what they saw."""

    answer: AnswerWord = Field(description="One of the question's `answers`.")
    digest: str = Field(
        description="64 hex digits: the question's `digest`, as it was shown.", examples=[DIGEST]
    )
    nonce: str = Field(
        description="8 to 64 visible characters, new for each answer: the same nonce is the same answer.",
        examples=["1d0fb0f2c2a1"],
    )
    reason: str = Field(default="", max_length=2000, description="Needed to abandon.")
    reference: str = Field(default="", max_length=2000, description="Needed for done_by_hand.")
    result: dict[str, Any] | None = Field(
        default=None, description="With `happened`: the fields of the result that the undo needs."
    )


class Query(Shape):
    """A query string."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)


class Page(Query):
    """One page of a list."""

    cursor: int | None = Field(
        default=None, ge=1, le=MAX_INTEGER, description="The `next` of the page before."
    )
    limit: int = Field(default=20, ge=1, le=100, description="How many, at most.")


class RunsQuery(Page):
    """Which runs."""

    state: RunState | None = None
    thread: UUID | None = None
    ticket: str | None = Field(default=None, max_length=100)


class QuestionsQuery(Page):
    """Which questions."""

    kind: Kind | None = None


class WaitQuery(Query):
    """A long poll. Without `after` it ends once the run waits for somebody or has ended."""

    wait: float = Field(
        default=0, ge=0, allow_inf_nan=False, description=f"Seconds, at most {LONGEST_WAIT}; more is cut."
    )
    after: int | None = Field(
        default=None, ge=0, le=MAX_INTEGER, description="Until the run's version is above this."
    )
