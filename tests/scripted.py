"""A model that says what it is told to: pydantic-ai's FunctionModel, named `python:tests.scripted.MODEL`."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

NAME = "python:tests.scripted.MODEL"
SECTION = {"model": NAME, "on_unread": "ask_model"}
Says = str | Exception | Sequence[tuple[str, Any]]


@dataclass
class Script:
    """`says` is what the model answers next: words, calls (tool, arguments), or an error.

    `read` is what it was given in each request, `told` what was said of its tools, `meanwhile` happens while it thinks.
    """

    says: list[Says] = field(default_factory=list)
    read: list[list[ModelMessage]] = field(default_factory=list)
    told: list[AgentInfo] = field(default_factory=list)
    meanwhile: Callable[[], object] | None = None

    def reset(self, *says: Says) -> None:
        """A new script."""
        self.says, self.read, self.told, self.meanwhile = list(says), [], [], None

    @property
    def asked(self) -> int:
        """How many requests the model got."""
        return len(self.read)

    def heard(self, request: int = -1) -> list[tuple[str, Any]]:
        """What the model was told in a request, oldest first: (user or the tool's name, text or outcome)."""
        parts = [
            part
            for message in self.read[request]
            if isinstance(message, ModelRequest)
            for part in message.parts
        ]
        said = [("user", part.content) for part in parts if isinstance(part, UserPromptPart)]
        outcomes = [(part.tool_name, part.content) for part in parts if isinstance(part, ToolReturnPart)]
        return [*said, *outcomes]


SCRIPT = Script()


async def _answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    SCRIPT.read.append(messages)
    SCRIPT.told.append(info)
    if SCRIPT.meanwhile:
        happens, SCRIPT.meanwhile = SCRIPT.meanwhile, None
        happens()
    says = SCRIPT.says.pop(0)
    if isinstance(says, Exception):
        raise says
    if isinstance(says, str):
        return ModelResponse(parts=[TextPart(says)])
    return ModelResponse(parts=[ToolCallPart(tool, args) for tool, args in says])


MODEL = FunctionModel(_answer, model_name="scripted")


async def _reads_once(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Without a script, for other processes: it looks the order up, and then says so."""
    parts = [part for message in messages for part in message.parts]
    if any(isinstance(part, ToolReturnPart) for part in parts):
        return ModelResponse(parts=[TextPart("It is there.")])
    return ModelResponse(parts=[ToolCallPart("get_order", {"order": 4411})])


READS_ONCE = FunctionModel(_reads_once, model_name="reads-once")
TEST = TestModel(call_tools=["read"])


async def _obeys(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Without a script, for other processes: it does what a customer's message tells it to."""
    parts = [part for message in messages for part in message.parts]
    if any(isinstance(part, ToolReturnPart) for part in parts):
        return ModelResponse(parts=[TextPart("Done as I was told.")])
    told = next(str(part.content) for part in reversed(parts) if isinstance(part, UserPromptPart))
    text = json.loads(told.partition("\n")[2])
    return ModelResponse(parts=[ToolCallPart("message_customer", {"order": "SU-90317", "text": text})])


OBEYS = FunctionModel(_obeys, model_name="obeys")
