"""What goes out, as pydantic models: they write answers, and are the OpenAPI schema.

Times are UTC, RFC 3339; money is text; what does not exist is null. What comes in: runs/api/bodies.py.
"""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from runs.roster import State
from runs.states import RunState, StepState

LONGEST_WAIT = 30
DIGEST = "9f2c" + "0" * 60
MAX_MESSAGE = 64 * 1024  # characters
MESSAGE = (
    "What somebody else wrote, such as a customer: data that the agent may read, which asks for nothing."
)

Kind = Literal["confirm", "outcome", "undo"]
AnswerWord = Literal[
    "approve",
    "skip",
    "cancel_all",
    "happened",
    "did_not_happen",
    "send_again",
    "retry",
    "done_by_hand",
    "abandon",
]
Faults = Annotated[
    dict[str, str],
    Field(description="Practice only: the fault of each tool.", examples=[{"provision_account": "down"}]),
]
Id = Annotated[str, Field(description="What people say.", examples=["R-1042"])]


class Shape(BaseModel):
    """The base of all; runs/api/openapi.py writes their schemas."""


class Out(Shape):
    """An answer's body."""


class Message(Out):
    """What was said in a thread."""

    role: Literal["user", "customer", "agent", "tool"]
    text: str
    run: str | None = Field(examples=["R-1042"])
    at: datetime


class ThreadLinks(Out):
    """Addresses."""

    self: str
    runs: str
    turns: str


class Thread(Out):
    """A conversation. `open_run` is what it waits for: a new turn is a 409 meanwhile."""

    id: UUID
    agent: str = Field(examples=["desk"])
    user: str = Field(examples=["u-17"])
    open_run: str | None = Field(examples=["R-1042"])
    messages: list[Message] = Field(description="The last 100, oldest first.")
    created_at: datetime
    links: ThreadLinks


class Stop(Out):
    """Why a run stopped."""

    kind: str = Field(
        description="failed, refused, not_performed, cancelled, died, model_limit, not_read; or, where it was left "
        "as it is for a person: reconcile_conflict, internal_error, agent_gone",
        examples=["failed"],
    )
    step: int | None = Field(default=None, description="The number of the step.")
    tool: str | None = Field(default=None, examples=["provision_account"])
    cause: str | None = Field(default=None, examples=["RuntimeError"])
    by: str | None = Field(default=None, description="Who cancelled it.")
    detail: str | None = Field(
        default=None,
        description="More of what a person is to know, where there is more.",
    )


class Waiting(Out):
    """An open question of a run, short. The whole of it is at /questions/{id}."""

    kind: Kind
    step: int = Field(description="The number of the step.")
    id: int = Field(description="The id of the step, which is the question's.")
    digest: str = Field(examples=[DIGEST])
    tool: str = Field(examples=["charge_card"])
    text: str = Field(examples=["Charge 40.00 to order 4411"])
    warnings: list[str]
    approver: str = Field(description="The role that answers.", examples=["support"])
    not_by: list[str] = Field(description="Those who asked for the call, and so may not answer (four eyes).")
    asked_at: datetime


class Step(Out):
    """One tool call of a run; an undo is a step too."""

    number: int = Field(description="Within the thread.")
    id: int
    tool: str = Field(
        description="Empty while its model decides, or decided on none.", examples=["charge_card"]
    )
    args: dict[str, Any] = Field(examples=[{"order": 4411, "amount": "40.00"}])
    state: StepState
    undoes: int | None = Field(description="The number of the step that it undoes.")
    result: Any = Field(description="What the tool returned, once it is known that it took effect.")
    key: str | None = Field(description="The idempotency key that goes to the service, once it was sent.")
    calls: int = Field(description="How often it was sent.")
    error_class: str | None = Field(examples=["RuntimeError"])
    error: str | None
    asks: Kind | None = Field(description="What it asks a person, or asked last.")
    replayed: bool = Field(
        description="It had been done before, under the same key: not sent, and not undone."
    )
    note: str | None = Field(description="Why it cannot be undone.")


class RunLinks(Out):
    """Addresses."""

    self: str
    thread: str
    events: str


class ModelUse(Out):
    """The model that decides a run, and what that took so far."""

    name: str = Field(examples=["anthropic:claude-sonnet-5-5"])
    requests: int = Field(description="Sent, answered or not.")
    input_tokens: int
    output_tokens: int
    cost: str = Field(description="In US dollars, of the requests whose price is known.", examples=["0.0123"])
    unpriced: int = Field(description="Of how many requests the price is not known.")


class RunSummary(Out):
    """A run without its steps."""

    id: Id
    thread: UUID
    agent: str = Field(examples=["desk"])
    user: str = Field(examples=["u-17"])
    state: RunState
    version: int = Field(description="Rises with every change; see `after`.")
    open: bool = Field(description="Its agent may propose steps.")
    task: str
    ticket: str = Field(examples=["T-40912"])
    subject: str
    reply: str | None = Field(
        description="The one reply of a run that has ended.",
        examples=[
            "This run stopped: provision_account failed (RuntimeError). "
            + "Undone, latest first: update_crm (by restore_crm), charge_card (by refund_card)."
        ],
    )
    stop: Stop | None
    held_up: str | None = Field(
        description="Why it cannot be carried on now; it is tried again by itself.",
        examples=[None],
    )
    waiting: list[Waiting] = Field(description="What people must answer before it goes on.")
    model: ModelUse | None = Field(description="Of a run whose model decides what is called.")
    started_by: str
    created_at: datetime
    ended_at: datetime | None
    links: RunLinks


class Run(RunSummary):
    """A run with its steps, by number."""

    steps: list[Step]


class Event(Out):
    """One line of the record."""

    id: int
    kind: str = Field(examples=["step.performed"])
    at: datetime
    actor: str = Field(examples=["engine"])
    step: int | None = Field(description="The number of the step.")
    before: str | None
    after: str | None
    data: dict[str, Any]


class Done(Out):
    """A write of the run that is in effect."""

    step: int
    tool: str
    summary: str = Field(examples=["40.00 charged to order 4411"])
    undone_by: str | None = Field(description="The tool that would undo it; null where none can.")


class LookedUp(Out):
    """What a lookup said."""

    at: datetime
    said: Literal["happened", "did_not_happen", "cannot_say", "failed"]
    error: str | None = Field(description="Of a lookup that failed.")


class Lookup(Out):
    """Asking the service what became of a call whose outcome is not known."""

    tool: str = Field(examples=["find_operation"])
    last: LookedUp | None
    requested: bool = Field(description="Somebody asked for one, and it has not been answered yet.")
    next_at: datetime | None = Field(description="When it is looked up next by itself.")


class QuestionLinks(Out):
    """Addresses."""

    self: str
    answer: str
    look_up: str | None = Field(description="Null where nothing can look it up.")
    run: str


class Mark(Out):
    """An argument, or a part of it, that stands in what others wrote."""

    argument: str = Field(description="Its JSON pointer.", examples=["/text"])
    part: str = Field(description="What was found.", examples=["refund 500 to acct-9"])
    tool: str = Field(description="Whose result has it; or customer.", examples=["read_mail"])
    step: int | None = Field(description="Whose result; null of a customer's message.")
    whole: bool = Field(description="It is all of the argument.")
    loose: bool = Field(description="It was taken out of a longer text, which the turn does not say.")


class Question(Waiting):
    """A question: a step that waits, or waited, for a person."""

    run: Id
    thread: UUID
    agent: str
    user: str
    open: bool = Field(description="It can be answered.")
    state: StepState
    args: dict[str, Any]
    undoes: int | None
    undone_by: str | None = Field(description="The tool that would undo it; null where none can.")
    already_done: list[Done] = Field(description="The writes of the run that are in effect.")
    answers: list[AnswerWord] = Field(examples=[["approve", "skip", "cancel_all"]])
    expires_at: datetime | None = Field(
        description="Nobody answered by then: it escalates. Time never answers. Null where it never escalates."
    )
    escalated_at: datetime | None
    escalated_to: str | None = Field(
        description="The role that was told, where nobody answered in time. Who may answer stays as it is.",
        examples=["lead"],
    )
    answer: AnswerWord | None = Field(description="What was said, where it is answered.")
    answered_by: str | None
    marks: list[Mark] = Field(description="Of a confirmation: what of its arguments others wrote.")
    lookup: Lookup | None = Field(description="Of an unknown outcome; null where nothing can look it up.")
    settled: str | None = Field(
        description="How a lookup settled it, where no answer was needed.",
        examples=["A lookup settled this question, 14:02 UTC: it happened."],
    )
    links: QuestionLinks


class AnswerLinks(Out):
    """Addresses."""

    question: str
    run: str


class Answer(Out):
    """An answer, as it is stored."""

    question: int = Field(description="The id of the step.")
    run: Id
    answer: AnswerWord
    digest: str = Field(examples=[DIGEST])
    by: str = Field(examples=["Ana Ferreira"])
    at: datetime
    reason: str | None
    reference: str | None
    result: dict[str, Any] | None
    links: AnswerLinks


class HeldRun(Out):
    """A run that a process carries out."""

    run: Id
    since: datetime | None
    lease_until: datetime | None = Field(description="From then on another worker takes it over.")
    tool: str | None = Field(
        description="The call in flight; null between two calls.", examples=["charge_card"]
    )
    sent_at: datetime | None


class WorkerOrder(Out):
    """The last that an operator had it do."""

    do: Literal["pause", "resume", "drain"]
    by: str = Field(examples=["Olga Petrova"])
    reason: str
    at: datetime


class Worker(Out):
    """A process of this installation. Those of the kind `worker` carry runs out."""

    id: int
    name: str = Field(description="Host and process id there.", examples=["web-1:4711"])
    kind: Literal["worker", "sweep", "web"]
    state: State = Field(
        description="silent: not heard from; dead: not heard from, and there is no such process."
    )
    version: str
    holds: list[HeldRun]
    order: WorkerOrder | None
    started_at: datetime
    seen_at: datetime
    stopped_at: datetime | None


class Backlog(Out):
    """What waits for a worker."""

    runs: int = Field(
        description="Runs that could move and that nobody holds; 1001 stands for more than 1000."
    )
    oldest_run_at: datetime | None
    nudges: int
    oldest_nudge_at: datetime | None
    swept_at: datetime | None = Field(description="When a sweep last went by.")


class Workers(Out):
    """All processes that were heard from within a day, and what waits."""

    items: list[Worker]
    waiting: Backlog


class UndoOf(Out):
    """The tool that undoes a write, and where its arguments come from."""

    tool: str = Field(examples=["refund_card"])
    args: dict[str, Any] = Field(examples=[{"charge": "$result.charge"}])


class Tool(Out):
    """What an agent may call."""

    name: str = Field(examples=["charge_card"])
    description: str
    arguments: dict[str, Any] = Field(description="JSON Schema.")
    writes: bool
    undo: UndoOf | None
    irreversible: bool
    reversible_until: str | None = Field(
        description="After this its undo comes too late.", examples=["collection"]
    )
    retry_safe: bool
    lookup: str | None = Field(description="The tool that says what became of a call.")
    confirm: bool = Field(description="A person approves each call.")
    approver: str = Field(examples=["support"])
    says: dict[str, list[str]] = Field(
        description="How a turn asks for it, by language.",
        examples=[{"en": ["charge order {order:d} {amount:F}"]}],
    )
    agents: list[str] = Field(description="The agents that may call it.")
    fingerprint: str = Field(description="Changes with the tool; an approval holds for one.")


class Asked(Out):
    """Who would be asked for a call, and by which rule."""

    approver: str = Field(description="The role that answers.", examples=["support"])
    not_by: list[str] = Field(description="The names of those who may not answer: four eyes.")
    rule: str = Field(description="`confirm`: the tool itself asks; else the rules that do.")
    with_step: int | None = Field(description="The step whose question asks about this one too.")
    warnings: list[str]


class PlannedWrite(Out):
    """A write that would be in effect, and the tool that would undo it; null where it would stay."""

    step: int
    text: str = Field(examples=["Charge 40.00 to order 4411"])
    undone_by: str | None = Field(examples=["refund_card"])


class IfItFails(Out):
    """What a failure of this step would undo, latest first, and what it would leave."""

    undone: list[PlannedWrite]
    stays: list[PlannedWrite]
    handed_over: bool = Field(description="Nothing is undone by itself; a person takes over.")
    text: str = Field(examples=["If this step fails: “Charge 40.00 to order 4411” is undone by refund_card."])


class PlannedStep(Out):
    """One call of a plan, each as if those before it had been performed."""

    number: int
    tool: str = Field(examples=["charge_card"])
    args: dict[str, Any] = Field(examples=[{"order": 4411, "amount": "40.00"}])
    text: str = Field(examples=["Charge 40.00 to order 4411"])
    writes: bool
    ruling: Literal["allowed", "ask", "refused", "busy", "replayed"] = Field(
        description="replayed: this action of the ticket is done already; busy: another run is at it."
    )
    rule: str = Field(description="Which rule says so.")
    cause: str = Field(description="Why it is refused.")
    asks: Asked | None
    undo: UndoOf | None = Field(
        description="What undoes it, with its arguments; `$result.x` is for the result to say."
    )
    not_undoable: str | None = Field(description="Why nothing undoes this write.")
    if_it_fails: IfItFails


class Plan(Out):
    """What calls would do. Nothing of it is stored, and nothing is sent."""

    agent: str = Field(examples=["desk"])
    rules: str = Field(description="The version of the policy that it was checked under.")
    steps: list[PlannedStep]


class TaskType(Out):
    """How runs of a task recover."""

    recovery: Literal["resume", "resume_until_act", "compensate"]
    deadline: str | None


class Agent(Out):
    """One agent, and its policy."""

    name: str = Field(examples=["desk"])
    tools: list[str]
    says: list[str] = Field(description="What a turn can ask for.")
    languages: list[str] = Field(description="In which languages a turn is read.", examples=[["en"]])
    currency: str | None = Field(description="The money that a turn may name.", examples=["EUR"])
    on_unread: Literal["refuse", "ask_model", "ask_person"]
    text_of_others: Literal["mark", "ask"] = Field(
        description="Whether a write with words out of a text that others wrote is asked about in every run, or in "
        "those alone that a model decides."
    )
    model: str | None
    runs: Literal["atomic", "keep"]
    rollback: Literal["ordered", "best_effort"]
    keys: Literal["step", "action"]
    confirm: Literal["step", "plan"]
    tasks: dict[str, TaskType]


class Runs(Out):
    """Newest first."""

    items: list[RunSummary]
    next: int | None = Field(description="The `cursor` of the next page; null at the end.")


class Events(Out):
    """Oldest first."""

    items: list[Event]
    next: int | None = Field(description="The `cursor` of the next page; null at the end.")


class Questions(Out):
    """Open questions, oldest step first."""

    items: list[Question]
    next: int | None = Field(description="The `cursor` of the next page; null at the end.")


class Tools(Out):
    """By name."""

    items: list[Tool]


class Agents(Out):
    """By name."""

    items: list[Agent]


class ProblemDocument(Out):
    """RFC 9457. `type` is stable; some types have further members."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(examples=["/problems/thread-busy"])
    title: str
    status: int = Field(examples=[409])
    detail: str
    field: str | None = Field(
        default=None, description="A JSON pointer into the body (RFC 6901).", examples=["/steps/0/tool"]
    )
    parameter: str | None = Field(default=None, description="The query parameter, or the header.")
