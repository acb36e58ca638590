"""A right reply in the shape that a contract demands: what a model that does everything right would send."""

import json

from crosspath.errors import ConfigError
from crosspath.types import Contract, Reply, ToolCall


def express(contract: Contract, command_text: str) -> Reply:
    """A reply of the contract's shape that carries this shell text.

    Raises:
        ConfigError: the contract offers no tool that takes shell text.
    """
    if contract.shape == "text":
        return Reply(text=command_text, finish_reason="stop")
    if contract.shape == "json":
        return Reply(text=json.dumps({contract.field: command_text}), finish_reason="stop")
    return Reply(tool_calls=(_shell_call(contract, command_text),), finish_reason="tool_calls")


def express_abstention(contract: Contract, reason: str) -> Reply:
    """A reply that declines in the contract's form: what a right model would send where a task can't be done.

    Raises:
        ConfigError: the contract states no form.
    """
    if contract.abstain is None:
        raise ConfigError(f"contract {contract.name} states no form of declining", field="abstain")
    if contract.shape == "json":
        return Reply(text=json.dumps({contract.abstain: reason}), finish_reason="stop")
    return Reply(text=f"{contract.abstain} {' '.join(reason.split())}", finish_reason="stop")


def _shell_call(contract: Contract, command_text: str) -> ToolCall:
    tool = next((tool for tool in contract.tools if tool.argument is not None), None)
    if tool is None:
        raise ConfigError(f"contract {contract.name} offers no tool that takes shell text", field="tools")
    return ToolCall(id="call_1", name=tool.name, arguments=json.dumps({tool.argument: command_text}))
