"""``LitellmModel``: one request, sent once through litellm."""

import asyncio
import json
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from crosspath.adapters.litellm_model.faults import CONTENT_FILTER, kind_of, model_error
from crosspath.adapters.litellm_model.prices import cost_of
from crosspath.adapters.litellm_model.reading import chat_of, from_chat, from_object
from crosspath.adapters.litellm_model.redaction import SHORTEST_SECRET, redact, redacted
from crosspath.adapters.litellm_model.vendor import ANSWER, OWN_PREFIXES, client_for, close, litellm
from crosspath.adapters.litellm_model.wire import ATTEMPT, Attempt
from crosspath.errors import BoundaryError, ModelError, boundary
from crosspath.types import Reply, Request

_NO_KEY = "no-key"
"""Sent where a custom endpoint has no key: the SDKs insist on one, and the user's own must not go to a foreign server."""

REFUSED_PARAMS = frozenset(
    (
        "stream",
        "n",
        "model",
        "messages",
        "tools",
        "api_key",
        "api_base",
        "base_url",
        "timeout",
        "num_retries",
        "max_retries",
        "drop_params",
        "additional_drop_params",
        "fallbacks",
        "context_window_fallback_dict",
        "mock_response",
        "caching",
        "cache",
        "client",
        "logger_fn",
        "shared_session",
    )
)
"""Parameters that would change what is sent, how often, or where, behind the record's back."""


class LitellmModel:
    """Implements ``ports.Model`` over litellm.

    ``answers`` maps request keys to the replies of ``baseline/...`` and ``recorded/...`` models; these go through litellm like
    every other model, by a custom provider, and cost nothing. Building one is cheap and it can be pickled; litellm is imported
    at the first call.
    """

    def __init__(self, answers: Mapping[str, Reply] | None = None) -> None:
        self._answers = dict(answers or {})

    async def generate(self, request: Request) -> Reply:
        """One attempt: at most one HTTP request, within ``request.timeout_s``.

        A provider's refusal by policy is a reply with ``finish_reason`` ``content_filter``, not an error.

        Raises:
            ModelError: with ``type`` and ``retryable``; its message holds no key.
        """
        if request.model.startswith(OWN_PREFIXES):
            return await self._recall(request)
        return await _Call(request).make()

    async def _recall(self, request: Request) -> Reply:
        """The stored reply, carried by the custom provider; what litellm's objects can't hold comes from the mapping itself."""
        reply = self._answers.get(request.key)
        if reply is None:
            raise ModelError(_no_answer(request), type_="not_recorded")
        token = ANSWER.set(reply)
        try:
            with boundary(ModelError, request.model):
                await litellm().acompletion(model=request.model, messages=list(request.messages), num_retries=0, max_retries=0)
        finally:
            ANSWER.reset(token)
        return reply.model_copy(update={"cost_usd": 0.0})

    async def aclose(self) -> None:
        """Close the connections that the running event loop holds. Needed only where a loop ends before its process."""
        await close()


class _Call:
    """One attempt, with what was seen of it."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.attempt = Attempt()
        self.logged: dict[str, Any] = {}
        self.key = _key(request)

    @property
    def secrets(self) -> set[str]:
        """The key that we read, and whatever else left in a header that holds keys."""
        known = self.attempt.secrets | ({self.key} if self.key else set())
        return {secret for secret in known - {_NO_KEY} if len(secret) >= SHORTEST_SECRET}

    async def make(self) -> Reply:
        """Send, then read the reply.

        Raises:
            ModelError: there is none.
        """
        kwargs = self._arguments()
        acompletion = litellm().acompletion
        token = ATTEMPT.set(self.attempt)
        started = time.monotonic()
        try:
            response, error = await self._send(acompletion, kwargs)
        finally:
            ATTEMPT.reset(token)
        elapsed_s = time.monotonic() - started
        try:
            with boundary(ModelError, "reading the reply"):
                reply = self._read(response) if error is None else self._salvage(error)
                return self._complete(reply, response, elapsed_s)
        except ModelError as failed:
            failed.args = (redact(str(failed), self.secrets),)  # it may quote what came
            raise

    def _arguments(self) -> dict[str, Any]:
        request = self.request
        params = {name: _plain(value) for name, value in request.params.items() if value is not None}
        if refused := sorted(REFUSED_PARAMS & params.keys()):
            raise ModelError(f"parameter {', '.join(refused)} can't be set: one request, one reply", type_="bad_request")
        return {
            **params,
            "model": request.model,
            "messages": [dict(message) for message in request.messages],
            "tools": [dict(tool) for tool in request.tools] or None,
            "api_base": request.endpoint,
            "api_key": self.key,
            "timeout": request.timeout_s,
            "num_retries": 0,
            "max_retries": 0,
            "drop_params": False,
            "logger_fn": self.logged.update,
            "client": client_for(request.model, request.endpoint),
        }

    async def _send(self, acompletion: Callable[..., Awaitable[Any]], kwargs: dict[str, Any]) -> tuple[Any, BoundaryError | None]:
        """litellm's response, or what went wrong with the foreign exception as its cause."""
        try:
            with boundary(ModelError, self.request.model):
                async with asyncio.timeout(self.request.timeout_s):
                    return await acompletion(**kwargs), None
        except BoundaryError as error:
            return None, error

    def _read(self, response: Any) -> Reply:
        """From the body as it came where that is OpenAI-style, else from litellm's object."""
        translated = from_object(response, self._raw())
        chat = self._chat()
        if chat is not None:
            return from_chat(chat, translated.finish_reason if translated else None)
        if translated is None:
            raise ModelError("the response holds no reply", type_="bad_response", retryable=True)
        if (self.attempt.status or 200) >= 400:
            # litellm makes a reply with guessed usage of a 400 that says "no room for a single token".
            return translated.model_copy(update={"usage": None})
        return translated

    def _salvage(self, error: BoundaryError) -> Reply:
        """The reply behind an error: a refusal by policy, or a good body that litellm could not digest.

        Raises:
            ModelError: there is none.
        """
        cause = error.__cause__ or error
        if isinstance(cause, TimeoutError):
            raise ModelError(f"no reply within {self.request.timeout_s:g} s", type_="timeout", retryable=True) from None
        if kind_of(cause, self.attempt) is CONTENT_FILTER:
            return Reply(finish_reason="content_filter")
        if (chat := self._chat()) is not None:
            return from_chat(chat, None)
        raise model_error(cause, self.attempt, self.secrets) from None

    def _complete(self, reply: Reply, response: Any, elapsed_s: float) -> Reply:
        whole = reply.model_copy(
            update={
                "latency_s": elapsed_s if self.attempt.duration_s is None else self.attempt.duration_s,
                "cost_usd": self._cost(reply, response),
                "raw_response": self._raw(),
                "sent_body": self._sent_body(),
            }
        )
        return redacted(whole, self.secrets)

    def _cost(self, reply: Reply, response: Any) -> float | None:
        """USD at the request's own prices, else at litellm's; None where either prices or tokens are unknown."""
        prices = self.request.input_usd_per_mtok, self.request.output_usd_per_mtok
        if prices != (None, None):
            return cost_of(reply.usage, *prices)
        usage = reply.usage
        if response is None or usage is None or usage.prompt_tokens is None or usage.completion_tokens is None:
            return None  # litellm would count an unknown side as nothing, or believe an impossible one
        try:
            with boundary(ModelError, "cost"):
                return litellm().completion_cost(completion_response=response, model=self.request.model)
        except BoundaryError:
            return None

    def _raw(self) -> str | None:
        if self.attempt.body is not None:
            return self.attempt.body.decode("utf-8", "backslashreplace")
        logged = self.logged.get("original_response")
        return logged if isinstance(logged, str) else None

    def _chat(self) -> dict[str, Any] | None:
        return chat_of(self._raw()) if self.attempt.status in (200, None) else None

    def _sent_body(self) -> dict[str, Any] | None:
        """The body on the wire, else as litellm logged it; None where it is no JSON object."""
        logged = self.logged.get("additional_args", {}).get("complete_input_dict")
        sent = json.dumps(logged, default=str) if self.attempt.sent is None else self.attempt.sent.decode("utf-8", "replace")
        try:
            body = json.loads(sent)
        except ValueError:
            return None
        return body if isinstance(body, dict) else None


def _key(request: Request) -> str | None:
    """The key, read here and kept nowhere else.

    Raises:
        ModelError: the variable that should hold it is not set.
    """
    if request.api_key_env is None:
        return _NO_KEY if request.endpoint else None
    key = os.environ.get(request.api_key_env)
    if not key:
        raise ModelError(f"the environment variable {request.api_key_env} is not set", type_="auth")
    return key


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


_LACKING = {
    "naive": "the task has no `naive`",
    "oracle": "the task has no `oracle`",
    "adaptive": "the task has no `oracle`, or it can't be written for the path that the contract discloses",
}


def _no_answer(request: Request) -> str:
    """Why a baseline or a recording has no reply, with everything that a recorded line is found by."""
    provider, _, name = request.model.partition("/")
    trial = f"task {request.trial.task}, contract {request.contract}, trial {request.trial.index}"
    why = _LACKING.get(name) if provider == "baseline" else None
    return f"{request.model}: no reply for {trial}{f': {why}' if why else ''}"
