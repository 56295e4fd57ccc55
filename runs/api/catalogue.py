"""What agents there are, and what each may call."""

from collections.abc import Mapping
from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from runs.access import may_see_agent
from runs.agentfile import AgentSpec, agents
from runs.api import shapes
from runs.api.auth import actor_of
from runs.api.endpoint import Endpoint, sees, sent
from runs.api.openapi import problems
from runs.tools.registry import Tool


def _seen(request: Request) -> Mapping[str, AgentSpec]:
    return {name: spec for name, spec in sorted(agents().items()) if may_see_agent(actor_of(request), name)}


class Agents(Endpoint):
    """All agents."""

    rules: ClassVar = {"GET": sees}

    @extend_schema(operation_id="agents", tags=["catalogue"], responses={200: shapes.Agents, **problems()})
    def get(self, request: Request) -> Response:
        """List the agents, with their policy and what a turn can ask for."""
        return sent(shapes.Agents(items=[_agent(spec) for spec in _seen(request).values()]))


def _agent(spec: AgentSpec) -> shapes.Agent:
    section, file = spec.file.agents[spec.name], spec.file
    return shapes.Agent(
        name=spec.name,
        tools=list(spec.tools),
        says=list(spec.selector.readable),
        languages=list(section.languages),
        currency=section.currency,
        on_unread=section.on_unread,
        text_of_others=section.text_of_others,
        model=section.model,
        runs=file.runs,
        rollback=file.rollback,
        keys=file.keys,
        confirm=file.confirm,
        tasks={name: shapes.TaskType(**task.model_dump()) for name, task in file.tasks.items()},
    )


class Tools(Endpoint):
    """All tools."""

    rules: ClassVar = {"GET": sees}

    @extend_schema(operation_id="tools", tags=["catalogue"], responses={200: shapes.Tools, **problems()})
    def get(self, request: Request) -> Response:
        """List the tools that agents may call: the JSON Schema of their arguments, and what undoes them."""
        found: dict[tuple[str, str], tuple[Tool, list[str]]] = {}
        for spec in _seen(request).values():
            for tool in spec.tools.values():
                found.setdefault((tool.name, tool.fingerprint), (tool, []))[1].append(spec.name)
        return sent(shapes.Tools(items=[_tool(*found[key]) for key in sorted(found)]))


def _tool(tool: Tool, names: list[str]) -> shapes.Tool:
    return shapes.Tool(
        name=tool.name,
        description=tool.description,
        arguments=tool.arguments.model_json_schema(),
        writes=tool.writes,
        undo=shapes.UndoOf(tool=tool.undo.tool, args=dict(tool.undo.args)) if tool.undo else None,
        irreversible=tool.irreversible,
        reversible_until=tool.reversible_until or None,
        retry_safe=tool.retry_safe,
        lookup=tool.lookup,
        confirm=tool.writes and tool.confirm,
        approver=tool.approver,
        says={language: list(phrases) for language, phrases in tool.says.items()},
        agents=names,
        fingerprint=tool.fingerprint,
    )
