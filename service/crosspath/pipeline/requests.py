"""Our own canonical request, and the key that a reply is stored under.

The key is computed before anything is sent, from the rendered bytes and every parameter, the unset ones included, so that no
two requests that could be answered differently share a reply. It holds the trial: repeats never collapse, and two tasks or
contracts with equal texts never take each other's baseline or recorded reply.
"""

from typing import Any

from crosspath.errors import ConfigError
from crosspath.styles import PLAIN, wrap
from crosspath.types import Contract, Generation, Request, RequestStyle, Task, ToolSpec, TrialKey, digest

KEY_VERSION = 1


def build_request(generation: Generation, contract: Contract, style: RequestStyle, task: Task, index: int) -> Request:
    """The request of one trial: the contract's text, then what the task asks, put in the style's words.

    Raises:
        ConfigError: the task's own messages have none of the user's, which a style could wrap.
    """
    model, point = generation.model, generation.operating_point
    params: dict[str, Any] = {
        "temperature": point.temperature,
        "top_p": point.top_p,
        "max_tokens": point.max_tokens,
        "seed": point.seed,
        "reasoning_effort": point.effort,
        "stop": list(point.stop) if point.stop is not None else None,
        "tool_choice": point.tool_choice,
        "parallel_tool_calls": point.parallel_tool_calls,
        **model.params,
    }
    messages = _messages(contract, style, task)
    tools = tuple(_tool(tool) for tool in contract.tools if generation.tools is None or tool.name in generation.tools)
    prices = model.prices
    trial = TrialKey(generation=generation.digest, task=task.id, index=index)
    key = digest(
        {
            "version": KEY_VERSION,
            "endpoint": model.api_base,
            "model": model.name,
            "messages": list(messages),
            "tools": list(tools),
            "params": params,
            "trial": trial.model_dump(mode="json"),
        }
    )
    return Request(
        key=key,
        trial=trial,
        contract=contract.name,
        request_style=style.name,
        endpoint=model.api_base,
        model=model.name,
        messages=messages,
        tools=tools,
        params=params,
        timeout_s=point.timeout_s,
        api_key_env=model.api_key_env,
        input_usd_per_mtok=prices.input_usd_per_mtok if prices else None,
        output_usd_per_mtok=prices.output_usd_per_mtok if prices else None,
        gpu_usd_per_hour=prices.gpu_usd_per_hour if prices else None,
    )


def _messages(contract: Contract, style: RequestStyle, task: Task) -> tuple[dict[str, Any], ...]:
    own = [message.model_dump(mode="json") for message in task.messages]
    asked = [{"role": "user", "content": task.instruction}] if task.instruction else []
    return ({"role": "system", "content": contract.text}, *_styled([*own, *asked], style, task))


def _styled(messages: list[dict[str, Any]], style: RequestStyle, task: Task) -> list[dict[str, Any]]:
    """The last message of the user in the style's words; what was said before it stays as it is."""
    places = [place for place, message in enumerate(messages) if message["role"] == "user"]
    if style.digest == PLAIN.digest:
        return messages
    if not places:
        raise ConfigError(f"task {task.id!r} has no message of the user that {style.name!r} could wrap", field="request_style")
    last = places[-1]
    return [*messages[:last], messages[last] | {"content": wrap(style, messages[last]["content"])}, *messages[last + 1 :]]


def _tool(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}
