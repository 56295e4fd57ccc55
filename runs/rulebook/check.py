"""The check: may this agent make this call, here and now?

It runs before every call and every undo, and again when a call that a person approved is about to be sent.
"""

from runs.agentfile import AgentSpec
from runs.models import Step
from runs.rulebook.ruling import Ruling
from runs.tools.registry import Tool


def check(spec: AgentSpec, tool: Tool | None, step: Step) -> Ruling:
    """The ruling on one step. An undo is checked as the agent that wrote, and is not confirmed again."""
    if tool is None or step.tool not in spec.tools:
        return Ruling("refused", "tool_not_of_agent", spec.rule_version)
    if not tool.still_takes(step.args):
        return Ruling("refused", "arguments_not_valid", spec.rule_version)
    asks = tool.writes and tool.confirm and step.undoes_id is None
    return Ruling("ask" if asks else "allowed", "confirm" if asks else "", spec.rule_version)
