"""The only module that imports litellm: when, with which settings, and what is registered with it.

Importing litellm takes about four seconds, so it happens at the first call. The settings below are made before: no price map
from the network, no ``.env`` file read behind the user's back, no telemetry, no download of tokenizers.
"""

import asyncio
import os
import warnings
from contextvars import ContextVar
from functools import cache
from typing import Any

import httpx

from crosspath.adapters.litellm_model.wire import RecordingTransport
from crosspath.errors import BoundaryError, ModelError, boundary
from crosspath.types import Reply

OWN_PROVIDERS = ("baseline", "recorded")
"""Models that answer from a mapping: ``baseline/...`` and ``recorded/...``."""

OWN_PREFIXES = tuple(f"{name}/" for name in OWN_PROVIDERS)

ANSWER: ContextVar[Reply | None] = ContextVar("crosspath_answer", default=None)
"""The reply that the custom provider gives to the call of the running task. A context variable, because litellm keeps its
providers in a global list and one process may hold several models with different answers."""

_HANDLER_PROVIDERS = frozenset(
    (
        "anthropic",
        "bedrock",
        "databricks",
        "deepseek",
        "fireworks_ai",
        "gemini",
        "groq",
        "hosted_vllm",
        "huggingface",
        "mistral",
        "ollama_chat",
        "openrouter",
        "together_ai",
        "xai",
    )
)
"""Providers that litellm calls with its own HTTP handler and not with an SDK. For others, litellm's log is what we see."""

_ENVIRONMENT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_MODE": "PRODUCTION",  # anything else loads a .env file of the working directory at import
    "LITELLM_TELEMETRY": "False",
    "LITELLM_LOG": "CRITICAL",
    "LITELLM_DISABLE_ANONYMOUS_TELEMETRY": "True",
}


def litellm() -> Any:
    """litellm, imported and set up once per process.

    Its modules are imported one by one when a call first needs them, so what its imports would say is kept quiet each time.
    """
    _quieten_warnings()
    return _imported()


@cache
def _imported() -> Any:
    os.environ.update(_ENVIRONMENT)
    import litellm as vendor

    module: Any = vendor
    _quieten(module)
    module.aclient_session = httpx.AsyncClient(transport=transport(), follow_redirects=False)
    handler = _own_provider(module)
    module.custom_provider_map += [{"provider": name, "custom_handler": handler} for name in OWN_PROVIDERS]
    module.utils.custom_llm_setup()
    return module


@cache
def transport() -> RecordingTransport:
    """The transport that litellm's SDK clients share."""
    return RecordingTransport(_client)


def _quieten_warnings() -> None:
    """Three warnings that litellm causes reach no terminal: pydantic's that quotes what a server sent in a wrong type; pydantic's
    that it can't protect the read-only fields of litellm's own types, which come as litellm imports a module of its own; and
    Python's about a coroutine of litellm's that nobody awaits any more after an interrupt.

    They also come after the call, in tasks and threads of litellm's, so the filters stay; they take no other warning. Said before
    each call, because whoever saves and restores filters (pytest, a notebook) loses them.
    """
    warnings.filterwarnings("ignore", "Pydantic serializer warnings:", UserWarning, r"pydantic\.main")
    warnings.filterwarnings("ignore", ".*using the `ReadOnly` qualifier", UserWarning)
    warnings.filterwarnings("ignore", r"coroutine '.*\bacompletion' was never awaited", RuntimeWarning)


def client_for(model: str, api_base: str | None) -> Any:
    """A handler over our transport for providers that take one; None for the rest, and SDK providers use it anyway."""
    try:
        with boundary(ModelError, model):
            provider = litellm().get_llm_provider(model=model, api_base=api_base)[1]
    except BoundaryError:
        return None
    return _handler() if provider in _HANDLER_PROVIDERS else None


@cache
def _handler() -> Any:
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler

    return AsyncHTTPHandler(transport=transport(), follow_redirects=False)


def _client() -> httpx.AsyncClient:
    from litellm.llms.custom_httpx.http_handler import get_ssl_configuration

    return httpx.AsyncClient(verify=get_ssl_configuration(), timeout=None, limits=httpx.Limits())


def _quieten(module: Any) -> None:
    module.telemetry = False
    module.suppress_debug_info = True
    module.turn_off_message_logging = True
    module.disable_hf_tokenizer_download = True
    module.drop_params = False
    module.num_retries = 0
    module.cache = None


def _own_provider(module: Any) -> Any:
    class OwnProvider(module.CustomLLM):
        async def acompletion(self, *args: Any, **kwargs: Any) -> Any:
            reply = ANSWER.get()
            if reply is None:
                raise module.llms.custom_llm.CustomLLMError(status_code=404, message="no stored reply")
            return _as_response(module, reply, kwargs["model"])

    return OwnProvider()


def _as_response(module: Any, reply: Reply, model: str) -> Any:
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in reply.tool_calls
    ]
    message = module.Message(content=reply.text, role="assistant", tool_calls=calls or None)
    choice = module.Choices(finish_reason=reply.finish_reason or "stop", index=0, message=message)
    return module.ModelResponse(model=reply.served_model or model, choices=[choice])


async def close() -> None:
    """Close what litellm and we hold open on the running event loop."""
    await transport().aclose()
    await asyncio.sleep(0)
